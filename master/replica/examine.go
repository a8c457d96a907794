package replica

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/offers/pages"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

// instead is what to do with a folder that can't be trusted. A master must not
// mend its log by itself: an entry or a vote that it has forgotten is one that
// others count on.
const instead = "move %s away and start this master with an empty folder, so that it joins as a new one, or restore a snapshot where no master has a good one"

// examine reads the whole store before anything trusts it, without bbolt, and
// returns what it says about itself. The error is one sentence.
func examine(path, owner, memory string) (about, error) {
	x := examination{}
	err := pages.File(path, x.visit)
	if err == nil {
		err = x.verdict(owner)
	}
	if err != nil {
		return about{}, damaged(path, err)
	}
	of, writes, ok := witness.Read(memory, filepath.Dir(path))
	if ok && of == lineOf(owner) && writes > x.about.writes {
		return about{}, damaged(path, fmt.Errorf("it is an older copy, of %d writes out of %d", x.about.writes, writes))
	}
	return *x.about, nil
}

// damaged says in one sentence what is wrong and what to do.
func damaged(path string, err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("data_dir: %s is damaged (%s): "+instead, path, first, filepath.Dir(path))
}

// examination collects what a store holds.
type examination struct {
	about       *about
	first, last uint64
	term        uint64
	votes       uint64
}

// visit takes one record; they come in the order of their keys.
func (x *examination) visit(bucket string, key, sealed []byte) error {
	raw, err := pages.Unseal(bucket, key, sealed)
	if err != nil {
		return err
	}
	switch bucket {
	case logBucket:
		return x.entry(key, raw)
	case aboutBucket:
		a, err := decodeAbout(raw)
		x.about = &a
		return err
	case votesBucket:
		x.votes++
		return nil
	}
	return errors.New("this version knows no such bucket")
}

func (x *examination) entry(key, raw []byte) error {
	var l raft.Log
	index := number(key)
	if err := decodeLog(index, raw, &l); err != nil {
		return err
	}
	switch {
	case index == 0 || x.last != 0 && index != x.last+1:
		return fmt.Errorf("entry %d follows entry %d", index, x.last)
	case l.Term < x.term:
		return fmt.Errorf("entry %d is of term %d, after term %d", index, l.Term, x.term)
	}
	if x.first == 0 {
		x.first = index
	}
	x.last, x.term = index, l.Term
	return nil
}

func (x *examination) verdict(owner string) error {
	switch a := x.about; {
	case a == nil:
		return errors.New("it does not say whose it is")
	case a.owner != owner:
		return fmt.Errorf("it is of the master %.100s", a.owner)
	case a.votes != x.votes:
		return fmt.Errorf("it should have %d records beside the log and has %d", a.votes, x.votes)
	case a.first != x.first || a.last != x.last:
		return fmt.Errorf("its log should reach from %d to %d and reaches from %d to %d", a.first, a.last, x.first, x.last)
	}
	return nil
}

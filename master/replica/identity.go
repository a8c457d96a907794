package replica

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ringmaster-project/ringmaster/offers/pages"
)

// identity is who the master of a data folder is, for as long as the folder
// lives. The random part keeps a master that lost its folder from voting
// again under its old id, and lets nobody take one cluster's Raft stream for
// another's when addresses are used again.
type identity struct {
	ID   string `json:"id"` // name@random
	Name string `json:"name"`
}

// nameOf returns the name in a master's id.
func nameOf(id string) string {
	name, _, _ := strings.Cut(id, "@")
	return name
}

// openIdentity reads the identity in dir; the second result is what its store
// says about itself. In a new folder it makes both, the store first: where
// there is an identity, the store must be there too, since an empty one would
// have forgotten whom this master voted for.
func openIdentity(dir, name, memory string) (identity, about, error) {
	path, log := filepath.Join(dir, "identity.json"), filepath.Join(dir, "raft.db")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		id, err := newIdentity(path, log, name)
		return id, about{owner: id.ID}, err
	}
	if err != nil {
		return identity{}, about{}, fmt.Errorf("data_dir: %w", err)
	}
	var known identity
	if err := json.Unmarshal(raw, &known); err != nil || known.ID == "" || nameOf(known.ID) != known.Name {
		return identity{}, about{}, fmt.Errorf("data_dir: %s is damaged: restore it, or start with an empty folder to join as a new master", path)
	}
	if known.Name != name {
		return identity{}, about{}, fmt.Errorf("data_dir: %s belongs to the master %s: start it as --name %s, or give %s a folder of its own", dir, known.Name, known.Name, name)
	}
	was, err := examine(log, known.ID, memory)
	return known, was, err
}

func newIdentity(path, log, name string) (identity, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return identity{}, fmt.Errorf("identity: %w", err)
	}
	id := identity{ID: name + "@" + hex.EncodeToString(random[:]), Name: name}
	raw, err := json.Marshal(id)
	if err != nil {
		return identity{}, fmt.Errorf("identity: %w", err)
	}
	if err := newStore(log, id.ID); err != nil {
		return identity{}, err
	}
	if err := writeDurably(path, append(raw, '\n')); err != nil {
		return identity{}, fmt.Errorf("data_dir: %w", err)
	}
	return id, nil
}

// newStore makes an empty store. One that is there without an identity is of a
// first start that did not come to its end, or else the identity was lost.
func newStore(path, owner string) error {
	x := examination{}
	err := pages.File(path, x.visit)
	if !errors.Is(err, fs.ErrNotExist) && (x.last != 0 || x.votes != 0) {
		return fmt.Errorf("data_dir: %s is there and identity.json is missing: restore that, or start with an empty folder to join as a new master", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data_dir: %w", err)
	}
	s, err := openStore(path, owner, about{})
	if err != nil {
		return fmt.Errorf("data_dir: make %s: %w", path, err)
	}
	return s.Close()
}

// writeDurably puts a file in place whole or not at all, also over a crash.
func writeDurably(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// lockFolder makes dir and keeps other daemons out of it until the returned
// file is closed. The kernel drops the lock with the process. dir is for the
// master alone; folders above it that are made, too, stay open to passage,
// since an agent beside it has sandboxes of other users.
func lockFolder(dir string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o711); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("data_dir: another master or agent uses %s: stop it, or give this one a folder of its own", dir)
		}
		return nil, fmt.Errorf("data_dir: lock %s: %w", dir, err)
	}
	return f, nil
}

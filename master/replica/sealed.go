package replica

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/offers/pages"
)

// snapshots are Raft's own, each with a third file: a seal over the one that
// says where in the log the snapshot belongs. Raft sums the state, but trusts
// that file, and a flipped digit in it would skip entries or apply them twice.
// The seal names the master and the snapshot, too, so that none of another
// cluster is taken for one of this.
//
//	snapshots/ID/state.bin  meta.json  seal
//
// A snapshot whose seal was not written when the master ended is none; the log
// is cut only after that.
type snapshots struct {
	*raft.FileSnapshotStore
	dir   string
	owner string
}

var _ raft.SnapshotStore = (*snapshots)(nil)

// openSnapshots reads every snapshot in dir. It fails where none that is good
// holds what comes before the log.
func openSnapshots(dir, owner string, log about, logger hclog.Logger) (*snapshots, error) {
	inner, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, logger)
	if err != nil {
		return nil, fmt.Errorf("data_dir: snapshots: %w", err)
	}
	s := &snapshots{inner, filepath.Join(dir, "snapshots"), owner}
	folders, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("data_dir: snapshots: %w", err)
	}
	var bad []error
	for _, f := range folders {
		if filepath.Ext(f.Name()) == ".tmp" {
			continue
		}
		if err := s.examine(f.Name()); err != nil {
			bad = append(bad, err)
			logger.Warn("a snapshot is damaged and not used", "snapshot", f.Name(), "error", err)
			if err := os.Rename(filepath.Join(s.dir, f.Name()), filepath.Join(dir, "damaged-"+f.Name())); err != nil {
				return nil, fmt.Errorf("data_dir: set a damaged snapshot aside: %w", err)
			}
		}
	}
	good, err := s.List()
	if err != nil {
		return nil, fmt.Errorf("data_dir: snapshots: %w", err)
	}
	reached := uint64(0)
	if len(good) > 0 {
		reached = good[0].Index
	}
	if reached < log.base {
		why := fmt.Errorf("the log begins after entry %d and the snapshots reach to %d", log.base, reached)
		return nil, damaged(s.dir, errors.Join(why, errors.Join(bad...)))
	}
	return s, nil
}

// examine reads a snapshot to its end.
func (s *snapshots) examine(id string) error {
	meta, err := os.ReadFile(filepath.Join(s.dir, id, "meta.json"))
	if err != nil {
		return err
	}
	seal, err := os.ReadFile(filepath.Join(s.dir, id, "seal"))
	if err != nil {
		return err
	}
	if !bytes.Equal(seal, s.seal(id, meta)) {
		return fmt.Errorf("meta.json: %w", pages.ErrDamaged)
	}
	_, state, err := s.Open(id) // compares the sum of the state
	if err != nil {
		return err
	}
	return state.Close()
}

func (s *snapshots) seal(id string, meta []byte) []byte {
	return pages.Seal(s.owner, []byte(id), meta)[:4]
}

// Create implements [raft.SnapshotStore].
func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, t raft.Transport) (raft.SnapshotSink, error) {
	sink, err := s.FileSnapshotStore.Create(version, index, term, configuration, configurationIndex, t)
	if err != nil {
		return nil, err
	}
	return &sealing{sink, s}, nil
}

// sealing seals a snapshot once it is whole.
type sealing struct {
	raft.SnapshotSink
	snapshots *snapshots
}

// Close implements [raft.SnapshotSink].
func (w *sealing) Close() error {
	if err := w.SnapshotSink.Close(); err != nil {
		return err
	}
	folder := filepath.Join(w.snapshots.dir, w.ID())
	meta, err := os.ReadFile(filepath.Join(folder, "meta.json"))
	if err == nil {
		err = writeDurably(filepath.Join(folder, "seal"), w.snapshots.seal(w.ID(), meta))
	}
	if err != nil {
		return fmt.Errorf("seal the snapshot: %w", err)
	}
	return nil
}

package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
	"github.com/ringmaster-project/ringmaster/offers"
)

// leaseKey is the key whose version only the instance that works knows.
const leaseKey = "lease"

// parallel bounds the requests of one reading or writing that are under way.
const parallel = 64

// store is the framework's durable store, as long as nobody else writes it.
type store struct {
	client *framework.Client
	epoch  uint64 // the version of the lease

	mu       sync.Mutex // guards versions while they are loaded; then they are of who writes
	versions map[string]uint64
}

// openStore takes the lease: from here on a write of the instance before is
// refused.
func openStore(ctx context.Context, client *framework.Client) (*store, error) {
	_, version, err := client.Get(ctx, leaseKey)
	if err != nil {
		return nil, err
	}
	epoch, err := client.Put(ctx, leaseKey, json.RawMessage(`{}`), &version)
	if err != nil {
		return nil, deposed(err)
	}
	return &store{client: client, epoch: epoch, versions: map[string]uint64{}}, nil
}

// held returns errDeposed if another instance has taken the lease.
func (s *store) held(ctx context.Context) error {
	_, version, err := s.client.Get(ctx, leaseKey)
	if err == nil && version != s.epoch {
		err = errDeposed
	}
	return err
}

func deposed(err error) error {
	if errors.Is(err, &offers.Error{Code: offers.VersionConflict}) {
		return fmt.Errorf("%w (%w)", errDeposed, err)
	}
	return err
}

// load returns every record.
func (s *store) load(ctx context.Context) (map[string]json.RawMessage, error) {
	keys, err := s.client.List(ctx, "")
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == leaseKey })
	records := map[string]json.RawMessage{}
	err = each(keys, func(key string) error {
		value, version, err := s.client.Get(ctx, key)
		if err != nil || version == 0 {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		records[key], s.versions[key] = value, version
		return nil
	})
	return records, err
}

// write makes changes in their order, each on the condition that the record is
// as we left it. After an error nobody knows how many of them are made: read
// all anew.
func (s *store) write(ctx context.Context, writes []scheduler.Write) error {
	for part := range slices.Chunk(writes, parallel) {
		changes := make([]framework.Change, len(part))
		for i, w := range part {
			version := s.versions[w.Key]
			changes[i] = framework.Change{Key: w.Key, Value: w.Value, Version: &version}
		}
		versions, err := s.client.Write(ctx, changes...)
		if err != nil {
			return deposed(err)
		}
		for i, w := range part {
			s.versions[w.Key] = versions[i]
		}
	}
	return nil
}

// each calls f for every key, several at once, and returns their errors.
func each(keys []string, f func(string) error) error {
	var wait sync.WaitGroup
	errs := make([]error, len(keys))
	places := make(chan struct{}, parallel)
	for i, key := range keys {
		places <- struct{}{}
		wait.Go(func() {
			errs[i] = f(key)
			<-places
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

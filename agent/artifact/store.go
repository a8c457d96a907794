package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Config says where artifacts are kept and what is allowed. Zero numbers mean
// their defaults.
type Config struct {
	Dir     string        // of the cache; made if it is not there
	Roots   []string      // folders that file URIs may read, links resolved
	Size    int64         // bytes that the cache keeps, and the largest file that is fetched; 10 GiB
	Bytes   int64         // that the artifacts of one task may take in its sandbox; 32 GiB
	Entries int           // files, folders and links that the artifacts of one task may hold; 200,000
	Whole   time.Duration // for everything that one task wants; 1 h
	Stall   time.Duration // without a byte, after which a server is given up; 1 min
	Pause   time.Duration // before a second try; doubles before the third, the last; 1 s
	Late    time.Duration // after which a task is told what it waits for; 1 s
}

const (
	tries       = 3
	maxFlights  = 8 // downloads at a time
	maxPlacings = 4 // sandboxes filled at a time
)

// Store fetches artifacts. Safe for concurrent use.
type Store struct {
	config  Config
	roots   []string // without links
	client  *http.Client
	flying  chan struct{} // one token a download
	placing chan struct{}
	ending  context.Context
	end     context.CancelFunc
	work    sync.WaitGroup

	mu      sync.Mutex
	cache   cache
	flights map[string]*flight
}

// flight is one thing on its way, for all who want it.
type flight struct {
	cancel context.CancelFunc
	done   chan struct{}

	// guarded by the store's mu
	waiters int

	// written before done is closed
	blob *blob // pinned once for each waiter
	err  error
}

// Open opens the cache. Roots that are not there are an error, since tasks
// would fail for it much later.
func Open(c Config) (*Store, error) {
	c.Size, c.Bytes, c.Entries = cmp.Or(c.Size, 10<<30), cmp.Or(c.Bytes, 32<<30), cmp.Or(c.Entries, 200_000)
	c.Whole, c.Stall, c.Pause = cmp.Or(c.Whole, time.Hour), cmp.Or(c.Stall, time.Minute), cmp.Or(c.Pause, time.Second)
	c.Late = cmp.Or(c.Late, time.Second)
	s := &Store{
		config: c, client: newClient(c.Stall),
		flying: make(chan struct{}, maxFlights), placing: make(chan struct{}, maxPlacings),
		flights: map[string]*flight{},
	}
	for _, root := range c.Roots {
		real, err := realFolder(root)
		if err != nil {
			return nil, fmt.Errorf("artifact_roots: %w", err)
		}
		s.roots = append(s.roots, real)
	}
	var err error
	if s.cache, err = openCache(c.Dir, c.Size); err != nil {
		return nil, fmt.Errorf("cache of artifacts: %w", err)
	}
	s.ending, s.end = context.WithCancel(context.Background())
	return s, nil
}

func realFolder(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	if err == nil && !filepath.IsAbs(real) {
		err = fmt.Errorf("%s is not an absolute path", path)
	}
	return real, err
}

// Close ends all downloads and waits for them.
func (s *Store) Close() {
	s.end()
	s.work.Wait()
	s.client.CloseIdleConnections()
}

// fetch returns the content of an artifact, pinned; the caller unpins it. Those
// who want the same wait for one download, which ends when the last of them
// has left.
func (s *Store) fetch(ctx context.Context, a *offers.Artifact) (*blob, error) {
	f := s.board(a)
	select {
	case <-f.done:
		return f.blob, f.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-f.done:
		if f.blob != nil {
			f.blob.pins--
		}
	default:
		if f.waiters--; f.waiters == 0 {
			f.cancel()
			s.forget(a, f)
		}
	}
	return nil, context.Cause(ctx)
}

// board finds the flight of an artifact or lets one begin.
func (s *Store) board(a *offers.Artifact) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flights[flightKey(a)]
	if f == nil {
		ctx, cancel := context.WithCancel(s.ending)
		f = &flight{cancel: cancel, done: make(chan struct{})}
		s.flights[flightKey(a)] = f
		s.work.Go(func() { s.fly(ctx, a, f) })
	}
	f.waiters++
	return f
}

func flightKey(a *offers.Artifact) string { return strings.ToLower(a.SHA256) + " " + a.URI }

func (s *Store) forget(a *offers.Artifact, f *flight) {
	if s.flights[flightKey(a)] == f {
		delete(s.flights, flightKey(a))
	}
}

func (s *Store) fly(ctx context.Context, a *offers.Artifact, f *flight) {
	defer f.cancel()
	var b *blob
	err := enter(ctx, s.flying)
	if err == nil {
		b, err = s.obtain(ctx, a)
		<-s.flying
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(a, f)
	if b != nil {
		b.pins += f.waiters - 1
	}
	f.blob, f.err = b, err
	close(f.done)
}

// enter takes a token.
func enter(ctx context.Context, tokens chan struct{}) error {
	select {
	case tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// obtain returns the content of an artifact, pinned once, from the cache if it
// may be used.
func (s *Store) obtain(ctx context.Context, a *offers.Artifact) (*blob, error) {
	want := strings.ToLower(a.SHA256)
	if want != "" {
		if b := s.cached(want); b != nil {
			return b, nil
		}
	}
	src, err := s.source(a.URI)
	if err != nil {
		return nil, err
	}
	b, err := s.again(ctx, want, src)
	for try := 1; err != nil && try < tries && passing(err); try++ {
		select {
		case <-time.After(s.config.Pause << (try - 1)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		b, err = s.again(ctx, want, src)
	}
	return b, err
}

// cached returns the content of that hash if it is there and whole, pinned.
func (s *Store) cached(sum string) *blob {
	s.mu.Lock()
	b := s.cache.pin(sum)
	s.mu.Unlock()
	if b == nil || s.whole(b) {
		return b
	}
	return nil
}

// whole checks content that an earlier run has left, once. What is damaged is
// dropped from the cache.
func (s *Store) whole(b *blob) bool {
	s.mu.Lock()
	checked := b.checked
	s.mu.Unlock()
	if checked {
		return true
	}
	sum, err := sumOf(b.path)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && sum == b.sum {
		b.checked = true
		return true
	}
	b.pins--
	s.cache.drop(b)
	return false
}

// again tries once to get a version from where the URI leads.
func (s *Store) again(ctx context.Context, want string, src source) (*blob, error) {
	var mark string
	var old *blob
	if want == "" {
		s.mu.Lock()
		old, mark = s.cache.named(src.key())
		s.mu.Unlock()
		if old != nil && !s.whole(old) {
			old, mark = nil, ""
		}
	}
	content, err := src.open(ctx, mark)
	if err == nil && content == nil {
		return old, nil // the same as before
	}
	if old != nil {
		s.unpin(old)
	}
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return s.take(ctx, want, src.key(), content)
}

// take reads content into the cache and returns it, pinned.
func (s *Store) take(ctx context.Context, want, key string, c *content) (*blob, error) {
	if c.size > s.config.Size {
		return nil, tooLarge(s.config.Size)
	}
	path, sum, size, err := s.cache.receive(&watched{ctx: ctx, from: c, left: s.config.Size, most: s.config.Size})
	if err != nil {
		return nil, err
	}
	if want != "" && sum != want {
		return nil, errors.Join(fmt.Errorf("its sha256 is %s and not %s", sum, want), os.Remove(path))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cache.enter(path, sum, size, name{Key: key, Mark: c.mark})
}

func (s *Store) unpin(b *blob) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.pins--
	s.cache.trim()
}

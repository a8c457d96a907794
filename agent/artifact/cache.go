package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cache keeps content under its hash. Guarded by the store's mu, but for
// receive, which touches nothing of it.
//
// Invariant: total is the sum of the blobs' sizes. It passes most only by what
// is pinned.
type cache struct {
	dir   string
	most  int64
	total int64
	blobs map[string]*blob // by sha256
	names map[string]*blob // by what led to them
}

// blob is one content.
type blob struct {
	sum     string
	path    string
	size    int64
	names   []name // newest last
	used    time.Time
	pins    int  // who uses it now
	checked bool // its content was hashed in this run
}

// name is one way to a content: a hashed URI, and the server's mark of the
// version that was there.
type name struct {
	Key  string `json:"key"`
	Mark string `json:"mark"`
}

// maxNames bounds the names of one content; the oldest go.
const maxNames = 32

func openCache(dir string, most int64) (cache, error) {
	c := cache{dir: dir, most: most, blobs: map[string]*blob{}, names: map[string]*blob{}}
	err := errors.Join(os.MkdirAll(dir, 0o700), os.RemoveAll(filepath.Join(dir, "tmp")), os.MkdirAll(filepath.Join(dir, "tmp"), 0o700))
	if err != nil {
		return c, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		if e.Name() == "tmp" {
			continue
		}
		if b := c.load(e.Name()); b != nil {
			c.add(b)
		} else if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return c, err
		}
	}
	c.trim()
	return c, nil
}

// load reads what an earlier run has left, nil if it is of no use.
func (c *cache) load(sum string) *blob {
	b := &blob{sum: sum, path: filepath.Join(c.dir, sum, "data")}
	info, err := os.Lstat(b.path)
	if raw, bad := hex.DecodeString(sum); err != nil || bad != nil || len(raw) != sha256.Size || !info.Mode().IsRegular() {
		return nil
	}
	b.size, b.used = info.Size(), info.ModTime()
	data, err := os.ReadFile(filepath.Join(c.dir, sum, "names"))
	if err != nil || json.Unmarshal(data, &b.names) != nil || len(b.names) > maxNames {
		b.names = nil // it is found by its hash still
	}
	return b
}

func (c *cache) add(b *blob) {
	c.blobs[b.sum] = b
	c.total += b.size
	for _, n := range b.names {
		c.names[n.Key] = b
	}
}

// pin returns the content of that hash for use, nil if it is not there.
func (c *cache) pin(sum string) *blob {
	b := c.blobs[sum]
	if b != nil {
		c.use(b)
	}
	return b
}

func (c *cache) use(b *blob) {
	b.pins++
	b.used = time.Now()
	_ = os.Chtimes(b.path, b.used, b.used) // for the order of eviction in a later run only
}

// named returns what a URI led to, pinned, and its mark; nil if that is not known.
func (c *cache) named(key string) (*blob, string) {
	b := c.names[key]
	if b == nil {
		return nil, ""
	}
	for _, n := range b.names {
		if n.Key == key {
			c.use(b)
			return b, n.Mark
		}
	}
	return nil, ""
}

// receive writes content to a file of its own and hashes it on the way.
func (c *cache) receive(from io.Reader) (path, sum string, size int64, err error) {
	f, err := os.CreateTemp(filepath.Join(c.dir, "tmp"), "")
	if err != nil {
		return "", "", 0, err
	}
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(f, hash), from)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", "", 0, errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), hex.EncodeToString(hash.Sum(nil)), size, nil
}

// enter takes a received file in and returns it, pinned. It is not synced: what
// a crash cuts is found out by its hash.
func (c *cache) enter(path, sum string, size int64, n name) (*blob, error) {
	b := c.blobs[sum]
	if b != nil && b.checked {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	} else {
		if b != nil {
			c.drop(b)
		}
		b = &blob{sum: sum, path: filepath.Join(c.dir, sum, "data"), size: size, checked: true}
		if err := errors.Join(os.MkdirAll(filepath.Dir(b.path), 0o700), os.Rename(path, b.path)); err != nil {
			return nil, errors.Join(err, os.Remove(path))
		}
		c.add(b)
	}
	c.use(b)
	if n.Mark != "" {
		c.call(b, n)
	}
	c.trim()
	return b, nil
}

// call notes what led to a content.
func (c *cache) call(b *blob, n name) {
	b.names = slices.DeleteFunc(b.names, func(old name) bool { return old.Key == n.Key })
	for len(b.names) >= maxNames {
		c.unname(b, b.names[0].Key)
		b.names = b.names[1:]
	}
	b.names = append(b.names, n)
	c.names[n.Key] = b
	if data, err := json.Marshal(b.names); err == nil {
		_ = os.WriteFile(filepath.Join(filepath.Dir(b.path), "names"), data, 0o600) // else it is fetched anew in a later run
	}
}

func (c *cache) unname(b *blob, key string) {
	if c.names[key] == b {
		delete(c.names, key)
	}
}

// Shrink gives up what nobody uses at the moment.
func (s *Store) Shrink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.cache.blobs {
		if b.pins == 0 {
			s.cache.drop(b)
		}
	}
}

// trim removes what was not used for the longest time until the rest fits.
func (c *cache) trim() {
	if c.total <= c.most {
		return
	}
	oldest := slices.SortedFunc(maps.Values(c.blobs), func(a, b *blob) int { return a.used.Compare(b.used) })
	for _, b := range oldest {
		if c.total <= c.most {
			return
		}
		if b.pins == 0 {
			c.drop(b)
		}
	}
}

// drop removes a content. Who has opened it reads on.
func (c *cache) drop(b *blob) {
	if c.blobs[b.sum] != b {
		return
	}
	delete(c.blobs, b.sum)
	c.total -= b.size
	for _, n := range b.names {
		c.unname(b, n.Key)
	}
	_ = os.RemoveAll(filepath.Dir(b.path)) // what stays is taken in, or removed, by the next Open
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func tooLarge(most int64) error {
	return fmt.Errorf("it is larger than the %d bytes that this agent fetches", most)
}

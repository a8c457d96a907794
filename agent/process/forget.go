package process

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// forgotten are the folders of ended tasks that nobody will ask about any more.
// They are removed apart from who forgets them, since that takes its time; a new
// task of the same name waits for it.
type forgotten struct {
	mu       sync.Mutex
	removed  sync.Cond // on mu: removing has changed
	keys     map[string]bool
	removing string // "" for none
}

// Forget leaves what is kept of an ended task to Clear.
func (x *Executor) Forget(key string) {
	f := &x.forgotten
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys[folderName(key)] = true
}

// Clear removes what is kept of forgotten tasks. One caller at a time.
func (x *Executor) Clear() error {
	var failed error
	for key := x.forgotten.next(); key != ""; key = x.forgotten.next() {
		failed = errors.Join(failed, os.RemoveAll(filepath.Join(x.dir, key)))
	}
	return failed
}

// next ends the removal of one folder, and begins that of another.
func (f *forgotten) next() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removing = ""
	for key := range f.keys {
		delete(f.keys, key)
		f.removing = key
		break
	}
	f.removed.Broadcast()
	return f.removing
}

// keep keeps the folder of a task that begins.
func (f *forgotten) keep(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.keys, key)
	for f.removing == key {
		f.removed.Wait()
	}
}

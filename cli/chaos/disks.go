package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

func fullDiskMaster(l *lab, r *rand.Rand) (string, error) { return l.fullDisk(r, l.masters[2]) }

func fullDiskAgent(l *lab, r *rand.Rand) (string, error) {
	d, release, err := l.claim(r, l.agents[len(l.agents)-1:])
	if err != nil {
		return "", err
	}
	defer release()
	return l.fullDisk(r, d)
}

// fullDisk leaves no byte on the disk of d for a while. The daemon may end by
// that, with one sentence; it must not go on as if it had written.
func (l *lab) fullDisk(r *rand.Rand, d *daemon) (string, error) {
	if !slices.Contains(l.disks, d.folder) {
		return d.name, fmt.Errorf("%w: %s has no disk of its own", errSkipped, d.name)
	}
	d.mayEnd()
	path := filepath.Join(d.folder, "ballast")
	size, err := fill(path)
	if err != nil {
		return d.name, err
	}
	time.Sleep(span(r, 4*time.Second, 8*time.Second))
	if err := os.Remove(path); err != nil {
		return d.name, err
	}
	how := fmt.Sprintf("%s with %d MiB", d.name, size>>20)
	if d.pid() != 0 {
		// It wrote nothing meanwhile, or lives on; a restart puts it back on
		// record whether its end is expected.
		return how + ", which it survived", upgrade(d, r)
	}
	return how + ": " + lastLine(d.log), again(d)
}

// fill writes until there is no room for another byte.
func fill(path string) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var size int64
	for block := 1 << 20; block > 0; block /= 2 {
		for {
			n, err := f.Write(make([]byte, block))
			size += int64(n)
			if errors.Is(err, syscall.ENOSPC) {
				break
			}
			if err != nil || size > 2*diskSize {
				return size, fmt.Errorf("fill %s: %d bytes: %w", path, size, err)
			}
		}
	}
	return size, nil
}

// damagedCheckpoint flips bits in the checkpoint of an agent that is down.
func damagedCheckpoint(l *lab, r *rand.Rand) (string, error) {
	d, release, err := l.claim(r, l.agents)
	if err != nil {
		return "", err
	}
	defer release()
	if r.IntN(2) == 0 {
		err = d.kill()
	} else {
		err = d.stop(20 * time.Second)
	}
	if err != nil {
		return d.name, err
	}
	path := filepath.Join(d.folder, "checkpoint.db")
	raw, err := os.ReadFile(path)
	if err != nil || len(raw) == 0 {
		return d.name, fmt.Errorf("%w: the checkpoint: %d bytes, %w", errSkipped, len(raw), errors.Join(err, again(d)))
	}
	bits := 1 + r.IntN(40)
	for range bits {
		raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return d.name, err
	}
	before := setAside(d)
	err = again(d)
	how := "nobody noticed, nothing that counts was hit"
	if setAside(d) > before {
		how = "it was set aside"
	}
	return fmt.Sprintf("%s, %d bits of %d KiB: %s", d.name, bits, len(raw)>>10, how), err
}

func oldCopies(d *daemon) []string {
	files, _ := filepath.Glob(filepath.Join(d.folder, "checkpoint.db.older-*")) // the pattern is sound
	return files
}

func setAside(d *daemon) int {
	files, _ := filepath.Glob(filepath.Join(d.folder, "checkpoint.db.damaged-*")) // the pattern is sound
	return len(files)
}

// olderCheckpoint brings an agent back on a copy of its checkpoint, or of all
// that it has written down, from before its latest launches, as a restored
// backup would.
func olderCheckpoint(l *lab, r *rand.Rand) (string, error) {
	d, release, err := l.claim(r, l.agents)
	if err != nil {
		return "", err
	}
	defer release()
	path := filepath.Join(d.folder, "checkpoint.db")
	if err := d.kill(); err != nil {
		return d.name, err
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return d.name, err
	}
	if err := again(d); err != nil {
		return d.name, err
	}
	age := span(r, 2*time.Second, 6*time.Second)
	time.Sleep(age)
	if err := d.kill(); err != nil {
		return d.name, err
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		return d.name, err
	}
	what := "the file"
	if r.IntN(2) == 0 {
		what = "the folder"
		if err := os.RemoveAll(filepath.Join(d.folder, "run")); err != nil {
			return d.name, err
		}
	}
	before := len(oldCopies(d))
	if err := again(d); err != nil {
		return d.name, err
	}
	if len(oldCopies(d)) == before {
		return d.name, fmt.Errorf("%s: %s of %v ago was not set aside", d.name, what, age)
	}
	return fmt.Sprintf("%s, %s of %v ago", d.name, what, age), nil
}

package witness_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers/witness"
)

func open(t *testing.T, dir, folder string, line witness.Line, epoch uint64) *witness.Witness {
	t.Helper()
	w, err := witness.Open(dir, folder, line, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWitness(t *testing.T) {
	dir, folder, line := t.TempDir(), t.TempDir(), witness.NewLine()
	if _, _, ok := witness.Read(dir, folder); ok {
		t.Error("a witness that is not there speaks")
	}
	w := open(t, dir, folder, line, 5)
	for _, epoch := range []uint64{5, 6, 900} {
		if err := w.Say(epoch); err != nil {
			t.Fatal(err)
		}
		if of, got, ok := witness.Read(dir, folder); !ok || of != line || got != epoch {
			t.Errorf("it says %x %d %v, want %d", of, got, ok, epoch)
		}
	}
	if _, _, ok := witness.Read(dir, t.TempDir()); ok {
		t.Error("it speaks of another folder")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Say(901); err != nil {
		t.Errorf("it can't be written and is not in the way: %v", err)
	}
	if _, _, ok := witness.Read(dir, folder); ok {
		t.Error("a witness that could not keep up still speaks")
	}
	if again := open(t, dir, folder, line, 901); again.Dismiss() != nil {
		t.Error("it can't be dismissed")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}

// TestSilence: without a place for it everything works, and nothing is known.
func TestSilence(t *testing.T) {
	w, err := witness.Open(filepath.Join(t.TempDir(), "none"), "/folder", witness.Line{}, 1)
	if err == nil || w.Say(2) != nil || w.Dismiss() != nil || (*witness.Witness)(nil).Close() != nil {
		t.Errorf("opened with %v", err)
	}
}

// TestWitnessesOfNobody: the next one that opens takes those away whose folders
// are gone, and no others.
func TestWitnessesOfNobody(t *testing.T) {
	dir, stays, goes := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "goes")
	if err := os.Mkdir(goes, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{stays, goes} {
		if err := open(t, dir, folder, witness.NewLine(), 1).Close(); err != nil {
			t.Fatal(err)
		}
	}
	foreign := filepath.Join(dir, "ringmaster-of-somebody")
	if err := os.WriteFile(foreign, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(goes); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, t.TempDir(), witness.NewLine(), 1).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(witness.Path(dir, goes)); !os.IsNotExist(err) {
		t.Errorf("of a folder that is gone: %v", err)
	}
	for _, path := range []string{foreign, witness.Path(dir, stays)} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

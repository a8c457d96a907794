package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ringmaster-project/ringmaster/offers"
)

// small returns a state with a bit of everything.
func small(t testing.TB) *State {
	l := newLab(t)
	f, g, a, b := l.framework("f"), l.framework("g"), l.agent("a"), l.agent("b")
	for _, id := range []offers.TaskID{"lives", "ended", "acked"} {
		l.do(launch(f, id, a.ID))
	}
	l.do(launch(g, "lives", b.ID))
	l.do(end(f, "ended", offers.Finished))
	l.do(end(f, "acked", offers.Failed))
	l.do(acknowledge(f, "acked"))
	l.do(Command{Put: &Put{Framework: f, Key: "k", Value: []byte("v")}})
	l.do(Command{Put: &Put{Framework: f, Key: "empty"}})
	l.do(Command{RemoveFramework: &RemoveFramework{ID: g, Time: l.now}})
	l.do(Command{RemoveFramework: &RemoveFramework{ID: l.framework("h"), Time: l.now}})
	l.do(Command{SetRole: &SetRole{"eng", &offers.RoleSettings{Weight: 1.0 / 3}}})
	l.agent("b")
	l.move(a.ID, offers.AgentUnreachable)
	return l.s
}

func TestSnapshotRoundTrip(t *testing.T) {
	s := small(t)
	data := snapshot(t, s)
	got, err := Read(iotest.OneByteReader(bytes.NewReader(data)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshot(t, got), data) {
		t.Error("the snapshot of what was read differs")
	}
	if !reflect.DeepEqual(view(got), view(s)) {
		t.Errorf("got %+v\nwant %+v", view(got), view(s))
	}
	more := []Command{end("f00001-c0de", "lives", offers.Failed), launch("f00001-c0de", "acked", "a00003-c0de")}
	one, _ := s.Apply(more)
	two, _ := got.Apply(more)
	if !bytes.Equal(snapshot(t, one), snapshot(t, two)) {
		t.Error("what was read goes another way")
	}
	if _, err := Read(bytes.NewReader(snapshot(t, New()))); err != nil {
		t.Errorf("an empty state: %v", err)
	}
}

func TestDamagedSnapshotsAreRefused(t *testing.T) {
	data := snapshot(t, small(t))
	for i := range data {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			damaged := bytes.Clone(data)
			damaged[i] ^= flip
			if s, err := Read(bytes.NewReader(damaged)); err == nil || s != nil {
				t.Fatalf("byte %d of %d flipped by %#x: got %v", i, len(data), flip, err)
			}
		}
		if _, err := Read(bytes.NewReader(data[:i])); err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Fatalf("cut at %d: got %v", i, err)
		}
	}
}

func TestSnapshotRefusals(t *testing.T) {
	data := snapshot(t, New())
	newer := bytes.Clone(data)
	newer[len(snapshotMagic)] = 9
	start := data[:len(snapshotMagic)+1]
	head := record(t, recordHeader, &header{cluster, counters{Agents: 1, Frameworks: 1, Ended: 3}})
	agent := record(t, recordAgent, &Agent{Agent: offers.Agent{ID: "a00001-c0de", Name: "a"}, State: offers.AgentActive})
	for what, input := range map[string][]byte{
		"not a snapshot":           []byte("something else of that length"),
		"format 9":                 newer,
		"something follows":        append(bytes.Clone(data), 'x'),
		"claims 1152921504606":     append(bytes.Clone(start), 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f),
		"the header comes first":   seal(1, start, agent),
		"record 1 is of kind head": seal(2, start, head, head),
		"neither the id nor":       seal(2, start, head, record(t, recordAgent, &Agent{Agent: offers.Agent{ID: "a00001-c0de", Name: "a\x00"}, State: offers.AgentActive})),
		"there twice":              seal(3, start, head, agent, agent),
		"the kind is unknown":      seal(2, start, head, []byte{99, 0}),
		"says 7":                   seal(7, start, head),
		"contradict each other":    seal(2, start, head, record(t, recordAgent, &Agent{Agent: offers.Agent{ID: "a00002-c0de", Name: "a"}, State: offers.AgentActive})),
	} {
		if s, err := Read(bytes.NewReader(input)); err == nil || s != nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want %q", err, what)
		}
	}
	for kind := recordAgent; kind <= recordStore; kind++ {
		if s, err := Read(bytes.NewReader(seal(2, start, head, []byte{byte(kind), 1, 0xff}))); err == nil || s != nil || !strings.Contains(err.Error(), "cbor") {
			t.Errorf("a record of kind %s that can't be read: got %v", kind, err)
		}
	}
	if _, err := Read(bytes.NewReader(seal(2, start, head, agent))); err != nil {
		t.Errorf("sealed by hand: %v", err)
	}
}

// TestSnapshotOfNamelessLaunches reads what was written before launches had
// names.
func TestSnapshotOfNamelessLaunches(t *testing.T) {
	l := newLab(t)
	f, a := l.framework("f"), l.agent("a")
	l.do(launch(f, "t", a.ID))
	elder := struct {
		TaskRecord
		Past offers.UpdateID
	}{l.s.Task(ref(f, "t")).record(), "u1"}
	start := append([]byte(snapshotMagic), oldestSnapshot)
	s, err := Read(bytes.NewReader(seal(4, start, record(t, recordHeader, &header{cluster, l.s.counters}),
		record(t, recordAgent, l.s.Agent(a.ID)), record(t, recordFramework, l.s.Framework(f)), record(t, recordTask, &elder))))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshot(t, s), snapshot(t, l.s)) {
		t.Errorf("it is read as %+v", s.Task(ref(f, "t")))
	}
}

func TestSnapshotPassesErrorsOn(t *testing.T) {
	full := errors.New("no space")
	if _, err := small(t).WriteTo(writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if _, err := Read(iotest.ErrReader(full)); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func record(t testing.TB, kind recordKind, v any) []byte {
	payload, err := encoding.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.AppendUvarint([]byte{byte(kind)}, uint64(len(payload))), payload...)
}

// seal joins parts to a snapshot with a right checksum.
func seal(count uint64, parts ...[]byte) []byte {
	all := binary.AppendUvarint(append(bytes.Join(parts, nil), byte(recordEnd)), count)
	sum := sha256.Sum256(all)
	return append(all, sum[:]...)
}

// Give it -fuzzminimizetime 20x: with the default the fuzzer spends its first
// minute on making one long input shorter.
func FuzzReadSnapshot(f *testing.F) {
	data := snapshot(f, small(f))
	f.Add(data, false)
	// The records without the seal, which the target puts on, so that the
	// fuzzer gets past the checksum. The count stays, as its last byte.
	f.Add(data[:len(data)-sha256.Size], true)
	f.Fuzz(func(t *testing.T, input []byte, sealed bool) {
		if sealed {
			sum := sha256.Sum256(input)
			input = append(input[:len(input):len(input)], sum[:]...)
		}
		s, err := Read(bytes.NewReader(input))
		if err != nil {
			if s != nil {
				t.Fatal("an error and a state")
			}
			return
		}
		if err := s.check(); err != nil {
			t.Fatal(err)
		}
		again := snapshot(t, s)
		twice, err := Read(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("read and written and not read: %v", err)
		}
		if !bytes.Equal(snapshot(t, twice), again) {
			t.Fatal("no fixed point")
		}
	})
}

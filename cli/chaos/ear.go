package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/linear"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// ear hears every frame between frameworks and masters and makes the history
// of it that package linear judges. Now and then it lets a framework cheat:
// beside an accept it sends another one for an offer that is not, or no more,
// the framework's to accept. What comes back for that is not handed on. It is
// safe for concurrent use.
type ear struct {
	work *work

	mu      sync.Mutex
	history *linear.Recorder
	random  *rand.Rand
	seen    []offers.OfferID          // the last ones that came to anybody
	owner   map[offers.OfferID]string // of seen; "" once it is used or gone
	cheats  int
}

const (
	remembered = 256
	cheatMark  = "cheat-" // begins the ids of requests and tasks
	cheatEvery = 4        // accepts
)

func newEar(w *work, seed uint64) *ear {
	return &ear{
		work: w, history: linear.NewRecorder(time.Now()), random: rand.New(rand.NewPCG(seed, 2<<32)),
		owner: map[offers.OfferID]string{},
	}
}

// dial returns how who reaches masters, for framework.Config.
func (e *ear) dial(who string) func(context.Context, string) (wire.Link, error) {
	return func(ctx context.Context, url string) (wire.Link, error) {
		conn, err := wire.Dial(ctx, url, wire.FrameworkProtocol, nil, nil, wire.Options{Queue: 1 << 14})
		if err != nil {
			return nil, err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		return &heardLink{Link: conn, ear: e, who: who, conn: e.history.Open(who)}, nil
	}
}

// heardLink is one connection that the ear hears.
type heardLink struct {
	wire.Link
	ear  *ear
	who  string
	conn *linear.Conn // guarded by ear.mu
}

var _ wire.Link = (*heardLink)(nil)

func (l *heardLink) Send(frame []byte) error {
	l.note(frame, l.conn.Sent)
	err := l.Link.Send(frame)
	if err == nil {
		if cheat := l.cheat(frame); cheat != nil {
			l.note(cheat, l.conn.Sent)
			_ = l.Link.Send(cheat) // nobody waits for it
		}
	}
	return err
}

func (l *heardLink) Receive() ([]byte, error) {
	for {
		frame, err := l.Link.Receive()
		if err != nil {
			l.over()
			return nil, err
		}
		l.note(frame, l.conn.Received)
		l.remember(frame)
		if !cheated(frame) {
			return frame, nil
		}
	}
}

func (l *heardLink) Close(reason string) {
	l.Link.Close(reason)
	l.over()
}

func (l *heardLink) note(frame []byte, how func(time.Time, []byte)) {
	l.ear.mu.Lock()
	defer l.ear.mu.Unlock()
	how(time.Now(), frame)
}

func (l *heardLink) over() {
	l.ear.mu.Lock()
	defer l.ear.mu.Unlock()
	l.conn.Closed(time.Now())
}

// remember keeps offers to cheat with.
func (l *heardLink) remember(frame []byte) {
	m, _, err := wire.Decode(wire.ToFramework, frame)
	if err != nil {
		return
	}
	e := l.ear
	e.mu.Lock()
	defer e.mu.Unlock()
	switch m := m.(type) {
	case *wire.OffersMessage:
		for _, o := range m.Offers {
			e.seen = append(e.seen, o.ID)
			e.owner[o.ID] = l.who
		}
		for len(e.seen) > remembered {
			delete(e.owner, e.seen[0])
			e.seen = e.seen[1:]
		}
	case *wire.Rescind:
		e.used(m.OfferIDs)
	}
}

// used is called under mu.
func (e *ear) used(ids []offers.OfferID) {
	for _, id := range ids {
		if _, there := e.owner[id]; there {
			e.owner[id] = ""
		}
	}
}

// cheat returns an accept that must come to nothing, or nil.
func (l *heardLink) cheat(frame []byte) []byte {
	m, _, err := wire.Decode(wire.FromFramework, frame)
	if err != nil {
		return nil
	}
	e := l.ear
	e.mu.Lock()
	defer e.mu.Unlock()
	switch m := m.(type) {
	case *wire.Decline:
		e.used(m.OfferIDs)
	case *wire.Accept:
		e.used(m.OfferIDs)
		if e.random.IntN(cheatEvery) > 0 {
			return nil
		}
		id := m.OfferIDs[0] // the very same, again
		if len(e.seen) == 0 {
			return nil
		}
		if other := e.seen[e.random.IntN(len(e.seen))]; e.random.IntN(2) == 0 && e.owner[other] != l.who {
			id = other
		}
		return e.forge(id)
	}
	return nil
}

// forge is called under mu.
func (e *ear) forge(id offers.OfferID) []byte {
	e.cheats++
	name := fmt.Sprint(cheatMark, e.cheats)
	task, _ := e.work.task(offers.TaskID(name), offers.Resources{Amounts: offers.Amounts{offers.CPUs: 100}}, e.random)
	raw, err := json.Marshal(task)
	if err != nil {
		return nil
	}
	frame, err := wire.Encode(&wire.Accept{OfferIDs: []offers.OfferID{id}, Tasks: []json.RawMessage{raw}}, name)
	if err != nil {
		return nil
	}
	return frame
}

// cheated reports whether a frame is about a forged accept.
func cheated(frame []byte) bool {
	m, env, err := wire.Decode(wire.ToFramework, frame)
	if err != nil {
		return false
	}
	u, ok := m.(*wire.Update)
	return strings.HasPrefix(env.RequestID, cheatMark) || ok && strings.HasPrefix(string(u.Status.Task), cheatMark)
}

// judge looks for an order of everything that was heard, and leaves it in a
// file. It is called when nobody speaks any more.
func (e *ear) judge(ev evidence, folder string) ([]linear.Tally, []finding, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := map[offers.TaskRef]bool{}
	for _, t := range ev.tasks {
		known[offers.TaskRef{Framework: t.Framework, Task: t.ID}] = true
	}
	tallies, bad := linear.Judge(e.history.Ops(), linear.Config{
		Launched: func(ref offers.TaskRef) bool { return known[ref] || len(ev.traces[ref.Task].Starts) > 0 },
		Patience: time.Minute, Folder: folder,
	})
	var out []finding
	for i := range bad {
		out = append(out, finding{"linear", bad[i].Text(), ""})
	}
	return tallies, out, e.save(folder + "/operations.jsonl")
}

func (e *ear) save(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("operations: %w", err)
	}
	enc := json.NewEncoder(f)
	for _, o := range e.history.Ops() {
		if err := enc.Encode(o); err != nil {
			_ = f.Close() // what matters is the error before
			return fmt.Errorf("operations: %w", err)
		}
	}
	return f.Close()
}

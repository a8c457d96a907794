package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// heard returns a link that the ear hears, and the master's end of it.
func heard(e *ear, who string) (link *heardLink, master wire.Link) {
	ours, theirs := wire.Pipe(wire.Options{Queue: 1000})
	return &heardLink{Link: ours, ear: e, who: who, conn: e.history.Open(who)}, theirs
}

func encoded(t *testing.T, m wire.Message, request string) []byte {
	t.Helper()
	frame, err := wire.Encode(m, request)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// TestCheats plays a master that accepts what it should, and one that accepts
// everything.
func TestCheats(t *testing.T) {
	for _, gullible := range []bool{false, true} {
		t.Run(fmt.Sprint("gullible ", gullible), func(t *testing.T) {
			e := newEar(&work{folder: "tasks"}, 1)
			link, master := heard(e, "f1")
			cheats := play(t, link, master, gullible)
			link.Close("over")
			master.Close("over")
			if cheats < 5 {
				t.Fatalf("it cheated %d times in 60", cheats)
			}
			folder := t.TempDir()
			_, findings, err := e.judge(evidence{}, folder)
			if err != nil {
				t.Fatal(err)
			}
			if gullible != (len(findings) > 0) {
				t.Errorf("%d findings", len(findings))
			}
			text, err := os.ReadFile(filepath.Join(folder, "operations.jsonl"))
			if lines := strings.Count(string(text), "\n"); err != nil || lines < 2*60+cheats {
				t.Errorf("%d operations are kept: %v", lines, err)
			}
		})
	}
}

// play offers and accepts sixty times over one connection, and returns how
// often the framework cheated. Of that it must hear nothing itself.
func play(t *testing.T, link *heardLink, master wire.Link, gullible bool) (cheats int) {
	say := func(m wire.Message, request string) {
		if err := master.Send(encoded(t, m, request)); err != nil {
			t.Fatal(err)
		}
	}
	if err := link.Send(encoded(t, &wire.Register{}, "register")); err != nil {
		t.Fatal(err)
	}
	say(&wire.Registered{FrameworkID: "f", Master: wire.MasterInfo{Term: 1}}, "register")
	outstanding := map[offers.OfferID]bool{}
	for n := range 60 {
		id := offers.OfferID(fmt.Sprint("o", n))
		outstanding[id] = true
		say(&wire.OffersMessage{Offers: []wire.Offer{{ID: id, Expires: time.Now().Add(time.Hour)}}}, "")
		hears(t, link, 1+min(1, n)) // what was said, and the answer of before
		task := json.RawMessage(fmt.Sprintf(`{"id": "t%d"}`, n))
		if err := link.Send(encoded(t, &wire.Accept{OfferIDs: []offers.OfferID{id}, Tasks: []json.RawMessage{task}}, fmt.Sprint("accept:", n))); err != nil {
			t.Fatal(err)
		}
		for done := false; !done; {
			frame, err := master.Receive()
			if err != nil {
				t.Fatal(err)
			}
			m, env, err := wire.Decode(wire.FromFramework, frame)
			a, ok := m.(*wire.Accept)
			if err != nil || !ok {
				continue
			}
			if strings.HasPrefix(env.RequestID, cheatMark) {
				cheats++
			}
			answerAccept(say, a, env.RequestID, gullible || outstanding[a.OfferIDs[0]])
			delete(outstanding, a.OfferIDs[0])
			done = !strings.HasPrefix(env.RequestID, cheatMark)
		}
	}
	return cheats
}

func answerAccept(say func(wire.Message, string), a *wire.Accept, request string, good bool) {
	if good {
		say(&wire.Accepted{OfferIDs: a.OfferIDs}, request)
		return
	}
	say(&wire.ErrorMessage{Code: offers.OfferGone}, request)
	for _, raw := range a.Tasks {
		var task struct{ ID offers.TaskID }
		if json.Unmarshal(raw, &task) == nil {
			say(&wire.Update{Status: offers.Status{Task: task.ID, State: offers.Dropped}}, "")
		}
	}
}

func hears(t *testing.T, link *heardLink, frames int) {
	t.Helper()
	for range frames {
		frame, err := link.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(frame), cheatMark) {
			t.Fatalf("the framework hears of its cheat: %s", frame)
		}
	}
}

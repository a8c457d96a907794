package wire

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// TestUnsentIsShared: ends that don't read have no more waiting together than is
// allowed, each its part; who reads gets all, and what is over counts no more.
func TestUnsentIsShared(t *testing.T) {
	const most, size, slow = 1 << 20, 4 << 10, 7
	synctest.Test(t, func(t *testing.T) {
		unsent := NewUnsent(most)
		var full []*Conn
		for range slow {
			c, ws := inMemory(t, Options{Unsent: unsent})
			defer ws.Close()
			defer c.Close("done")
			full = append(full, c)
		}
		quick, ws := inMemory(t, Options{Unsent: unsent})
		go read(ws)
		begin, cut := time.Now(), map[*Conn]int{} // with how many bytes
		for n := 1; len(cut) < slow; n++ {
			for _, c := range full {
				if err := c.Send(make([]byte, size)); errors.Is(err, ErrSlow) {
					cut[c] = n * size
				}
			}
			if bytes := unsent.Bytes(); bytes > most {
				t.Fatalf("%d bytes wait, of %d", bytes, most)
			}
			if err := quick.Send(make([]byte, size)); err != nil {
				t.Fatalf("who reads is cut off with %d bytes waiting for the others: %v", unsent.Bytes(), err)
			}
			synctest.Wait()
		}
		for _, n := range cut {
			if n < most/(slow+1) {
				t.Errorf("one is cut off with %d bytes, an %dth part of %d is %d", n, slow+1, most, most/(slow+1))
			}
		}
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("it took %v", waited)
		}
		quick.Close("done")
		ws.Close()
		for _, c := range full {
			<-c.ended
		}
		if bytes := unsent.Bytes(); bytes != 0 {
			t.Errorf("%d bytes wait when all has ended", bytes)
		}
		if err := quick.out.push([]byte("late")); !errors.Is(err, ErrClosed) || unsent.Bytes() != 0 {
			t.Errorf("what comes late: %v, %d bytes wait", err, unsent.Bytes())
		}
	})
}

// talk is a connection with Options.Large whose end sends frames and answers
// nothing, and whether what was received last has come.
type talk struct {
	*Conn
	ws   *websocket.Conn
	came chan error
}

func newTalk(t *testing.T, opts Options) *talk {
	c, ws := inMemory(t, opts)
	t.Cleanup(func() { c.Close("done"); ws.Close() })
	ws.SetPingHandler(func(string) error { return nil }) // a pong would wait behind the frame
	go read(ws)
	return &talk{c, ws, make(chan error, 1)}
}

// sends has a frame of so many bytes under way, and received.
func (k *talk) sends(size int) {
	go func() { _ = k.ws.WriteMessage(websocket.TextMessage, make([]byte, size)) }()
	k.receives()
}

func (k *talk) receives() {
	go func() {
		_, err := k.Receive()
		k.came <- err
	}()
}

// got reports whether what is received has come.
func (k *talk) got(t *testing.T) bool {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-k.came:
		if err != nil {
			t.Error(err)
		}
		return true
	default:
		return false
	}
}

// TestLargeFramesWaitForAPlace, for however long, where small ones come through.
// There is one when the frame before has been handled, or its connection has ended.
func TestLargeFramesWaitForAPlace(t *testing.T) {
	const silence = 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		opts := Options{Large: make(Places, 1), Silence: silence}
		first, second := newTalk(t, opts), newTalk(t, opts)
		if first.sends(corked + 1); !first.got(t) {
			t.Fatal("the first one waits")
		}
		second.sends(2 * corked)
		time.Sleep(2 * silence)
		if second.got(t) {
			t.Fatal("the second one has a place beside the first")
		}
		other := newTalk(t, opts)
		if other.sends(corked); !other.got(t) {
			t.Error("a small one waits")
		}
		if first.receives(); !second.got(t) {
			t.Fatal("the second one waits when the first has been handled")
		}
		third := newTalk(t, opts)
		if third.sends(MaxMessage); third.got(t) {
			t.Fatal("the third one has a place beside the second")
		}
		if second.Close("it is of no use"); !third.got(t) {
			t.Error("the third one waits when the second has ended")
		}
		other.sends(corked + 1)
		synctest.Wait()
		other.Close("it ends while it waits")
		if err := <-other.came; !errors.Is(err, ErrClosed) {
			t.Errorf("who ends while it waits for a place: %v", err)
		}
		first.Close("enough")
		third.Close("enough")
		if err := <-first.came; err == nil || len(opts.Large) != 0 {
			t.Errorf("%v; %d places are taken when all has ended", err, len(opts.Large))
		}
	})
}

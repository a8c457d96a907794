package wire

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// TestHalfOfALargeFrameTakesAPlace: so many large frames are received at a time, be
// they half ones, which have to be whole in time; small ones wait for none.
func TestHalfOfALargeFrameTakesAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := make(Places, 2)
		opts := Options{Large: places, Silence: 2 * time.Minute}
		large := []byte(strings.Repeat("x", 2*corked))
		type end struct {
			*Conn
			ws       *websocket.Conn
			received chan error
		}
		begin := func(frame []byte, whole bool) end {
			c, ws := inMemory(t, opts)
			e := end{c, ws, make(chan error, 1)}
			go read(ws)
			go func() {
				_, err := c.Receive()
				e.received <- err
			}()
			go func() {
				if whole {
					_ = ws.WriteMessage(websocket.TextMessage, frame)
				} else if w, err := ws.NextWriter(websocket.TextMessage); err == nil {
					_, _ = w.Write(frame) // and no more of it
				}
			}()
			synctest.Wait()
			return e
		}
		waits := func(e end, name string) {
			t.Helper()
			select {
			case err := <-e.received:
				t.Errorf("%s came, with %v", name, err)
			default:
			}
		}
		half, other := begin(large, false), begin(large, false)
		third, small := begin(large, true), begin([]byte("x"), true)
		if err := <-small.received; err != nil || len(places) != 2 {
			t.Errorf("a small frame, while %d are under way: %v", len(places), err)
		}
		waits(half, "half of a frame")
		waits(third, "what has no place")
		time.Sleep(frameTimeout + lingerTimeout)
		synctest.Wait()
		select {
		case err := <-half.received:
			if err == nil {
				t.Error("half of a frame was received")
			}
		default:
			t.Error("half of a frame keeps its place")
		}
		if err := <-third.received; err != nil {
			t.Error("who waited for a place:", err)
		}
		<-other.received
		if len(places) != 1 {
			t.Errorf("%d have a place; want the one that has not asked for the next frame", len(places))
		}
		for _, e := range []end{half, other, third, small} {
			e.Close("done")
			e.ws.Close()
		}
		if len(places) != 0 {
			t.Errorf("%d have a place after the end", len(places))
		}
	})
}

// TestLargeFramesComeAsTheyWere: also those that end where a chunk does, or come in
// pieces.
func TestLargeFramesComeAsTheyWere(t *testing.T) {
	const chunkSize = len(chunk{}.bytes)
	c, ws := inMemory(t, Options{})
	go read(ws)
	for _, size := range []int{corked, corked + 1, corked + 2, corked + chunkSize, corked + 1 + chunkSize, corked + 2 + chunkSize, 300_000} {
		sent := make([]byte, size)
		for i := range sent {
			sent[i] = 'a' + byte(i%23)
		}
		written := make(chan struct{})
		go func() {
			defer close(written)
			w, err := ws.NextWriter(websocket.TextMessage)
			for rest := sent; err == nil && len(rest) > 0; {
				piece := rest[:min(len(rest), 50_000)]
				rest = rest[len(piece):]
				_, err = w.Write(piece)
			}
			_ = w.Close()
		}()
		if got, err := c.Receive(); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("of %d bytes %d came, with %v", size, len(got), err)
		}
		<-written
	}
	c.Close("done")
	ws.Close()
}

// TestLargeFramesTakeTheirSize: what a large frame is read into is used again, so
// that those who send many of them leave little behind.
func TestLargeFramesTakeTheirSize(t *testing.T) {
	c, ws := inMemory(t, Options{})
	go read(ws)
	const size = 2 << 20
	sent := []byte(strings.Repeat("x", size))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() { _ = ws.WriteMessage(websocket.TextMessage, sent) }()
	if got, err := c.Receive(); err != nil || len(got) != len(sent) || cap(got) != len(got) {
		t.Fatalf("%d bytes came in %d, with %v", len(got), cap(got), err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 3*size {
		t.Errorf("a message of %d MiB took %d", size>>20, n>>20)
	}
	c.Close("done")
	ws.Close()
}

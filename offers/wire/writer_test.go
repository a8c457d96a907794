package wire

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// TestNothingIsLeftUnwritten: what is sent just when the writer finds nothing
// left to write is written. Over a connection in memory the next frame comes at
// that very time again and again.
func TestNothingIsLeftUnwritten(t *testing.T) {
	c, ws := inMemory(t, Options{})
	defer c.Close("done")
	defer ws.Close()
	if err := ws.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for n := range 50_000 {
		if err := c.Send([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ws.ReadMessage(); err != nil {
			t.Fatalf("frame %d: %v", n, err)
		}
	}
}

// TestPingsOfASlowReader: who takes a while to read what waits for it may ping
// meanwhile. All of that reaches it, and the answer to its last ping, too.
func TestPingsOfASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws := inMemory(t, Options{Ping: time.Hour})
		received := make(chan error, 1)
		go func() {
			_, err := c.Receive()
			received <- err
		}()
		sent := []string{"a", "b", "c"}
		for _, frame := range sent {
			if err := c.Send([]byte(frame)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait() // the writer is stuck
		for _, ping := range []string{"first", "last"} {
			if err := ws.WriteControl(websocket.PingMessage, []byte(ping), time.Now().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(writeTimeout / 2)
		pongs := make(chan string, 2)
		ws.SetPongHandler(func(data string) error {
			pongs <- data
			return nil
		})
		for _, want := range sent {
			if _, got, err := ws.ReadMessage(); err != nil || string(got) != want {
				t.Fatalf("read %q and %v, want %q", got, err, want)
			}
		}
		go read(ws)
		if got := <-pongs; got != "last" {
			t.Errorf("the ping %q was answered, want the last one", got)
		}
		c.Close("done")
		<-received
		ws.Close()
	})
}

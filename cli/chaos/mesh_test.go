package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"testing"
	"time"
)

func decode(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// echo is a master that gives back every line.
func echo(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// client is a connection through a mesh to an echo.
func client(t testing.TB) (*mesh, net.Conn, *bufio.Reader) {
	t.Helper()
	m := newMesh(func(int) string { return "a" })
	t.Cleanup(m.close)
	at, err := m.open("", "m", echo(t), false)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return m, c, bufio.NewReader(c)
}

func say(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t testing.TB, r *bufio.Reader, want string) {
	t.Helper()
	if got, err := r.ReadString('\n'); err != nil || got != want {
		t.Fatalf("%q, %v; want %q", got, err, want)
	}
}

// TestCutHoldsAndHealReleases tries each direction.
func TestCutHoldsAndHealReleases(t *testing.T) {
	for _, l := range []link{{"a", "m"}, {"m", "a"}} {
		m, c, r := client(t)
		say(t, c, "one\n")
		hear(t, r, "one\n")
		heal := m.sever(l)
		say(t, c, "two\n")
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if got, err := r.ReadString('\n'); err == nil {
			t.Fatalf("%v is cut, and %q came through", l, got)
		}
		_ = c.SetReadDeadline(time.Time{})
		heal()
		hear(t, r, "two\n")
	}
}

func TestResetBreaks(t *testing.T) {
	m, c, r := client(t)
	say(t, c, "one\n")
	hear(t, r, "one\n")
	if n := m.reset(func(l link) bool { return l == link{"a", "m"} }); n != 1 {
		t.Fatalf("%d connections were reset", n)
	}
	if _, err := r.ReadString('\n'); err == nil {
		t.Fatal("the connection lives on")
	}
}

// TestRedirectStaysInMesh: who is sent to another master gets its own edge.
func TestRedirectStaysInMesh(t *testing.T) {
	m := newMesh(func(int) string { return "" })
	t.Cleanup(m.close)
	const leader = "127.0.0.1:1234"
	to, err := m.open("a", "leader", leader, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.translate("a", "Location: http://"+leader+"/v1/agent\r\n"), "Location: http://"+to+"/v1/agent\r\n"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	if line := "Location: http://" + leader + "/v1/agent\r\n"; m.translate("b", line) != line {
		t.Error("b has no edge to the leader")
	}
}

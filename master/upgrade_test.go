package master

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestSessionsAreNumberedAsTheyAreLetIn: the core serves the newer of two.
func TestSessionsAreNumberedAsTheyAreLetIn(t *testing.T) {
	s := newScene(t, "")
	numbers := make(chan uint64)
	s.api.framework = func(_ wire.Link, v visitor) { numbers <- v.number }
	s.build()
	var last uint64
	for range 3 {
		link, err := wire.Dial(t.Context(), "ws"+strings.TrimPrefix(s.server.URL, "http")+wire.FrameworkPath, wire.FrameworkProtocol, nil, nil, wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		number := <-numbers
		if number <= last {
			t.Errorf("a session is number %d, and the one before was %d", number, last)
		}
		last = number
		link.Close("the test is over")
	}
}

// TestOnlyItsOwnBuildPrematches: a master of another build might rate agents
// otherwise.
func TestOnlyItsOwnBuildPrematches(t *testing.T) {
	s := newScene(t, "")
	at := "ws" + strings.TrimPrefix(s.server.URL, "http") + wire.PrematchPath + "?build="
	if _, err := wire.Dial(t.Context(), at+"0.0.9", wire.PrematchProtocol, nil, nil, wire.Options{}); err == nil || !strings.Contains(err.Error(), `the master is of the build "0.0.9" and this one of "test`) {
		t.Errorf("a master of another build is told %v", err)
	}
	link, err := wire.Dial(t.Context(), at+url.QueryEscape(build("test")), wire.PrematchProtocol, nil, nil, wire.Options{})
	if err != nil {
		t.Fatalf("a master of this build is refused: %v", err)
	}
	link.Close("the test is over")
}

// TestLeaderTellsItsTerm when it takes a connection, before anybody registers.
func TestLeaderTellsItsTerm(t *testing.T) {
	s := newScene(t, "")
	link, err := wire.Dial(t.Context(), "ws"+strings.TrimPrefix(s.server.URL, "http")+wire.FrameworkPath, wire.FrameworkProtocol, nil, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close("the test is over")
	if got := link.Term(); got != s.Term() {
		t.Errorf("it tells the term %d, not %d", got, s.Term())
	}
}

// opened returns the address of a door to a connection to address that is open
// already: who dials it first speaks on that.
func opened(t *testing.T, address string) string {
	t.Helper()
	there, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var pipes sync.WaitGroup
	pipes.Go(func() {
		here, err := door.Accept()
		if err != nil {
			return // nobody came
		}
		pipes.Go(func() { _, _ = io.Copy(here, there); here.Close() })
		_, _ = io.Copy(there, here)
		there.Close()
	})
	t.Cleanup(func() { door.Close(); there.Close(); pipes.Wait() })
	return door.Addr().String()
}

// TestTakeOverOnAConnectionThatWasOpen: a framework takes over on a connection
// that was opened before the one which it takes over from, and lay unused.
func TestTakeOverOnAConnectionThatWasOpen(t *testing.T) {
	m := runMaster(t, masterConfig(t, "m1"))
	<-m.Ready()
	early := opened(t, m.Address())
	register := func(address string, id offers.FrameworkID) (*wire.Conn, *wire.Registered) {
		t.Helper()
		link, err := wire.Dial(t.Context(), "ws://"+address+wire.FrameworkPath, wire.FrameworkProtocol, nil, nil, wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { link.Close("the test is over") })
		frame, err := wire.Encode(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f", Role: "default"}}, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := link.Send(frame); err != nil {
			t.Fatal(err)
		}
		return link, heard[*wire.Registered](t, link)
	}
	first, r := register(m.Address(), "")
	if _, again := register(early, r.FrameworkID); again.FrameworkID != r.FrameworkID {
		t.Errorf("it takes over as %s, not as %s", again.FrameworkID, r.FrameworkID)
	}
	if e := heard[*wire.ErrorMessage](t, first); e.Code != offers.FailedOver {
		t.Errorf("the first one is told %s", e.Code)
	}
}

// heard returns the next message that a framework gets but heartbeats.
func heard[M wire.Message](t *testing.T, link *wire.Conn) M {
	t.Helper()
	for {
		frame, err := link.Receive()
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := wire.Decode(wire.ToFramework, frame)
		if err != nil {
			t.Fatal(err)
		}
		if _, beat := m.(*wire.Heartbeat); beat {
			continue
		}
		want, ok := m.(M)
		if !ok {
			t.Fatalf("it hears %s", frame)
		}
		return want
	}
}

// TestConnectionWaitsForTheElection: one that comes while nobody leads is
// answered as soon as somebody does, and on a new leader once it has begun.
func TestConnectionWaitsForTheElection(t *testing.T) {
	s := newScene(t, "")
	s.hold, s.leader, s.leads = time.Hour, replica.Member{}, make(chan struct{})
	dial := func() chan error {
		done := make(chan error, 1)
		go func() {
			link, err := wire.Dial(context.Background(), "ws"+strings.TrimPrefix(s.server.URL, "http")+wire.AgentPath, wire.AgentProtocol, nil, nil, wire.Options{})
			if err == nil {
				link.Close("the test is over")
			}
			done <- err
		}()
		return done
	}
	waiting := func(what string, done chan error) {
		t.Helper()
		select {
		case err := <-done:
			t.Fatalf("%s: the connection was answered: %v", what, err)
		case <-time.After(20 * time.Millisecond): // a wrong answer comes within that, most times
		}
	}

	first := dial()
	waiting("nobody leads", first)
	s.elect(replica.Member{ID: "m2@2", Name: "m2", HTTP: "127.0.0.2:5050"})
	var elsewhere *wire.RedirectError
	if err := <-first; !errors.As(err, &elsewhere) || !strings.HasPrefix(elsewhere.Location, "ws://127.0.0.2:5050/") {
		t.Errorf("m2 leads: %v; want a redirect there", err)
	}

	s.elect(replica.Member{})
	second := dial()
	waiting("nobody leads again", second)
	s.elect(self)
	waiting("the leader has not begun", second)
	close(s.leads)
	if err := <-second; err != nil {
		t.Errorf("the leader has begun: %v", err)
	}

	// What an old leadership began counts for nothing.
	s.elect(replica.Member{})
	third := dial()
	waiting("it leads no more", third)
	s.elect(self)
	if err := <-third; err != nil {
		t.Errorf("it leads again: %v", err)
	}
}

func TestConnectionWaitsNoLonger(t *testing.T) {
	s := newScene(t, "")
	s.hold, s.leader = time.Millisecond, replica.Member{}
	_, err := wire.Dial(context.Background(), "ws"+strings.TrimPrefix(s.server.URL, "http")+wire.FrameworkPath, wire.FrameworkProtocol, nil, nil, wire.Options{})
	var status *wire.StatusError
	if !errors.As(err, &status) || status.Status != 503 || !strings.Contains(status.Reason, "no master leads") {
		t.Errorf("%v; want 503", err)
	}
}

// TestConnectionsComeInOneAfterTheOther: who finds the entrance taken waits for
// it, also for longer than for a leader; who is refused or gave up makes room.
func TestConnectionsComeInOneAfterTheOther(t *testing.T) {
	s := newScene(t, "")
	url := strings.TrimPrefix(s.server.URL, "http")
	dial := func() chan error {
		done := make(chan error, 1)
		go func() {
			link, err := wire.Dial(t.Context(), "ws"+url+wire.AgentPath, wire.AgentProtocol, nil, nil, wire.Options{})
			if err == nil {
				link.Close("the test is over")
			}
			done <- err
		}()
		return done
	}
	for range cap(s.entrance) {
		s.entrance.enter()
	}
	ctx, giveUp := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http"+url+wire.AgentPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(request)
		gone <- err
	}()
	var waiting []chan error
	for range 3 * cap(s.entrance) {
		waiting = append(waiting, dial())
	}
	select {
	case err := <-waiting[0]:
		t.Fatalf("the entrance is taken, and one was answered: %v", err)
	case <-time.After(20 * time.Millisecond): // a wrong answer comes within that, most times
	}
	giveUp()
	if err := <-gone; err == nil {
		t.Error("one that gave up was answered")
	}
	for range cap(s.entrance) {
		s.entrance.leave()
	}
	for _, done := range waiting {
		if err := <-done; err != nil {
			t.Errorf("there is room again: %v", err)
		}
	}
	for range 2 * cap(s.entrance) {
		resp, err := http.Get("http" + url + wire.AgentPath)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusUpgradeRequired {
			t.Errorf("no websocket was asked for: %s", resp.Status)
		}
	}
	if err := <-dial(); err != nil {
		t.Errorf("after some were refused: %v", err)
	}
}

// unread is a listener of connections in memory that hold nothing: who writes
// waits for the reader.
type unread struct {
	ends   chan net.Conn
	closed chan struct{}
}

func (u unread) Accept() (net.Conn, error) {
	select {
	case end := <-u.ends:
		return end, nil
	case <-u.closed:
		return nil, net.ErrClosed
	}
}

func (u unread) Close() error   { close(u.closed); return nil }
func (u unread) Addr() net.Addr { return &net.TCPAddr{} }

// TestWhoDoesNotReadKeepsNobodyOut: of those who connect some take only the
// beginning of the answer.
func TestWhoDoesNotReadKeepsNobodyOut(t *testing.T) {
	s := newScene(t, "")
	listener := unread{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: s.api}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Close(); serving.Wait() })
	for range cap(s.entrance) {
		here, there := net.Pipe()
		t.Cleanup(func() { here.Close() })
		listener.ends <- there
		if _, err := io.WriteString(here, handshake); err != nil {
			t.Fatal(err)
		}
		if _, err := here.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, giveUp := context.WithTimeout(t.Context(), 5*time.Second) // half of what an answer may take
	defer giveUp()
	link, err := wire.Dial(ctx, "ws"+strings.TrimPrefix(s.server.URL, "http")+wire.AgentPath, wire.AgentProtocol, nil, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	link.Close("the test is over")
}

// TestSessionsAreBoundedTogether, in the large frames that are received, and in
// what waits to be sent.
func TestSessionsAreBoundedTogether(t *testing.T) {
	s := newScene(t, "")
	s.unsent = wire.NewUnsent(1 << 20)
	var received atomic.Int32
	release := make(chan struct{})
	s.framework = func(l wire.Link, _ visitor) {
		defer l.Close("the test is over")
		if _, err := l.Receive(); err != nil {
			t.Error(err)
		}
		if n := received.Add(1); n > largeFrames {
			t.Errorf("%d large frames are in memory at once", n)
		}
		<-release
		received.Add(-1)
	}
	sent := make(chan int64)
	s.agent = func(l wire.Link, _ visitor) {
		defer l.Close("the test is over")
		n := int64(0)
		for frame := make([]byte, 64<<10); l.Send(frame) == nil; {
			n += int64(len(frame))
			if unsent := s.unsent.Bytes(); unsent > 1<<20 {
				t.Errorf("%d bytes wait to be sent", unsent)
			}
		}
		sent <- n
	}
	s.build()
	dial := func(path, protocol string) *wire.Conn {
		link, err := wire.Dial(t.Context(), "ws"+strings.TrimPrefix(s.server.URL, "http")+path, protocol, nil, nil, wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { link.Close("the test is over") })
		return link
	}
	for range largeFrames + 4 {
		if err := dial(wire.FrameworkPath, wire.FrameworkProtocol).Send(make([]byte, 64<<10)); err != nil {
			t.Fatal(err)
		}
	}
	dial(wire.AgentPath, wire.AgentProtocol) // and reads nothing
	if n := <-sent; n > 24<<20 {
		t.Errorf("%d bytes were sent to who reads nothing", n)
	}
	close(release)
	s.sessions.Wait()
}

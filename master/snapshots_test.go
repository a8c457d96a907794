package master

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func written(t testing.TB, s *state.State) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := s.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// foreign is the state of another cluster.
func foreign(t testing.TB) *state.State {
	t.Helper()
	s, results := state.New().Apply([]state.Command{{Init: &state.Init{ClusterID: "beef0123456789abcdef"}}})
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	return s
}

func TestSnapshotGoesOutAndComesBack(t *testing.T) {
	s := newScene(t, "")
	status, header, text := s.ask("GET", "/v1/snapshot", "")
	if status != 200 || header.Get("Content-Type") != "application/octet-stream" || text != written(t, s.State()) {
		t.Fatalf("%d %v, %d bytes", status, header, len(text))
	}
	status, _, answer := s.ask("POST", "/v1/snapshot", text)
	if status != 200 || !strings.Contains(answer, `"tasks":2`) || s.restored == nil || written(t, s.restored) != text {
		t.Fatalf("%d %s, restored %v", status, answer, s.restored)
	}
}

func TestBadSnapshotsRestoreNothing(t *testing.T) {
	s := newScene(t, "")
	good := written(t, s.State())
	newer := []byte(good)
	newer[len("ringmaster state")]++
	// Every byte is a candidate; one in 97 keeps the test short.
	for at := 0; at < len(good); at += 97 {
		for bit := range 8 {
			bad := []byte(good)
			bad[at] ^= 1 << bit
			s.wantError("POST", "/v1/snapshot", string(bad), 400, offers.BadMessage, "nothing was restored: read snapshot:")
		}
	}
	for _, row := range []struct {
		body, says string
		status     int
	}{
		{"", "cut short", 400},
		{good[:len(good)-1], "cut short", 400},
		{good[:len(good)/2], "cut short", 400},
		{good + "x", "something follows its end", 400},
		{string(newer), "it has format 3 and this Ringmaster reads formats 1 to 2", 400},
		{`{"agents": []}` + strings.Repeat(" ", 20), "this is not a snapshot", 400},
		{written(t, state.New()), "had not begun", 400},
		{written(t, foreign(t)), "this cluster c0de0123 is in use (frameworks: 2, living tasks: 2)", 409},
	} {
		s.wantError("POST", "/v1/snapshot", row.body, row.status, offers.BadMessage, row.says)
	}
	if s.restored != nil {
		t.Error("something was restored")
	}
	s.shown = &picture{State: foreign(t), Match: s.shown.Match}
	if status, _, text := s.ask("POST", "/v1/snapshot", good); status != 200 || s.restored == nil {
		t.Errorf("on an unused cluster: %d %s", status, text)
	}
}

// A client that asks before it sends a snapshot is told where the leader is,
// rather than to send it first.
func TestFollowerSendsSnapshotsElsewhereUnread(t *testing.T) {
	s := newScene(t, "")
	s.verify, s.leader.ID, s.leader.HTTP = errNotLeader(), "m2@2", "127.0.0.2:5050"
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST /v1/snapshot HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", conn.RemoteAddr()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal("no answer before the body was sent:", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusTemporaryRedirect || answer.Header.Get("Location") != "http://127.0.0.2:5050/v1/snapshot" {
		t.Errorf("%s %v", answer.Status, answer.Header)
	}
}

func TestMastersAreMoved(t *testing.T) {
	s := newScene(t, "")
	for _, row := range []struct{ path, body, want, answer string }{
		{"/v1/leader/transfer", "", "transfer", `{"leader":{"name":"m1","address":"127.0.0.1:5050"}}`},
		{"/v1/leader/transfer", `{"to": "m2"}`, "transfer to m2", `"leader"`},
		{"/v1/masters/m2/remove", "", "remove m2", `"name":"m2"`},
	} {
		s.moved = nil
		status, _, text := s.ask("POST", row.path, row.body)
		if status != 200 || !reflect.DeepEqual(s.moved, []string{row.want}) || !strings.Contains(text, row.answer) {
			t.Errorf("%s %s: %d %s, moved %v", row.path, row.body, status, text, s.moved)
		}
	}
	s.moved = nil
	s.wantError("POST", "/v1/leader/transfer", `{"to": "m9"}`, 404, offers.BadMessage, `no master is called "m9"; there are: m1, m2`)
	s.wantError("POST", "/v1/masters/m9/remove", "", 404, offers.BadMessage, `no master is called "m9"; there are: m1, m2`)
	s.wantError("POST", "/v1/leader/transfer", `{"too": "m2"}`, 400, offers.BadMessage, `"too" is unknown`)
	if len(s.moved) != 0 {
		t.Errorf("bad orders moved %v", s.moved)
	}
	s.refused = offers.Errorf(offers.BadMessage, "m1 leads: transfer the leadership to another master first")
	s.wantError("POST", "/v1/masters/m1/remove", "", 409, offers.BadMessage, "m1 leads")
	s.verify, s.leader.ID, s.leader.HTTP = errNotLeader(), "m2@2", "127.0.0.2:5050"
	for _, path := range []string{"POST /v1/leader/transfer", "POST /v1/masters/m2/remove", "GET /v1/snapshot", "POST /v1/snapshot"} {
		method, path, _ := strings.Cut(path, " ")
		if status, header, _ := s.ask(method, path, ""); status != http.StatusTemporaryRedirect || header.Get("Location") != "http://127.0.0.2:5050"+path {
			t.Errorf("%s on a follower: %d %v", path, status, header)
		}
	}
}

// TestOrdersOfUnknownOutcome are told from those of which nothing was done: who asks
// again does it twice.
func TestOrdersOfUnknownOutcome(t *testing.T) {
	s := newScene(t, "")
	s.refused = offers.Errorf(offers.Unavailable, "leadership was lost")
	for _, path := range []string{"/v1/masters/m2/remove", "/v1/tasks/f00001-c0de:t1/kill"} {
		s.wantError("POST", path, "", 503, offers.Undecided, "not known: leadership was lost")
		if _, header, _ := s.ask("POST", path, ""); header.Get("Retry-After") != "" {
			t.Errorf("%s is to be asked again", path)
		}
	}
	var saved strings.Builder
	if _, err := s.shown.State.WriteTo(&saved); err != nil {
		t.Fatal(err)
	}
	s.wantError("POST", "/v1/snapshot", saved.String(), 503, offers.Undecided, "not known: leadership was lost")

	// The leadership went, and nobody has it yet.
	s.refused, s.leader = nil, replica.Member{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	err := s.transferLeader(w, httptest.NewRequestWithContext(ctx, "POST", "/v1/leader/transfer", nil))
	if len(s.moved) == 0 || !errors.Is(err, &offers.Error{Code: offers.Undecided}) {
		t.Errorf("moved %v, %v", s.moved, err)
	}
}

func TestOperatorsOrdersNeedTheToken(t *testing.T) {
	s := newScene(t, "sesame")
	for _, path := range []string{"POST /v1/leader/transfer", "POST /v1/masters/m2/remove", "GET /v1/snapshot", "POST /v1/snapshot"} {
		method, path, _ := strings.Cut(path, " ")
		s.wantError(method, path, "", 401, offers.Unauthenticated, "operate")
	}
	if len(s.moved) != 0 || s.restored != nil {
		t.Error("orders without a token were taken")
	}
}

// The loop's own part: what was decided before the restore is over, and a
// task that the snapshot knows and its agent does not is not started again.
func TestRestoredStateIsTakenUp(t *testing.T) {
	m := runMaster(t, masterConfig(t, "m1"))
	<-m.Ready()
	before := m.replica.State()
	if _, err := m.loop.command(t.Context(), state.Command{SetRole: &state.SetRole{Role: "late", Settings: &offers.RoleSettings{Weight: 2}}}); err != nil {
		t.Fatal(err)
	}
	term := m.replica.Term()
	if err := m.loop.restore(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	p, err := m.loop.picture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, known := p.State.Role("late"); known || p.Term <= term || p.Term != m.replica.Term() {
		t.Errorf("role late %v, term %d after %d", known, p.Term, term)
	}
	if _, err := m.replica.Apply(term, []state.Command{{RegisterFramework: &state.RegisterFramework{Name: "f", Role: "r", Time: time.Now()}}}).Wait(); err == nil {
		t.Error("what was based on the state before still counts")
	}
	if _, err := m.loop.command(t.Context(), state.Command{SetRole: &state.SetRole{Role: "later", Settings: &offers.RoleSettings{Weight: 2}}}); err != nil {
		t.Error(err)
	}
}

func TestTasksAfterARestore(t *testing.T) {
	s := newStage(t)
	agent, aid := s.agent("a1")
	f, id := s.framework("")
	launched(s, agent, f, "runs")
	launched(s, agent, f, "ended")
	before := s.replica.State()
	launched(s, agent, f, "later")
	if err := s.restore(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*peer{agent, f} {
		for err := error(nil); err == nil; { // until the end of the connection shows
			_, err = p.link.Receive()
		}
	}
	ref := func(task offers.TaskID) offers.TaskRef { return offers.TaskRef{Framework: id, Task: task} }
	agent = s.connect(s.serveAgent, wire.ToAgent)
	agent.send(&wire.RegisterAgent{Agent: offers.Agent{ID: aid, Name: "a1", Host: "h", Total: offers.Inventory{Amounts: offers.Amounts{4000, 4 << 30}}}, Tasks: []wire.AgentTask{
		{TaskRef: ref("runs"), State: offers.Running}, {TaskRef: ref("later"), State: offers.Running},
	}}, "")
	if got := expect[*wire.AgentRegistered](agent); got.AgentID != aid || !reflect.DeepEqual(got.Forget, []offers.TaskRef{ref("later")}) {
		t.Fatalf("the agent is told %+v", got)
	}
	f, again := s.framework(id)
	if got := expect[*wire.Update](f).Status; again != id || got.Task != "ended" || got.State != offers.Gone || got.Reason != offers.ReasonRestored {
		t.Fatalf("framework %s hears %+v", again, got)
	}
	f.send(&wire.Reconcile{TaskIDs: []offers.TaskID{"runs", "later"}}, "")
	if got := expect[*wire.Update](f).Status; got.Task != "runs" || got.State != offers.Running {
		t.Errorf("reconcile says %+v", got)
	}
	if got := expect[*wire.Update](f).Status; got.Task != "later" || got.State != offers.Dropped || got.Reason != offers.ReasonUnknownTask {
		t.Errorf("reconcile says %+v", got)
	}
	launched(s, agent, f, "new")
}

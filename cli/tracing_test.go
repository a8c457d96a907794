package cli_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// heardSpan is a span as a collector got it.
type heardSpan struct {
	service, name, trace, id, parent string
	start, end                       time.Time
	failed                           string
	about                            map[string]string
}

// ear is a collector of traces.
type ear struct {
	*httptest.Server
	mu     sync.Mutex
	news   chan struct{} // closed when something came
	spans  []heardSpan
	errors []string
}

func newEar(t *testing.T) *ear {
	e := &ear{news: make(chan struct{})}
	e.Server = httptest.NewServer(http.HandlerFunc(e.hear))
	t.Cleanup(e.Close)
	return e
}

func (e *ear) hear(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var export collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &export)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.news)
	e.news = make(chan struct{})
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("X-Key") != "sesame" {
		e.errors = append(e.errors, fmt.Sprint(r.URL.Path, r.Header, err))
		return
	}
	for _, of := range export.GetResourceSpans() {
		service := ""
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				h := heardSpan{
					service: service, name: s.GetName(), trace: hex.EncodeToString(s.GetTraceId()), id: hex.EncodeToString(s.GetSpanId()), parent: hex.EncodeToString(s.GetParentSpanId()),
					start: time.Unix(0, int64(s.GetStartTimeUnixNano())), end: time.Unix(0, int64(s.GetEndTimeUnixNano())),
					failed: s.GetStatus().GetMessage(), about: map[string]string{},
				}
				for _, a := range s.GetAttributes() {
					h.about[a.GetKey()] = a.GetValue().GetStringValue()
				}
				e.spans = append(e.spans, h)
			}
		}
	}
}

// way waits for so many spans that are of one task, or say so of their trace,
// and returns them in the order of their beginnings.
func (e *ear) way(t *testing.T, task string, n int) []heardSpan {
	t.Helper()
	var found []heardSpan
	for late, over := time.After(patience), false; !over; {
		e.mu.Lock()
		found = slices.DeleteFunc(slices.Clone(e.spans), func(s heardSpan) bool { return !strings.HasPrefix(s.about["ringmaster.task.id"], task) })
		complaints, news := e.errors, e.news
		e.mu.Unlock()
		if len(complaints) > 0 {
			t.Fatalf("the collector could not take %v", complaints)
		}
		if len(found) >= n {
			break
		}
		select {
		case <-news:
		case <-late:
			over = true
		}
	}
	slices.SortStableFunc(found, func(a, b heardSpan) int { return a.start.Compare(b.start) })
	return found
}

// check wants those spans, all of one trace and below its first but for that,
// each after what comes before it.
func checkWay(t *testing.T, spans []heardSpan, want ...string) {
	t.Helper()
	var got []string
	for _, s := range spans {
		got = append(got, s.service+" "+s.name)
	}
	slices.Sort(got)
	sorted := slices.Sorted(slices.Values(want))
	if !slices.Equal(got, sorted) {
		t.Fatalf("the spans are %v, want %v", got, sorted)
	}
	find := func(name string) heardSpan {
		return spans[slices.IndexFunc(spans, func(s heardSpan) bool { return s.service+" "+s.name == name })]
	}
	first := find(want[0])
	before := first.start
	for _, name := range want {
		s := find(name)
		if s.trace != first.trace || name != want[0] && s.parent != first.id {
			t.Errorf("%s is of the trace %s below %s, want %s below %s", name, s.trace, s.parent, first.trace, first.id)
		}
		if s.end.Before(s.start) || s.start.Before(before) {
			t.Errorf("%s goes from %v to %v; what is before it begins at %v", name, s.start, s.end, before)
		}
		before = s.start
	}
}

// TestTracesOfTasks follows the ways of real tasks through real processes to
// a collector: of an instance of a job, of a task whose framework traces
// nothing, of one that is part of a trace from outside, and of one that fails.
func TestTracesOfTasks(t *testing.T) {
	e := newEar(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", e.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=sesame")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	c := newCluster(t, 1, 1)
	masters := strings.Join(c.http, ",")
	launch(t, c.dir, "jobs", "jobs", "--masters", masters, "--otlp-endpoint", e.URL).await(t)
	ringmaster := func(env []string, args ...string) string {
		t.Helper()
		cmd := exec.Command("ringmaster", append(args[:1:1], append([]string{"--masters", masters}, args[1:]...)...)...)
		if args[0] == "job" {
			cmd = exec.Command("ringmaster", append(args[:2:2], append([]string{"--masters", masters}, args[2:]...)...)...)
		}
		cmd.Env = append(os.Environ(), env...)
		out, _ := cmd.Output() // one of them fails on purpose
		return strings.TrimSpace(string(out))
	}
	file := filepath.Join(c.dir, "one.yaml")
	if err := os.WriteFile(file, []byte("name: one\ncommand: [sleep, '0.3']\nresources: {cpus: 0.1, mem: 16MiB}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ringmaster(nil, "job", "run", file)
	job := e.way(t, "one.", 7)
	checkWay(t, job, "ringmaster-jobs instance", "ringmaster-master demand", "ringmaster-master offer", "ringmaster-master accept",
		"ringmaster-agent launch", "ringmaster-agent run", "ringmaster-master end")
	for _, s := range job {
		// That it runs is noted a moment after it began.
		if took := s.end.Sub(s.start); s.name == "run" && (took < 150*time.Millisecond || took > patience) {
			t.Errorf("it slept for 0.3 s and ran for %v", took)
		}
		if s.name == "instance" && (s.about["ringmaster.job"] != "one" || s.end.Before(job[len(job)-1].start) || s.parent != "") {
			t.Errorf("the instance is %+v", s)
		}
	}

	saw := ringmaster(nil, "run", "--name", "bare", "--", "sh", "-c", "echo $TRACEPARENT")
	bare := e.way(t, "bare-", 7)
	checkWay(t, bare, "ringmaster-master task", "ringmaster-master demand", "ringmaster-master offer", "ringmaster-master accept",
		"ringmaster-agent launch", "ringmaster-agent run", "ringmaster-master end")
	if want := "00-" + bare[0].trace; !strings.HasPrefix(saw, want) || len(saw) != 55 {
		t.Errorf("the task saw the parent %q, want %s...", saw, want)
	}

	const outside = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if saw := ringmaster([]string{"TRACEPARENT=" + outside}, "run", "--name", "part", "--", "sh", "-c", "echo $TRACEPARENT; exit 3"); saw != outside {
		t.Errorf("the task saw the parent %q, want %s", saw, outside)
	}
	part := e.way(t, "part-", 6)
	if len(part) != 6 {
		t.Fatalf("the spans are %+v", part)
	}
	for _, s := range part {
		if s.trace != outside[3:35] || s.parent != outside[36:52] {
			t.Errorf("%s is of the trace %s below %s", s.name, s.trace, s.parent)
		}
		failed := s.name == "run" || s.name == "end"
		if (s.failed != "") != failed || failed && s.failed != "exit code 3" {
			t.Errorf("%s failed with %q", s.name, s.failed)
		}
	}

	ringmaster([]string{"TRACEPARENT=" + outside[:53] + "00"}, "run", "--name", "silent", "--", "true")
	ringmaster(nil, "run", "--name", "last", "--", "true")
	if last := e.way(t, "last-", 7); len(last) != 7 {
		t.Errorf("the last one's spans are %+v", last)
	}
	if silent := e.way(t, "silent-", 0); len(silent) != 0 {
		t.Errorf("what was not to be sampled has the spans %+v", silent)
	}
}

package master

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

func TestBadRequestsAreToldWhy(t *testing.T) {
	s := newScene(t, "")
	for _, row := range []struct {
		method, path, body string
		status             int
		code               offers.Code
		says               string
	}{
		{"GET", "/v1/nothing", "", 404, offers.BadMessage, "/v1/nothing"},
		{"DELETE", "/v1/agents", "", 405, offers.BadMessage, "takes GET"},
		{"GET", "/v1/agents/zz", "", 404, offers.UnknownAgent, `"zz"`},
		{"GET", "/v1/agents/a0000", "", 409, offers.BadMessage, "beginning of 2 ids"},
		{"GET", "/v1/frameworks/zz", "", 404, offers.UnknownFramework, `"zz"`},
		{"GET", "/v1/tasks/zz", "", 404, offers.UnknownTask, `"zz"`},
		{"GET", "/v1/tasks/t1", "", 409, offers.BadMessage, "f00001-c0de:t1, f00002-c0de:t1"},
		{"GET", "/v1/tasks?state=sleeping", "", 400, offers.BadMessage, `state is "sleeping"; a task is staging, starting, running, killing, unreachable, finished, failed, killed, rejected, dropped or gone`},
		{"GET", "/v1/agents?state=sleeping", "", 400, offers.BadMessage, `state is "sleeping"; an agent is active, draining, drained, unreachable or gone`},
		{"GET", "/v1/frameworks?state=sleeping", "", 400, offers.BadMessage, "sleeping"},
		{"GET", "/v1/tasks?limit=0", "", 400, offers.BadMessage, "limit"},
		{"GET", "/v1/tasks?next=GARBAGE", "", 400, offers.BadMessage, `next is "GARBAGE": that is not what a page of tasks gave`},
		{"GET", "/v1/tasks?next=tasks.", "", 400, offers.BadMessage, "next"},
		{"GET", "/v1/agents?next=tasks.f00001-c0de:t1", "", 400, offers.BadMessage, "next"},
		{"GET", "/v1/frameworks?next=zz", "", 400, offers.BadMessage, "next"},
		{"GET", "/v1/offers?next=zz", "", 400, offers.BadMessage, "next"},
		{"GET", "/v1/roles?next=zz", "", 400, offers.BadMessage, "next"},
		{"GET", "/v1/explain?next=zz", "", 400, offers.BadMessage, "next"},
		{"GET", "/v1/rings?resource=zz", "", 404, offers.BadMessage, `there are no rings of "zz"; there are cpus, mem`},
		{"GET", "/v1/tasks?role=a%20b", "", 400, offers.BadMessage, "role \""},
		{"GET", "/v1/frameworks?role=a%20b", "", 400, offers.BadMessage, "role \""},
		{"GET", "/v1/offers?role=a//b", "", 400, offers.BadMessage, "role \""},
		{"GET", "/v1/roles?role=..", "", 400, offers.BadMessage, "role \""},
		{"GET", "/v1/tasks?state=running&state=failed", "", 400, offers.BadMessage, "state is given 2 times; it has one value"},
		{"GET", "/v1/events?task=t1&task=t2", "", 400, offers.BadMessage, "task is given 2 times"},
		{"GET", "/v1/tasks?limit=many", "", 400, offers.BadMessage, "limit"},
		{"GET", "/v1/tasks?stale=maybe", "", 400, offers.BadMessage, "stale"},
		{"GET", "/v1/tasks/f00001:t1/logs?stream=out", "", 400, offers.BadMessage, "stream"},
		{"GET", "/v1/tasks/f00001:t1/logs?offset=-1", "", 400, offers.BadMessage, "offset"},
		{"GET", "/v1/tasks/f00001:t1/logs?follow=si", "", 400, offers.BadMessage, "follow"},
		{"GET", "/v1/events?typ=task", "", 400, offers.BadMessage, `"typ" is unknown; there are stale, after, follow`},
		{"GET", "/v1/tasks?stat=running", "", 400, offers.BadMessage, `"stat" is unknown; there are stale, limit, next, framework`},
		{"POST", "/v1/agents/a00001-c0de/drain?deadline=5s", "", 400, offers.BadMessage, `"deadline" is unknown; POST /v1/agents/{id}/drain takes none`},
		{"GET", "/v1/events?type=tasks", "", 400, offers.BadMessage, `type "tasks" is none of an event's: task, agent`},
		{"GET", "/v1/events?framework=zz", "", 404, offers.UnknownFramework, `"zz"`},
		{"GET", "/v1/events?agent=zz", "", 404, offers.UnknownAgent, `"zz"`},
		{"GET", "/v1/events?agent=a0000", "", 409, offers.BadMessage, "beginning of 2 ids"},
		{"GET", "/v1/events?task=zz", "", 404, offers.UnknownTask, `"zz"`},
		{"GET", "/v1/events?task=f00001:t1&framework=web", "", 400, offers.BadMessage, "is not of framework f00002-c0de"},
		{"GET", "/v1/events?role=zz", "", 404, offers.BadMessage, `no role "zz"`},
		{"GET", "/ui/nothing.js", "", 404, offers.BadMessage, "/ui/nothing.js"},
		{"GET", "/v1/events?status=maybe", "", 400, offers.BadMessage, "status"},
		{"GET", "/v1/events?after=1", "", 400, offers.BadMessage, "no id of an event"},
		{"GET", "/v1/events?follow=maybe", "", 400, offers.BadMessage, "follow"},
		{"GET", "/v1/events?stale=maybe", "", 400, offers.BadMessage, "stale"},
		{"GET", "/v1/explain?demand=d1", "", 400, offers.BadMessage, "framework is missing"},
		{"GET", "/v1/explain?framework=zz", "", 404, offers.UnknownFramework, `"zz"`},
		{"GET", "/v1/explain?framework=batch&demand=d1", "", 404, offers.BadDemand, `f00001-c0de has no demand "d1"`},
		{"GET", "/v1/explain?framework=batch&demand=d1&wish={}", "", 400, offers.BadMessage, "can't stand together"},
		{"GET", "/v1/explain?framework=batch&role=eng&wish={}", "", 400, offers.BadMessage, "can't stand together"},
		{"GET", "/v1/explain?wish=%7B%22id%22:%22d%22,%22count%22:-1%7D", "", 400, offers.BadDemand, "count is -1"},
		{"GET", "/v1/explain?wish=%7B%22id%22:%22d%22,%22count%22:0%7D", "", 400, offers.BadDemand, "count is 0"},
		{"GET", "/v1/explain?wish=1", "", 400, offers.BadDemand, "a JSON object is needed"},
		{"GET", "/v1/explain?role=a%20b", "", 400, offers.BadMessage, `role "a b": each part is 1 to 64`},
		{"GET", "/v1/explain?looked=1001", "", 400, offers.BadMessage, "looked is"},
		{"GET", "/v1/explain?limit=0", "", 400, offers.BadMessage, "limit"},
		{"GET", "/v1/explain?wish=%7B%22id%22:%22d%22%7D&limit=0", "", 400, offers.BadMessage, "limit"},
		{"PUT", "/v1/roles/eng", `{"wait": 2}`, 400, offers.BadMessage, `"wait" is unknown`},
		{"PUT", "/v1/roles/eng", `{"quota": {"limit": {"cpus": 1, "cpus": 2}}}`, 400, offers.BadMessage, `the key "cpus" is there twice`},
		{"PUT", "/v1/roles/eng", `{"weight": "2"}`, 400, offers.BadMessage, "weight"},
		{"PUT", "/v1/roles/eng", `{"weight": 0}`, 400, offers.BadMessage, "weight is 0"},
		{"PUT", "/v1/roles/eng", `{"weight": 2`, 400, offers.BadMessage, "not a JSON object"},
		{"PUT", "/v1/roles/eng", ``, 400, offers.BadMessage, "the body is missing: it replaces all that was said of eng, and {} does so with nothing"},
		{"PUT", "/v1/roles/eng", ` null `, 400, offers.BadMessage, "not a JSON object"},
		{"POST", "/v1/agents/a00001/drain", `null`, 400, offers.BadMessage, "not a JSON object"},
		{"PUT", "/v1/roles/eng", `[]`, 400, offers.BadMessage, "not a JSON object"},
		{"PUT", "/v1/roles/eng", `{} {}`, 400, offers.BadMessage, "more than one"},
		{"PUT", "/v1/roles/eng", `{"quota": {"limit": {"cpus": -1}}}`, 400, offers.BadResources, "quota.limit.cpus"},
		{"PUT", "/v1/roles/eng", `{"quota": {"limit": {"cpus": 0.0001}}}`, 400, offers.BadResources, "quota.limit.cpus"},
		{"PUT", "/v1/roles/eng", `{"quota": {"limit": {"mem": null}}}`, 400, offers.BadResources, "quota.limit.mem"},
		{"PUT", "/v1/roles/eng", `{"quota": {"limit": {"ports": 3}}}`, 400, offers.BadResources, "ports"},
		{"PUT", "/v1/roles/eng", `{"quota": {"limit": {"cpus": 1}, "guarantee": {"cpus": 2}}}`, 400, offers.BadMessage, "guarantee.cpus"},
		{"PUT", "/v1/roles/eng", `{"quota": {"limit": {"gpu": 2}}}`, 400, offers.BadResources, "quota.limit.gpu: 2 would be 2 bytes"},
		{"PUT", "/v1/roles/eng", `{"quota": {"limit": {"gpu.slice": "2GiB"}}}`, 400, offers.BadResources, "gpu.slice"},
		{"PUT", "/v1/roles/eng//ml", `{}`, 400, offers.BadMessage, "empty part"},
		{"PUT", "/v1/roles/eng/../ops", `{}`, 400, offers.BadMessage, "empty part"},
		{"POST", "/v1/tasks/../tasks/t1/kill", `{}`, 400, offers.BadMessage, "empty part"},
		{"PUT", "/v1/roles/a%20b", `{}`, 400, offers.BadMessage, "role"},
		{"PUT", "/v1/roles/eng", strings.Repeat(" ", maxBody+1), 413, offers.TooLarge, "larger than"},
		{"POST", "/v1/tasks/f00001:t1/kill", `{"grace": "soon"}`, 400, offers.BadMessage, "soon"},
		{"POST", "/v1/agents/a00001/remove", `{"now": true}`, 400, offers.BadMessage, "now"},
		{"GET", "/v1/framework", "", 426, offers.BadMessage, "ringmaster.v1"},
	} {
		s.wantError(row.method, row.path, row.body, row.status, row.code, row.says)
	}
	if len(s.orders) != 0 {
		t.Errorf("bad requests committed %v", s.orders)
	}
}

func TestOperatorsOrdersAreCommitted(t *testing.T) {
	grace := offers.Duration(30e9)
	deadline := offers.Duration(600e9)
	t1 := offers.TaskRef{Framework: "f00001-c0de", Task: "t1"}
	for _, row := range []struct {
		method, path, body string
		want               []state.Command
		answer             string
	}{
		{"PUT", "/v1/roles/eng/ml", `{"weight": 2.5, "quota": {"limit": {"cpus": 1.5, "mem": "1GiB", "gpu": "96GiB"}, "guarantee": {"cpus": "1"}}}`,
			[]state.Command{{SetRole: &state.SetRole{Role: "eng/ml", Settings: &offers.RoleSettings{Weight: 2.5, Quota: offers.Quota{
				Limit: offers.QuotaAmounts{"cpus": 1500, "mem": gib, "gpu": 96 * gib}, Guarantee: offers.QuotaAmounts{"cpus": 1000}}}}}},
			`"quota":{"limit":{"cpus":1.5,"gpu":103079215104,"mem":1073741824},"guarantee":{"cpus":1}}`},
		{"PUT", "/v1/roles/eng", `{}`, []state.Command{{SetRole: &state.SetRole{Role: "eng"}}}, `"frameworks":1`},
		{"PUT", "/v1/roles/eng", `{"weight": 1, "quota": {"limit": {}}}`, []state.Command{{SetRole: &state.SetRole{Role: "eng"}}}, `"weight":1`},
		{"PUT", "/v1/roles/eng", `{"placement": "waste"}`, []state.Command{{SetRole: &state.SetRole{Role: "eng", Settings: &offers.RoleSettings{Weight: 1, Placement: offers.Waste}}}}, `"placement":"waste"`},
		{"POST", "/v1/tasks/f00001:t1/kill", `{"grace": "30s"}`,
			[]state.Command{{KillTask: &state.KillTask{Ref: t1, Order: state.KillOrder{Grace: &grace, Reason: "operator"}}}}, `"task_id":"t1"`},
		{"POST", "/v1/tasks/f00001-c0de:t1/kill", ``, []state.Command{{KillTask: &state.KillTask{Ref: t1, Order: state.KillOrder{Reason: "operator"}}}}, `"f00001-c0de"`},
		{"POST", "/v1/agents/a00001/drain", `{"deadline": "10m"}`, []state.Command{
			{KillTask: &state.KillTask{Ref: t1, Order: state.KillOrder{Grace: &deadline, Reason: "drain"}}},
			{SetAgentState: &state.SetAgentState{ID: "a00001-c0de", State: offers.AgentDraining}}}, `"draining"`},
		{"POST", "/v1/agents/a00002/drain", ``, []state.Command{
			{KillTask: &state.KillTask{Ref: offers.TaskRef{Framework: "f00002-c0de", Task: "t1"}, Order: state.KillOrder{Reason: "drain"}}},
			{SetAgentState: &state.SetAgentState{ID: "a00002-c0de", State: offers.AgentDraining}}}, `"unreachable"`},
		{"POST", "/v1/agents/a00002/undrain", ``, []state.Command{{SetAgentState: &state.SetAgentState{ID: "a00002-c0de", State: offers.AgentActive}}}, `"unreachable"`},
		{"POST", "/v1/agents/a00002/remove", ``, []state.Command{{SetAgentState: &state.SetAgentState{ID: "a00002-c0de", State: offers.AgentGone}}}, `"gone"`},
		{"POST", "/v1/frameworks/f00001/teardown", `{}`, []state.Command{{RemoveFramework: &state.RemoveFramework{ID: "f00001-c0de"}}}, `"id":"f00001-c0de"`},
	} {
		s := newScene(t, "")
		status, _, text := s.ask(row.method, row.path, row.body)
		if status != 200 || !strings.Contains(text, row.answer) {
			t.Errorf("%s: %d %s; want %s", row.path, status, text, row.answer)
		}
		if got := timeless(t, s.orders); got != timeless(t, row.want) {
			t.Errorf("%s committed\n%s; want\n%s", row.path, got, timeless(t, row.want))
		}
	}
}

// A role that nothing is said of any more is listed while frameworks are in it,
// and not longer.
func TestRoleOfWhichNothingIsSaid(t *testing.T) {
	s := newScene(t, "")
	for _, step := range []struct {
		body   string
		listed bool
	}{{`{"weight": 2}`, true}, {`{}`, false}, {`{"quota": {"guarantee": {"cpus": 1}}}`, true}, {`{"weight": 1}`, false}} {
		if status, _, text := s.ask("PUT", "/v1/roles/new", step.body); status != 200 || !strings.Contains(text, `"name":"new"`) {
			t.Fatalf("%s: %d %s", step.body, status, text)
		}
		_, _, text := s.ask("GET", "/v1/roles", "")
		if strings.Contains(text, `"name":"new"`) != step.listed || !strings.Contains(text, `"name":"eng"`) {
			t.Errorf("after %s the roles are %s", step.body, text)
		}
	}
}

// Without agents there are no rings; a copy that holds none says nothing of what
// there is.
func TestRingsOfOneKind(t *testing.T) {
	s := newScene(t, "")
	if status, _, text := s.ask("GET", "/v1/rings?resource=mem", ""); status != 200 || !strings.Contains(text, `"name":"mem"`) || strings.Contains(text, `"name":"cpus"`) {
		t.Errorf("of mem: %d %s", status, text)
	}
	if status, _, text := s.ask("GET", "/v1/rings?resource=mem&stale=true", ""); status != 200 || !strings.Contains(text, `{"resources":[]`) {
		t.Errorf("of a copy: %d %s", status, text)
	}
	s.shown.Match.Rings = nil
	s.wantError("GET", "/v1/rings?resource=mem", "", 404, offers.BadMessage, `there are no rings of "mem": no agent is here`)
	if status, _, text := s.ask("GET", "/v1/rings", ""); status != 200 || !strings.Contains(text, `{"resources":[]`) {
		t.Errorf("of all: %d %s", status, text)
	}
}

// TestNamesLead: an agent and a framework are asked for by name as well, before
// beginnings of ids; what is gone or removed leaves its name to others.
func TestNamesLead(t *testing.T) {
	s := newScene(t, "")
	commit := func(c state.Command) any {
		t.Helper()
		next, results := s.shown.State.Apply([]state.Command{c})
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		s.shown.State = next
		return results[0].Value
	}
	agent := func(name string) offers.AgentID {
		return commit(state.Command{RegisterAgent: &state.RegisterAgent{Time: dawn, Agent: offers.Agent{Name: name, Host: name}}}).(*state.Agent).ID
	}
	framework := func(name string) offers.FrameworkID {
		return commit(state.Command{RegisterFramework: &state.RegisterFramework{Name: name, Role: "ops", FailoverTimeout: time.Minute, Time: dawn}}).(*state.Framework).ID
	}
	again := agent("again")
	commit(state.Command{SetAgentState: &state.SetAgentState{ID: again, State: offers.AgentGone, Time: dawn}})
	again, short := agent("again"), agent("a0000")
	removed := framework("job")
	commit(state.Command{RemoveFramework: &state.RemoveFramework{ID: removed, Time: dawn}})
	job := framework("job")
	lost := agent("lost")
	commit(state.Command{SetAgentState: &state.SetAgentState{ID: lost, State: offers.AgentGone, Time: dawn}})
	for path, want := range map[string]string{
		"/v1/agents/a1": "a00001-c0de", "/v1/agents/a00001": "a00001-c0de", "/v1/agents/again": string(again), "/v1/agents/a0000": string(short), "/v1/agents/lost": string(lost),
		"/v1/frameworks/web": "f00002-c0de", "/v1/frameworks/job": string(job), "/v1/frameworks/" + string(removed): string(removed),
	} {
		if status, _, text := s.ask("GET", path, ""); status != 200 || !strings.Contains(text, `{"id":"`+want+`"`) {
			t.Errorf("%s: %d %s; want %s", path, status, text, want)
		}
	}
	if status, _, text := s.ask("POST", "/v1/agents/again/drain", ""); status != 200 || !strings.Contains(text, string(again)) {
		t.Errorf("drained by name: %d %s", status, text)
	}
	other := framework("job")
	for _, path := range []string{"/v1/frameworks/job", "/v1/explain?framework=job"} {
		s.wantError("GET", path, "", 409, offers.BadMessage, fmt.Sprintf(`"job" is the name of 2 frameworks (%s, %s): give the id of one`, job, other))
	}
}

// TestTasksOfNamedFrameworks: the framework of a task is named as frameworks are
// elsewhere, and who it is must be plain only as far as more than one has the task.
func TestTasksOfNamedFrameworks(t *testing.T) {
	s := newScene(t, "")
	commit := func(c state.Command) any {
		t.Helper()
		next, results := s.shown.State.Apply([]state.Command{c})
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		s.shown.State = next
		return results[0].Value
	}
	framework := func(name string, tasks ...offers.TaskID) offers.FrameworkID {
		id := commit(state.Command{RegisterFramework: &state.RegisterFramework{Name: name, Role: "ops", FailoverTimeout: time.Minute, Time: dawn}}).(*state.Framework).ID
		for _, task := range tasks {
			commit(state.Command{Launch: &state.Launch{Task: state.TaskRecord{Framework: id, Agent: "a00001-c0de", Role: "ops", Created: dawn,
				Spec: offers.Task{ID: task, Command: &offers.Command{Shell: "true"}}}}})
		}
		return id
	}
	removed := framework("job", "old-1", "both")
	commit(state.Command{RemoveFramework: &state.RemoveFramework{ID: removed, Time: dawn}})
	job := framework("job", "both", "new-1")
	colon := framework("a:b c/d", "t1")
	short := framework("f0000", "t1", "t9")
	for path, want := range map[string]string{
		"batch:t2": "f00001-c0de:t2", "batch:t1": "f00001-c0de:t1", "web:t": "f00002-c0de:t1",
		"job:both": string(job) + ":both", "job:new": string(job) + ":new-1", "job:old": string(removed) + ":old-1",
		"a:b%20c%2Fd:t1": string(colon) + ":t1",
		"f0000:t1":       string(short) + ":t1", "f0000:t2": "f00001-c0de:t2", "f0000:t9": string(short) + ":t9",
	} {
		status, _, text := s.ask("GET", "/v1/tasks/"+path, "")
		var got shown.Task
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || string(got.Framework)+":"+string(got.ID) != want {
			t.Errorf("%s: %d %s; want %s", path, status, text, want)
		}
	}
	if status, _, text := s.ask("POST", "/v1/tasks/web:t1/kill", ""); status != 200 || !strings.Contains(text, `"f00002-c0de"`) {
		t.Errorf("killed by the framework's name: %d %s", status, text)
	}
	other := framework("job", "both", "mine")
	s.wantError("GET", "/v1/tasks/job:both", "", 409, offers.BadMessage, fmt.Sprintf(`"job:both" is 2 tasks (%s:both, %s:both): give more of the id, or the framework's`, job, other))
	s.wantError("GET", "/v1/tasks/batch:t", "", 409, offers.BadMessage, `"batch:t" is 2 tasks (f00001-c0de:t1, f00001-c0de:t2): give more of the id, or the framework's`)
	s.wantError("GET", "/v1/tasks/job:nosuch", "", 404, offers.UnknownTask, `"job:nosuch"`)
	s.wantError("GET", "/v1/tasks/nosuch:t1", "", 404, offers.UnknownTask, `"nosuch:t1"`)
	if status, _, text := s.ask("GET", "/v1/tasks/job:mine", ""); status != 200 || !strings.Contains(text, string(other)) {
		t.Errorf("the task of one of two frameworks of a name: %d %s", status, text)
	}
}

// timeless writes commands without the time they were given at.
func timeless(t *testing.T, commands []state.Command) string {
	t.Helper()
	text, err := json.Marshal(commands)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "Time")
			for _, each := range v {
				strip(each)
			}
		case []any:
			for _, each := range v {
				strip(each)
			}
		}
	}
	strip(v)
	return fmt.Sprint(v)
}

func TestFiltersAndPages(t *testing.T) {
	s := newScene(t, "")
	ids := func(path, list string) (out []string, next string) {
		t.Helper()
		_, _, text := s.ask("GET", path, "")
		var answer map[string]json.RawMessage
		var items []struct{ ID, Name string }
		if json.Unmarshal([]byte(text), &answer) != nil || json.Unmarshal(answer[list], &items) != nil {
			t.Fatalf("%s: %s", path, text)
		}
		_ = json.Unmarshal(answer["next"], &next)
		for _, it := range items {
			out = append(out, it.Name+it.ID)
		}
		return out, next
	}
	for path, want := range map[string][]string{
		"tasks?framework=batch":                 {"n-t1t1", "n-t2t2"},
		"tasks?framework=f00002-c0de":           {"n-t1t1"},
		"tasks?agent=a1&state=running":          {"n-t1t1"},
		"tasks?role=ops":                        {"n-t1t1"},
		"tasks?state=killed":                    nil,
		"tasks?framework=nobody":                nil,
		"agents?state=unreachable":              {"a2a00002-c0de"},
		"frameworks?role=eng/ml":                {"batchf00001-c0de"},
		"frameworks?state=disconnected":         {"webf00002-c0de"},
		"frameworks?state=removed":              nil,
		"offers?framework=batch":                {"o9-7", "o10-7"},
		"offers?agent=a2":                       nil,
		"agents?limit=1&next=agents.a00001-c0d": {"a1a00001-c0de"},
	} {
		list, _, _ := strings.Cut(path, "?")
		if got, _ := ids("/v1/"+path, list); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v; want %v", path, got, want)
		}
	}
	for list, want := range map[string]int{"tasks": 3, "agents": 2, "offers": 2, "frameworks": 2, "roles": 1} {
		n, next := 0, ""
		for {
			got, more := ids("/v1/"+list+"?limit=1&next="+next, list)
			if n += len(got); more == "" {
				break
			}
			if next = more; len(got) != 1 {
				t.Fatalf("%s: a page of %d", list, len(got))
			}
		}
		if n != want {
			t.Errorf("%s: %d in pages of one; want %d", list, n, want)
		}
	}
}

func TestOnlyTheLeaderAnswers(t *testing.T) {
	s := newScene(t, "")
	s.verify = offers.Errorf(offers.NotLeader, "this master does not lead")
	s.leader = replica.Member{ID: "m2@2", Name: "m2", HTTP: "10.0.0.2:5050"}
	for _, row := range []struct{ method, path, body string }{
		{"GET", "/v1/tasks?framework=batch", ""}, {"POST", "/v1/tasks/t1/kill", ""}, {"PUT", "/v1/roles/eng", "{}"},
		{"GET", "/v1/tasks/t1/logs?follow=true", ""}, {"GET", "/v1/framework", ""}, {"GET", "/v1/agent", ""},
	} {
		status, header, _ := s.ask(row.method, row.path, row.body)
		if want := "http://10.0.0.2:5050" + row.path; status != 307 || header.Get("Location") != want {
			t.Errorf("%s %s: %d to %s; want %s", row.method, row.path, status, header.Get("Location"), want)
		}
	}
	if status, _, _ := s.ask("GET", "/v1/tasks?stale=true", ""); status != 200 {
		t.Errorf("a stale read of a follower: %d", status)
	}
	if status, _, _ := s.ask("GET", "/readyz", ""); status != 200 {
		t.Errorf("a follower with a leader is not ready: %d", status)
	}

	s.leader = replica.Member{}
	for _, path := range []string{"/v1/tasks", "/v1/framework", "/v1/agent", "/readyz"} {
		s.wantError("GET", path, "", 503, offers.Unavailable, "no master leads")
		if _, header, _ := s.ask("GET", path, ""); header.Get("Retry-After") != "1" {
			t.Errorf("%s: Retry-After %q", path, header.Get("Retry-After"))
		}
	}
	s.leader, s.verify = self, offers.Errorf(offers.Unavailable, "leadership was lost")
	s.wantError("GET", "/v1/status", "", 503, offers.Unavailable, "lost")
	s.wantError("GET", "/readyz", "", 503, offers.Unavailable, "lost")
	if status, _, _ := s.ask("GET", "/healthz", ""); status != 200 {
		t.Errorf("without a majority health is %d", status)
	}
}

func TestDoorGuardsEveryRoute(t *testing.T) {
	s := newScene(t, "secret")
	for pattern := range s.routes {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.NewReplacer("{id}", "t1", "{name...}", "eng", "{path...}", "f", "{$}", "", "{file}", "app.js").Replace(path)
		status, header, _ := s.ask(method, path, "")
		open := path == "/healthz" || path == "/readyz" || path == "/" || path == "/ui/app.js"
		if open != (status == 200) || !open && status != 401 {
			t.Errorf("%s without a token: %d", pattern, status)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: headers %v", pattern, header)
		}
		if !open {
			if status, _, _ := s.ask(method, path, "", "Authorization", "Bearer guess"); status != 401 {
				t.Errorf("%s with a wrong token: %d", pattern, status)
			}
			for _, foreign := range [][]string{{"Origin", "https://evil.example"}, {"Host", "evil.example"}} {
				if status, _, _ := s.ask(method, path, "", append(foreign, "Authorization", "Bearer secret")...); status != 403 {
					t.Errorf("%s with a foreign %s: %d", pattern, foreign[0], status)
				}
			}
		}
	}
	if status, _, _ := s.ask("GET", "/v1/status", "", "Authorization", "Bearer secret"); status != 200 {
		t.Errorf("with the token: %d", status)
	}
}

func TestDescriptionHoldsEveryRoute(t *testing.T) {
	s := newScene(t, "")
	_, _, text := s.ask("GET", "/v1/openapi.json", "")
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for path, methods := range doc.Paths {
		for method := range methods {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	for pattern := range s.routes {
		key := strings.NewReplacer("...}", "}", "{$}", "").Replace(pattern)
		if !described[key] {
			t.Errorf("%s is not described", pattern)
		}
		delete(described, key)
	}
	for key := range described {
		t.Errorf("%s is described and not there", key)
	}
}

func TestMetricsNamePartsOfTheCluster(t *testing.T) {
	s := newScene(t, "")
	_, _, text := s.ask("GET", "/metrics", "")
	for _, line := range []string{
		"ringmaster_leader 1", "ringmaster_term 7", "ringmaster_event_readers 0", "ringmaster_event_gaps_total 0", "ringmaster_event_drops_total 0", `ringmaster_agents{state="active"} 1`, `ringmaster_agents{state="gone"} 0`,
		`ringmaster_frameworks{connected="true"} 1`, `ringmaster_frameworks{connected="false"} 1`,
		`ringmaster_tasks{state="running"} 1`, `ringmaster_tasks{state="finished"} 0`,
		`ringmaster_offers_total{outcome="accepted"} 2`, `ringmaster_decisions_total{placement="rings"} 9`,
		"ringmaster_device_mismatches_total 0", `ringmaster_pending{kind="mem"} 3`,
		`ringmaster_resource_total{kind="cpus"} 4.5`, `ringmaster_resource_used{kind="cpus"} 1.5`, `ringmaster_resource_offered{kind="cpus"} 0.5`,
		`ringmaster_resource_used{kind="gpu"} 1.073741824e+10`, "go_goroutines",
		`ringmaster_ring_agents{resource="cpus",ring="1"} 0`, `ringmaster_ring_agents{resource="cpus",ring="2"} 1`,
		`ringmaster_devices{class="gpu",well="true"} 2`, `ringmaster_devices{class="gpu",well="false"} 0`,
		"ringmaster_raft_last_index 12", "ringmaster_raft_commit_index 11", "ringmaster_raft_applied_index 10", "ringmaster_raft_leader_silence_seconds 0.25",
		`ringmaster_sessions{kind="agent"} 0`, `ringmaster_slow_sessions_total{kind="framework"} 0`, "ringmaster_inbox 0",
		`ringmaster_turn_seconds_bucket{le="+Inf"} 0`, `ringmaster_commit_seconds_count 0`, `ringmaster_decision_seconds_count 0`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in the metrics", line)
		}
	}
}

// TestAgentOfAnotherName: an agent whose certificate is not of its address is
// there, so that the answer says what is wrong with it.
func TestAgentOfAnotherName(t *testing.T) {
	s := newScene(t, "")
	agent := httptest.NewUnstartedServer(http.NotFoundHandler())
	agent.Config.ErrorLog = log.New(io.Discard, "", 0)
	agent.StartTLS()
	defer agent.Close()
	ag := s.shown.State.Agent("a00001-c0de")
	ag.Address, ag.Secure = agent.Listener.Addr().String(), true
	status, _, text := s.ask("GET", "/v1/tasks/t2/logs", "")
	if want := "a00001-c0de at " + ag.Address + " shows a certificate that is not to be trusted (x509: "; status != 502 || !strings.Contains(text, want) {
		t.Errorf("%d %s, want %q", status, text, want)
	}
}

func TestSandboxIsPassedOnFromTheAgent(t *testing.T) {
	var seen *http.Request
	s := newScene(t, "secret")
	agent := atAgent(t, s, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Clone(r.Context())
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "hello")
	})
	for path, want := range map[string]string{
		"/v1/tasks/f00001:t1/logs":                             "/v1/sandbox/f00001-c0de/t1/logs?stream=stdout",
		"/v1/tasks/t2/logs?stream=stderr&follow=true&offset=7": "/v1/sandbox/f00001-c0de/t2/logs?follow=true&offset=7&stream=stderr",
		"/v1/tasks/t2/files":                                   "/v1/sandbox/f00001-c0de/t2/files/",
		"/v1/tasks/t2/files/out/a%20b.txt":                     "/v1/sandbox/f00001-c0de/t2/files/out/a%20b.txt",
	} {
		status, header, text := s.ask("GET", path, "", "Authorization", "Bearer secret", "Cookie", "c=d", "Range", "bytes=0-1")
		if status != 200 || text != "hello" || header.Get("Set-Cookie") != "" || header.Get("Content-Type") != "text/plain" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %q %v", path, status, text, header)
		}
		if seen.RequestURI != want || seen.Header.Get("Authorization") != "Bearer secret" || seen.Header.Get("Cookie") != "" || seen.Header.Get("Range") != "bytes=0-1" {
			t.Errorf("%s: the agent saw %s with %v; want %s", path, seen.RequestURI, seen.Header, want)
		}
	}
	// The agent would answer them with a redirect to a path of its own.
	for path, want := range map[string]int{"%2fetc/passwd": 400, "out/%2e/a": 400, "out%2f%2fa": 400, "%2e%2e/a": 403} {
		if status, _, text := s.ask("GET", "/v1/tasks/t2/files/"+path, "", "Authorization", "Bearer secret"); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, text, want)
		}
	}
	agent.Close()
	status, _, text := s.ask("GET", "/v1/tasks/t2/logs", "", "Authorization", "Bearer secret")
	if status != 502 || !strings.Contains(text, "does not answer") {
		t.Errorf("a dead agent: %d %s", status, text)
	}
	s.shown.State.Agent("a00001-c0de").Address = ""
	if status, _, text = s.ask("GET", "/v1/tasks/t2/logs", "", "Authorization", "Bearer secret"); status != 404 || !strings.Contains(text, "has said no address") {
		t.Errorf("an agent without an address: %d %s", status, text)
	}
	for _, c := range []struct {
		is     offers.AgentState
		status int
		says   string
	}{
		{offers.AgentUnreachable, 502, `"code":"agent_away","message":"agent a00001-c0de is unreachable since ` + dawn.Format(time.RFC3339)},
		{offers.AgentGone, 404, "gone with its files"},
	} {
		if _, err := s.command(t.Context(), state.Command{SetAgentState: &state.SetAgentState{ID: "a00001-c0de", State: c.is, Time: dawn}}); err != nil {
			t.Fatal(err)
		}
		status, _, text = s.ask("GET", "/v1/tasks/t2/logs", "", "Authorization", "Bearer secret")
		if status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("an agent that is %s: %d %s", c.is, status, text)
		}
	}
}

// Whatever an operator's body holds, it is refused or comes to settings that
// are in range and read back the same.
func FuzzRoleOrder(f *testing.F) {
	f.Add(`{"weight": 2.5, "quota": {"limit": {"cpus": 1.5, "mem": "1GiB"}, "guarantee": {"gpu": 7}}}`)
	f.Add(`{"quota": {"limit": {"cpus": "1e3"}}}`)
	f.Add(`{"weight": null, "quota": null}`)
	f.Fuzz(func(t *testing.T, body string) {
		read := func(body string) (offers.RoleSettings, error) {
			var order shown.RoleSettings
			r := httptest.NewRequest("PUT", "/v1/roles/x", strings.NewReader(body))
			if err := readBody(r, &order); err != nil {
				return offers.RoleSettings{}, err
			}
			return readSettings(&order)
		}
		s, err := read(body)
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(map[string]any{"weight": s.Weight, "quota": shown.Quota{Limit: showKinds(s.Quota.Limit), Guarantee: showKinds(s.Quota.Guarantee)}})
		if err != nil {
			t.Fatal(err)
		}
		if back, err := read(string(again)); err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%s became %+v, then %s and %+v, %v", body, s, again, back, err)
		}
	})
}

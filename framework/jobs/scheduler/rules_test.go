package scheduler_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
)

// file submits a job, and returns it when its run is written down.
func (tl *teller) file(text string) *scheduler.View {
	tl.tb.Helper()
	j, err := spec.Parse([]byte(text), ".")
	if err != nil {
		tl.tb.Fatal(err)
	}
	v, err := tl.sched.Submit(tl.now, *j)
	if err != nil {
		tl.tb.Fatal(err)
	}
	tl.take()
	tl.sched.Written(tl.pending)
	tl.take()
	return v
}

// TestTaskHasAllOfTheFile: what a file says of a task is in the task.
func TestTaskHasAllOfTheFile(t *testing.T) {
	tl := newTeller(t)
	tl.sched.Settled()
	tl.file(`
name: all
command: [x]
user: nobody
dir: work
container: {image: y}
resources: {cpus: 0.1, ports: [80]}
artifacts: [{uri: 'https://example.org/a'}]
health: {tcp: {}}
kill_grace: 7s
max_runtime: 1h
labels: {team: red}
`)
	tl.offer("all.1", "1", "a1")
	got, err := json.Marshal(tl.sched.Take(tl.now).Accepts[0].Tasks[0])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"all.1.0.1","name":"all","resources":{"cpus":0.1,"ports":[80]},` +
		`"command":{"argv":["x"],"env":{"RINGMASTER_ATTEMPT":"1","RINGMASTER_COUNT":"1","RINGMASTER_INDEX":"0","RINGMASTER_JOB":"all","RINGMASTER_RUN":"1"},"user":"nobody","dir":"work"},` +
		`"container":{"image":"y"},"artifacts":[{"uri":"https://example.org/a"}],"health":{"tcp":{}},"kill_grace":"7s","max_runtime":"1h0m0s","labels":{"team":"red"}}`
	if string(got) != want {
		t.Errorf("the task is\n%s\nwant\n%s", got, want)
	}
}

// TestMissedRunsAreSkipped: what was due long ago does not run now.
func TestMissedRunsAreSkipped(t *testing.T) {
	for away, want := range map[time.Duration]int{3*time.Hour + 30*time.Minute: 0, 3*time.Hour + 30*time.Second: 1} {
		tl := newTeller(t)
		tl.sched.Settled()
		tl.file("name: c\ntype: cron\ncron: {schedule: '@hourly'}\ncommand: x\n")
		tl.now = tl.now.Add(away)
		tl.sched.Tick(tl.now)
		if d, err := tl.sched.Detail("c", 0, false); err != nil || len(d.Runs) != want {
			t.Errorf("after %s: %d runs (%v), want %d", away, len(d.Runs), err, want)
		}
	}
}

// TestFailuresAreForgiven: an instance of a service that ran for a minute
// pauses as after its first failure.
func TestFailuresAreForgiven(t *testing.T) {
	tl := newTeller(t)
	tl.sched.Settled()
	tl.file("name: s\ntype: service\ncommand: x\nupdate: {max_failures: 9}\nresources: {cpus: 0.1}\n")
	for attempt, c := range []struct{ ran, pause time.Duration }{
		{time.Second, time.Second}, {time.Second, 2 * time.Second}, {time.Second, 4 * time.Second}, {time.Minute, time.Second}, {time.Second, 2 * time.Second},
	} {
		tl.offer("s.1.v1", "1", "a1")
		tl.take()
		began := tl.now
		tl.now = tl.now.Add(c.ran)
		id := offers.TaskID(fmt.Sprintf("s.1.0.%d", attempt+1))
		tl.sched.Updated(tl.now, offers.Status{Task: id, State: offers.Failed, Started: began, Time: tl.now})
		tl.take()
		if pause := tl.sched.Wake().Sub(tl.now); pause != c.pause {
			t.Errorf("after attempt %d of %s it pauses for %s, want %s", attempt+1, c.ran, pause, c.pause)
		}
		tl.wait([]string{c.pause.String()})
		tl.take()
	}
}

// TestHealthIsTold: what a check says first, and anew, is more than "running" once more.
func TestHealthIsTold(t *testing.T) {
	tl := newTeller(t)
	tl.sched.Settled()
	tl.file("name: s\ntype: service\ncommand: x\nhealth: {tcp: {port: 80}}\nresources: {cpus: 0.1}\n")
	tl.offer("s.1.v1", "1", "a1")
	tl.take()
	yes, no := true, false
	for healthy, want := range map[*bool]string{nil: "on a1", &yes: "on a1, healthy", &no: "on a1, not healthy"} {
		tl.sched.Updated(tl.now, offers.Status{Task: "s.1.0.1", State: offers.Running, Healthy: healthy, Address: "h", Started: tl.now, Time: tl.now})
		tl.take()
		d, err := tl.sched.Detail("s", 0, false)
		if err != nil || d.Events[len(d.Events)-1].Text != want {
			t.Errorf("%+v, %v; want %q last", d.Events, err, want)
		}
	}
}

// TestStoppedServiceRollsNoMore: a rollout that a stop has cut short is not
// shown as one that goes on; one that was over is.
func TestStoppedServiceRollsNoMore(t *testing.T) {
	for well, want := range map[bool]scheduler.RolloutState{false: "", true: scheduler.Rolled} {
		tl := newTeller(t)
		tl.sched.Settled()
		tl.file("name: s\ntype: service\ncommand: x\nupdate: {healthy_for: 1s}\nresources: {cpus: 0.1}\n")
		tl.offer("s.1.v1", "1", "a1")
		tl.take()
		tl.sched.Updated(tl.now, offers.Status{Task: "s.1.0.1", State: offers.Running, Started: tl.now, Time: tl.now})
		tl.take()
		if well {
			tl.wait([]string{"2s"})
			tl.take()
		}
		if _, err := tl.sched.Stop(tl.now, "s"); err != nil {
			t.Fatal(err)
		}
		tl.take()
		tl.sched.Updated(tl.now, offers.Status{Task: "s.1.0.1", State: offers.Killed, Started: tl.now, Time: tl.now})
		tl.take()
		d, err := tl.sched.Detail("s", 0, false)
		if err != nil || d.State != scheduler.Stopped || len(d.Runs) != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		for _, o := range []*scheduler.Rollout{d.Rollout, d.Runs[0].Rollout} {
			if o == nil && want != "" || o != nil && o.State != want {
				t.Errorf("well everywhere %t: the rollout is %+v, want %q", well, o, want)
			}
		}
	}
}

// TestDropsAreForgottenWhereARolloutIsGivenUp although the service has more instances
// then: the next pause is as after a first drop.
func TestDropsAreForgottenWhereARolloutIsGivenUp(t *testing.T) {
	const file = "name: s\ntype: service\ncount: %d\ncommand: %s\nupdate: {max_failures: 1, healthy_for: 1ms}\nresources: {cpus: 0.1}\n"
	tl := newTeller(t)
	tl.sched.Settled()
	state := func(run, index, attempt int, s offers.State) {
		id := offers.TaskID(fmt.Sprintf("s.%d.%d.%d", run, index, attempt))
		tl.sched.Updated(tl.now, offers.Status{Task: id, State: s, Started: tl.now, Time: tl.now})
		tl.take()
	}
	tl.file(fmt.Sprintf(file, 3, "good"))
	tl.offer("s.1.v1", "3", "a1")
	tl.take()
	for index := range 3 {
		state(1, index, 1, offers.Running)
	}
	tl.wait([]string{"1s"})
	tl.take()
	if _, err := tl.sched.Stop(tl.now, "s"); err != nil {
		t.Fatal(err)
	}
	tl.take()
	for index := range 3 {
		state(1, index, 1, offers.Killed)
	}
	tl.file(fmt.Sprintf(file, 1, "bad"))
	for i, end := range []offers.State{offers.Failed, offers.Dropped, offers.Dropped, offers.Dropped, offers.Failed} {
		tl.offer("s.2.v2", "1", "a1")
		tl.take()
		state(2, 0, i+1, end)
		tl.wait([]string{"10s"})
		tl.take()
	}
	tl.offer("s.2.v3", "3", "a1") // of the first version again
	tl.take()
	state(2, 0, 6, offers.Dropped)
	if pause := tl.sched.Wake().Sub(tl.now); pause != 100*time.Millisecond {
		t.Errorf("it pauses for %s; the story:\n%s", pause, tl.out.String())
	}
}

// TestOldRunsAreForgotten: five that have ended are remembered beside the last.
func TestOldRunsAreForgotten(t *testing.T) {
	tl := newTeller(t)
	tl.sched.Settled()
	for run := 1; run <= 8; run++ {
		tl.file("name: b\ncommand: x\nresources: {cpus: 0.1}\n")
		tl.offer(fmt.Sprintf("b.%d", run), "1", "a1")
		tl.take()
		tl.sched.Updated(tl.now, offers.Status{Task: offers.TaskID(fmt.Sprintf("b.%d.0.1", run)), State: offers.Finished, Time: tl.now})
		tl.take()
	}
	d, err := tl.sched.Detail("b", 0, false)
	if err != nil || len(d.Runs) != 6 || d.Runs[0].Number != 3 {
		t.Errorf("%d runs are remembered (%v): %+v", len(d.Runs), err, d.Runs)
	}
}

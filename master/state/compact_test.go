package state

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// everyField returns copies of a command with one field set each, of those that
// a struct in it has at any depth.
func everyField(t *testing.T, of Command) (out []Command, paths []string) {
	kind := 0
	for reflect.ValueOf(of).Field(kind).IsNil() {
		kind++
	}
	body := reflect.TypeOf(of).Field(kind).Type.Elem()
	var walk func(at reflect.Type, path string, index []int)
	walk = func(at reflect.Type, path string, index []int) {
		if at.Kind() == reflect.Struct && at != reflect.TypeFor[time.Time]() {
			for i := range at.NumField() {
				walk(at.Field(i).Type, path+"."+at.Field(i).Name, append(index[:len(index):len(index)], i))
			}
			return
		}
		var c Command
		reflect.ValueOf(&c).Elem().Field(kind).Set(reflect.New(body))
		(&filler{TB: t}).fill(reflect.ValueOf(&c).Elem().Field(kind).Elem().FieldByIndex(index), path)
		out, paths = append(out, c), append(paths, path)
	}
	walk(body, body.Name(), nil)
	return out, paths
}

// TestCompactKeepsEveryField: whatever alone is said of a command comes back.
func TestCompactKeepsEveryField(t *testing.T) {
	for _, of := range []Command{{Launch: &Launch{}}, {EndTask: &EndTask{}}, {Acknowledge: &Acknowledge{}}} {
		all, paths := everyField(t, of)
		for i, c := range all {
			if strings.HasPrefix(paths[i], "Launch.Task.Kill") || strings.HasPrefix(paths[i], "Launch.Task.End") && paths[i] != "Launch.Task.Ended" {
				continue // never carried
			}
			entry, err := Encode([]Command{c, of, c})
			if err != nil {
				t.Fatalf("%s: %v", paths[i], err)
			}
			got, err := Decode(entry)
			if err != nil {
				t.Fatalf("%s: %v", paths[i], err)
			}
			if !reflect.DeepEqual(got, []Command{c, of, c}) {
				t.Errorf("%s is lost or stays", paths[i])
			}
		}
	}
}

// TestCommonLaunchesAreCompact: whole tasks of the host are, those of which more
// is said are as whole.
func TestCommonLaunchesAreCompact(t *testing.T) {
	full := everyCommand(t)[7]
	task := &full.Launch.Task
	task.Acknowledged, task.Ended, task.Restored, task.Doubtful = false, 0, false, false
	task.Spec.Artifacts, task.Spec.Resources.AnyPorts = nil, 0
	container, health := task.Spec.Container, task.Spec.Health
	for kind, change := range map[byte]func(){
		compactLaunch: func() { task.Spec.Container, task.Spec.Health = nil, nil },
		compactOther:  func() { task.Spec.Container, task.Spec.Health = container, health },
	} {
		change()
		entry, err := Encode([]Command{full})
		if err != nil {
			t.Fatal(err)
		}
		if entry[2] != kind {
			t.Errorf("it is written as %d; want %d", entry[2], kind)
		}
		if got, err := Decode(entry); err != nil || !reflect.DeepEqual(got[0], full) {
			t.Errorf("written as %d it is lost in part: %v", kind, err)
		}
	}
}

// one returns any of them.
func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// drawCommand draws one out of few texts, so that much is the same.
func drawCommand(r *rand.Rand) Command {
	text := func() string { return one(r, "", "a", "b", "\xff", "long and longer") }
	at := one(r, time.Time{}, start, start.Add(-time.Hour), time.Date(1, 2, 3, 4, 5, 6, 7, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))
	words := func() map[string]string {
		return one(r, nil, map[string]string{}, map[string]string{"k": text(), text(): "v"}, map[string]string{"k": "v"})
	}
	grants := one(r, nil, map[string][]offers.Grant{}, map[string][]offers.Grant{"gpu": {{ID: text(), Index: 3, Memory: 1 << 40, Share: -1}}, text(): nil, "npu": {}})
	task := offers.TaskRef{Framework: offers.FrameworkID(text()), Task: offers.TaskID(text())}
	switch r.IntN(4) {
	case 0:
		return Command{Acknowledge: &Acknowledge{task, offers.UpdateID(text())}}
	case 1:
		code, well := r.IntN(512)-256, r.IntN(2) == 0
		return Command{EndTask: &EndTask{task, offers.Status{
			Task: task.Task, Agent: offers.AgentID(text()), State: one(r, offers.Finished, offers.Failed), UpdateID: offers.UpdateID(text()), Reason: text(),
			Message: text(), ExitCode: one(r, nil, &code), Signal: text(), Healthy: one(r, nil, &well), Devices: grants, Address: text(), Started: at, Time: start,
		}}}
	case 2:
		return Command{Put: &Put{Framework: task.Framework, Key: text(), Value: []byte(text())}}
	default:
		l := &Launch{TaskRecord{Framework: task.Framework, Agent: offers.AgentID(text()), Demand: offers.DemandID(text()), Role: offers.Role(text()), Created: at, Absences: r.Uint64()}}
		l.Task.Spec = offers.Task{ID: task.Task, Name: text(), Labels: words(), KillGrace: offers.Duration(r.Int64() - 1<<62), Traceparent: offers.Traceparent(text())}
		l.Task.Spec.Resources = offers.Resources{
			Amounts: offers.Amounts{r.Int64(), -1}, Ports: one(r, nil, offers.Ports{}, offers.Ports{{First: 1, Last: 65535}}), AnyPorts: r.IntN(8) / 7,
			Devices: one(r, nil, map[string]offers.DeviceAsk{}, map[string]offers.DeviceAsk{"gpu": {Count: 2, Memory: 3, Share: 4}}),
		}
		l.Task.Spec.Command = one(r, nil, &offers.Command{Shell: text()}, &offers.Command{Argv: one(r, nil, []string{}, []string{"a", text()}), Env: words(), User: text()})
		l.Task.Holding = offers.Holding{Amounts: l.Task.Spec.Resources.Amounts, Ports: l.Task.Spec.Resources.Ports, Devices: offers.DevicesOf(grants)}
		return Command{Launch: l}
	}
}

// elder is an entry as version 6 wrote it.
func elder(t *testing.T, batch []Command) []byte {
	body, err := encoding.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{6}, body...)
}

// TestCompactIsAsCBOR: batches come back as they do from the older form, in less.
func TestCompactIsAsCBOR(t *testing.T) {
	compact, old := 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		batch := make([]Command, 1+r.IntN(20))
		for i := range batch {
			batch[i] = drawCommand(r)
		}
		entry, err := Encode(batch)
		if err != nil {
			t.Fatal(err)
		}
		cbor := elder(t, batch)
		compact, old = compact+len(entry), old+len(cbor)
		want, err := Decode(cbor)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(entry)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\n got %+v\nwant %+v", seed, got, want)
		}
	}
	if compact > old/2 {
		t.Errorf("it takes %d bytes, and %d before", compact, old)
	}
}

// TestCompactRefuses what is cut short anywhere, and what no writer wrote.
func TestCompactRefuses(t *testing.T) {
	whole, err := Encode(everyCommand(t)[7:10])
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := Decode(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are read", n, len(whole))
		}
	}
	// An acknowledgement is two texts of its task and one more.
	for what, entry := range map[string]string{
		"extraneous":             "0701030000" + "0000",
		"its kind is 4":          "070104",
		"at most 65536":          "07818004",
		"it is cut short":        "070503000000",
		"is cut short":           "070103" + "ff01",
		"command 0: it is cut":   "070103" + "ffffffffffffffffffff01",
		"written as 2":           "070101" + strings.Repeat("00", 9+4+1+1) + "02",
		"written as 3":           "070101" + strings.Repeat("00", 9+4+1+1) + "03",
		"neither yes nor no":     "070102" + "0000" + strings.Repeat("00", 6) + "02",
		"is no port":             "070101" + strings.Repeat("00", 9+4) + "02" + "00808004",
		"twice":                  "070101" + strings.Repeat("00", 9+4+1) + "03" + "0261" + "020000" + "00" + "020000",
		"no 1000000000 nanosec":  "070102" + "0000" + strings.Repeat("00", 11) + "00" + "8094ebdc03",
		"4194304 elements; at m": "070101" + strings.Repeat("00", 9+4+1+1) + "01" + "81808002",
	} {
		raw, err := hex.DecodeString(entry)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(raw); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got %v, want %q", entry, err, what)
		}
	}
}

// TestReadsVersion6: an entry of the last version before, byte for byte as that
// wrote it, leads to the same state as its commands do now.
func TestReadsVersion6(t *testing.T) {
	entry, err := os.ReadFile("testdata/entry-6")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(entry)
	if err != nil {
		t.Fatal(err)
	}
	now, err := Encode(storied())
	if err != nil {
		t.Fatal(err)
	}
	want, err := Decode(now)
	if err != nil {
		t.Fatal(err)
	}
	one, results := New().Apply(got)
	for i, r := range results {
		if r.Err != nil {
			t.Errorf("command %d: %v", i, r.Err)
		}
	}
	two, _ := New().Apply(want)
	if !bytes.Equal(snapshot(t, one), snapshot(t, two)) {
		t.Error("they differ")
	}
}

// storied is what happens to a task of which much is said and to one of which
// little is, from the first entry on. Of it testdata/entry-6 was written.
func storied() []Command {
	grace, code := offers.Duration(time.Minute), 3
	plain, rich := launch("f00001-c0de", "plain", "a00001-c0de"), launch("f00001-c0de", "rich", "a00001-c0de")
	t := &rich.Launch.Task
	t.LaunchID, t.Demand, t.Role, t.User, t.Policy = "1-2", "d", "eng", "u", offers.Spread
	t.Spec.Name, t.Spec.KillGrace, t.Spec.Labels = "rich", grace, map[string]string{"a": "b", "c": ""}
	t.Spec.Resources = offers.Resources{
		Amounts: offers.Amounts{100, 1 << 30}, Ports: offers.Ports{{First: 31000, Last: 31001}},
		Devices: map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: 1 << 34}},
	}
	t.Spec.Command = &offers.Command{Argv: []string{"sleep", "1"}, Env: map[string]string{"K": "v"}, Dir: "d"}
	t.Spec.Health = &offers.Health{}
	t.Holding = offers.Holding{
		Amounts: t.Spec.Resources.Amounts, Ports: t.Spec.Resources.Ports,
		Devices: offers.OneDevice("gpu", offers.Grant{ID: "g0", Memory: 1 << 34, Share: 500}),
	}
	ended := end("f00001-c0de", "rich", offers.Failed)
	ended.EndTask.Status.ExitCode, ended.EndTask.Status.Started = &code, start.Add(-time.Second)
	return []Command{
		{Init: &Init{cluster}}, {RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: "a"}, Time: start}},
		{RegisterFramework: &RegisterFramework{Name: "f", Role: "eng", Time: start}}, {SetRole: &SetRole{Role: "eng", Settings: &offers.RoleSettings{Weight: 2}}},
		plain, rich, {KillTask: &KillTask{Ref: ref("f00001-c0de", "plain"), Order: KillOrder{Grace: &grace, Reason: "drain", Time: start}}},
		ended, acknowledge("f00001-c0de", "rich"), {Put: &Put{Framework: "f00001-c0de", Key: "k", Value: []byte("v")}},
	}
}

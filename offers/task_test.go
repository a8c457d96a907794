package offers_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestTaskID(t *testing.T) {
	for id, ok := range map[offers.TaskID]bool{
		"a": true, "A-z_0.9": true, "...": true, ".a": true, "-": true, offers.TaskID(strings.Repeat("x", 128)): true,
		"": false, ".": false, "..": false, "a/b": false, "a b": false, "a:b": false, "ü": false, "a\n": false, "\x00": false, "../x": false,
		offers.TaskID(strings.Repeat("x", 129)): false,
	} {
		if err := id.Validate(); (err == nil) != ok {
			t.Errorf("task id %q: %v, want valid %v", id, err, ok)
		}
	}
	if got := (offers.TaskRef{Framework: "f1", Task: "t1"}).String(); got != "f1:t1" {
		t.Errorf("a task is called %s", got)
	}
}

func TestTaskValidate(t *testing.T) {
	for _, row := range []struct{ in, names string }{
		{`{"id":"t","command":{"argv":["true"]}}`, ""},
		{`{"id":"t","command":{"shell":"exit 7","env":{"A":"","B":"x=y"},"user":"nobody","dir":"sub"},"name":"ä","kill_grace":"1s","max_runtime":60,"labels":{"a":"b"}}`, ""},
		{`{"id":"t","resources":{"cpus":0.5},"command":{"argv":["a",""]},"container":null,"artifacts":[],"health":null}`, ""},
		{`{"id":"t","command":{"argv":["true"]},"later":1}`, ""},
		{`{}`, "id"}, {`{"id":"a/b","command":{"argv":["true"]}}`, "id"}, {`{"id":".."}`, "id"},
		{`{"id":"t"}`, "command"}, {`{"id":"t","command":null}`, "command"}, {`{"id":"t","command":{}}`, "command.argv"},
		{`{"id":"t","command":{"argv":[]}}`, "argv"}, {`{"id":"t","command":{"argv":[""]}}`, "argv"},
		{`{"id":"t","command":{"argv":["a"],"shell":"b"}}`, "shell"},
		{`{"id":"t","command":{"argv":["a\u0000"]}}`, "argv"}, {`{"id":"t","command":{"shell":"a\u0000"}}`, "shell"},
		{`{"id":"t","command":{"argv":["a"],"dir":"\u0000"}}`, "dir"},
		{`{"id":"t","command":{"argv":["a"],"env":{"":"x"}}}`, "env"}, {`{"id":"t","command":{"argv":["a"],"env":{"A=B":"x"}}}`, "env"},
		{`{"id":"t","command":{"argv":["a"],"env":{"A":"\u0000"}}}`, "env"}, {`{"id":"t","command":{"argv":["a"],"env":{"A\u0000":"x"}}}`, "env"},
		{`{"id":"t","command":{"argv":["a"]},"name":"a\u0007"}`, "name"},
		{`{"id":"t","command":{"argv":["a"]},"name":"` + strings.Repeat("x", 257) + `"}`, "name"},
		{`{"id":"t","container":{"image":"reg.example:5000/a/b:1@sha256:0f","pull":"never","entrypoint":["a",""],"network":"my_net-1","mounts":[{"source":"/a","target":"/b","read_only":true}]}}`, ""},
		{`{"id":"t","command":{"shell":"x"},"container":{"image":"x","network":"host"}}`, ""}, {`{"id":"t","command":{"dir":"sub"},"container":{"image":"x"}}`, ""},
		{`{"id":"t","resources":{"ports":["31000-31002"]},"container":{"image":"x","ports":[80,"81","53/udp"]}}`, ""},
		{`{"id":"t","resources":{"ports":[31000]},"container":{"image":"x","ports":[80,81]}}`, "container.ports"},
		{`{"id":"t","resources":{"ports":["31000-31002"]},"container":{"image":"x","ports":[80,"80/tcp"]}}`, "container.ports"},
		{`{"id":"t","resources":{"ports":[31000]},"container":{"image":"x","ports":[80],"network":"host"}}`, "container.ports"},
		{`{"id":"t","container":{}}`, "container.image"}, {`{"id":"t","container":{"image":"a b"}}`, "container.image"},
		{`{"id":"t","container":{"image":"a?x=y"}}`, "container.image"}, {`{"id":"t","container":{"image":"a\n"}}`, "container.image"},
		{`{"id":"t","container":{"image":"x","pull":"often"}}`, "container.pull"},
		{`{"id":"t","container":{"image":"x","entrypoint":[""]}}`, "container.entrypoint"},
		{`{"id":"t","command":{"shell":"x"},"container":{"image":"x","entrypoint":["a"]}}`, "container.entrypoint"},
		{`{"id":"t","container":{"image":"x","network":"container:other"}}`, "container.network"},
		{`{"id":"t","container":{"image":"x","mounts":[{"source":"a","target":"/b"}]}}`, "source"},
		{`{"id":"t","container":{"image":"x","mounts":[{"source":"/a/../b","target":"/b"}]}}`, "source"},
		{`{"id":"t","container":{"image":"x","mounts":[{"source":"/a","target":"b"}]}}`, "target"},
		{`{"id":"t","container":{"image":"x","mounts":[{"source":"/a","target":"/"}]}}`, "target"},
		{`{"id":"t","container":{"image":"x","mounts":[{"source":"/a","target":"/proc/sys"}]}}`, "target"},
		{`{"id":"t","container":{"image":"x","mounts":[{"source":"/a","target":"/ringmaster/sandbox"}]}}`, "target"},
		{`{"id":"t","container":{"image":"x","mounts":[{"source":"/a","target":"/b"},{"source":"/c","target":"/b"}]}}`, "target"},
		{`{"id":"t","command":{"argv":["a"],"shell":"b"},"container":{"image":"x"}}`, "command.argv"},
		{`{"id":"t","command":{"argv":["a"]},"artifacts":[{"uri":"x"}]}`, "artifacts"},
		{`{"id":"t","command":{"argv":["a"]},"health":{}}`, "health"},
		{`{"id":"t","container":{"image":"x"},"health":{"command":{"shell":"true"}}}`, ""}, {`{"id":"t","container":{"image":"x"},"health":{"command":{}}}`, "health.command"},
		{`{"id":"t","container":{"image":"x"},"health":{"tcp":{"port":80}},"artifacts":[{"uri":"http://x.example/a"}]}`, ""},
	} {
		var task offers.Task
		if err := json.Unmarshal([]byte(row.in), &task); err != nil {
			t.Errorf("%s: %v", row.in, err)
			continue
		}
		wantNamed(t, task.Validate(), row.names, row.in)
	}
}

func TestTaskRefused(t *testing.T) {
	for _, row := range []struct {
		in    string
		names []string
	}{
		{`{"resources":{"cpus":-1},"id":"t7"}`, []string{"t7", "resources", "cpus"}},
		{`{"resources":null,"id":"t7"}`, []string{"t7", "resources"}},
		{`{"kill_grace":"soon","id":"t7"}`, []string{"t7", "kill_grace"}},
		{`{"max_runtime":-5,"id":"t7"}`, []string{"t7", "max_runtime"}},
		{`{"command":{"argv":"true"},"id":"t7"}`, []string{"t7", "command.argv"}},
		{`{"command":{"env":{"A":5}},"id":"t7"}`, []string{"t7", "command.env"}},
		{`{"command":"true","id":"t7"}`, []string{"t7", "command"}},
		{`{"labels":["a"],"id":"t7"}`, []string{"t7", "labels"}},
		{`{"container":{"image":"x","ports":["80/sctp"]},"id":"t7"}`, []string{"t7", "container", "ports"}},
		{`{"container":{"image":"x","ports":[0]},"id":"t7"}`, []string{"t7", "container", "ports"}},
		{`{"container":["x"],"id":"t7"}`, []string{"t7", "container"}},
		{`{"id":7}`, []string{"id"}},
		{`[]`, []string{"object"}},
		{`"t7"`, []string{"object"}},
	} {
		var task offers.Task
		err := json.Unmarshal([]byte(row.in), &task)
		for _, name := range row.names {
			wantNamed(t, err, name, row.in)
		}
		if err != nil && strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: the message speaks of Go: %v", row.in, err)
		}
		if row.names[0] == "t7" && task.ID != "t7" {
			t.Errorf("%s: the task is called %q beside the error", row.in, task.ID)
		}
	}
}

func TestCommandArgs(t *testing.T) {
	if got := (&offers.Command{Shell: "exit 7"}).Args(); !slices.Equal(got, []string{"/bin/sh", "-c", "exit 7"}) {
		t.Errorf("shell: %q", got)
	}
	if got := (&offers.Command{Argv: []string{"a", "b c"}}).Args(); !slices.Equal(got, []string{"a", "b c"}) {
		t.Errorf("argv: %q", got)
	}
}

func FuzzTask(f *testing.F) {
	for _, seed := range []string{
		`{"id":"t","name":"n","resources":{"mem":"1MiB"},"command":{"argv":["a"],"env":{"A":"b"}},"kill_grace":1,"max_runtime":"5s","labels":{"a":"b"}}`,
		`{"id":"t","command":{"shell":"x"}}`, `{"id":"..","command":{}}`, `{"id":"t","container":[]}`,
		`{"id":"t","resources":{"ports":[1,2]},"container":{"image":"x","pull":"always","entrypoint":["a"],"ports":[80,"53/udp"],"mounts":[{"source":"/a","target":"/b","read_only":true}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var task offers.Task
		if json.Unmarshal(data, &task) != nil || task.Validate() != nil {
			return
		}
		if task.Container == nil && (len(task.Command.Args()) == 0 || task.Command.Args()[0] == "") {
			t.Fatal("a valid task runs nothing")
		}
		sameAgain(t, &task, new(offers.Task), task.Validate)
	})
}

func TestPrintable(t *testing.T) {
	for s, want := range map[string]bool{"": true, "a b": true, "日本": true, "a\tb": false, "\x7f": false, "\xff": false, "a\x00": false, "\u0085": false, "e\u0301 👩\u200d🚀": true} {
		if got := offers.Printable(s); got != want {
			t.Errorf("%q: printable is %v, want %v", s, got, want)
		}
	}
}

func TestAgentValidate(t *testing.T) {
	good := func(change func(*offers.Agent)) *offers.Agent {
		a := &offers.Agent{Name: "a1", Host: "h", Address: "127.0.0.1:1", Attributes: map[string]string{"rack": "r1"}, Total: testInventory(), Version: "v"}
		change(a)
		return a
	}
	long := strings.Repeat("x", 257)
	for _, row := range []struct {
		change func(*offers.Agent)
		names  string
	}{
		{func(*offers.Agent) {}, ""},
		{func(a *offers.Agent) { a.Name = strings.Repeat("x", 256) }, ""},
		{func(a *offers.Agent) { a.Name = "" }, "name"},
		{func(a *offers.Agent) { a.Name = long }, "name"},
		{func(a *offers.Agent) { a.Name = "a\nb" }, "name"},
		{func(a *offers.Agent) { a.Host = long }, "host"},
		{func(a *offers.Agent) { a.Address = "\x00" }, "address"},
		{func(a *offers.Agent) { a.Address = "" }, ""}, // it has no door
		{func(a *offers.Agent) { a.Address = "node-7.lab_2.example:5051" }, ""},
		{func(a *offers.Agent) { a.Address = "[fe80::1%eth0]:5051" }, ""},
		{func(a *offers.Agent) { a.Address = "10.0.0.1" }, `agent address "10.0.0.1" is not HOST:PORT`},
		{func(a *offers.Agent) { a.Address = ":5051" }, `":5051" is not HOST:PORT`},
		{func(a *offers.Agent) { a.Address = "10.0.0.1:" }, "is not HOST:PORT"},
		{func(a *offers.Agent) { a.Address = "10.0.0.1:0" }, "is not HOST:PORT"},
		{func(a *offers.Agent) { a.Address = "10.0.0.1:65536" }, "is not HOST:PORT"},
		{func(a *offers.Agent) { a.Address = "10.0.0.1:http" }, "is not HOST:PORT"},
		{func(a *offers.Agent) { a.Address = "http://10.0.0.1:80" }, "is not HOST:PORT"},
		{func(a *offers.Agent) { a.Address = "10.0.0.1/x:80" }, "is not HOST:PORT"},
		{func(a *offers.Agent) { a.Address = "me@10.0.0.1:80" }, "is not HOST:PORT"},
		{func(a *offers.Agent) { a.Address = "a b:80" }, "is not HOST:PORT"},
		{func(a *offers.Agent) { a.Address = "[a]:80" }, "is not HOST:PORT"},
		{func(a *offers.Agent) { a.Version = long }, "version"},
		{func(a *offers.Agent) { a.Attributes[""] = "x" }, "attribute"},
		{func(a *offers.Agent) { a.Attributes[long] = "x" }, "attribute"},
		{func(a *offers.Agent) { a.Attributes["rack"] = long }, "rack"},
		{func(a *offers.Agent) { a.Attributes["rack"] = "\x1b[2J" }, "rack"},
		{func(a *offers.Agent) { a.Policies = map[string]offers.Policy{"gpu": "any"} }, "device_policy"},
		{func(a *offers.Agent) { a.Total.Amounts[offers.Mem] = -1 }, "mem"},
	} {
		a := good(row.change)
		wantNamed(t, a.Validate(), row.names, a.Name)
	}
}

func TestAgentAttributeAndPolicy(t *testing.T) {
	a := &offers.Agent{ID: "a1", Name: "n", Host: "h", Attributes: map[string]string{"host": "own"}, Policies: map[string]offers.Policy{"gpu": offers.Spread}}
	for name, want := range map[string]string{"host": "own", "name": "n", "id": "a1"} {
		if got, ok := a.Attribute(name); !ok || got != want {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	if _, ok := a.Attribute("rack"); ok {
		t.Error("an attribute from nowhere")
	}
	if a.Policy("gpu") != offers.Spread || a.Policy("npu") != offers.Pack {
		t.Error("the policy of a class or the default is wrong")
	}
	a.Policies[""] = offers.Spread
	if a.Policy("npu") != offers.Spread {
		t.Error("the agent's own default is not used")
	}
}

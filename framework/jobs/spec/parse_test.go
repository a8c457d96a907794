package spec_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
)

const whole = `# everything a batch may say
name: all-of_it
type: batch
command: [gzip, -9, "{{item}}", 7, true]
each: [a.txt, b.txt, 3]
gang: 30s
retries: 3
backoff: {first: 500ms, most: 1m}
env:
  LEVEL: 9
  OUT: "{{agent}}:{{port.1}} {{{{x}}"
user: nobody
dir: work
resources:
  cpus: 1.5
  mem: 512MiB
  ports: [8080, 9000-9001]
  gpu: {count: 2, memory: 10GiB}
constraints: [rack==r1, "zone in a,b", distinct agent]
preferences:
  - {condition: disk==fast, weight: 5}
placement: match
deadline: 2h
runtime: 90
price: 1.5
device_policy: spread
artifacts:
  - uri: https://example.org/a.tar.gz
    extract: true
health:
  http: {path: /ready}
  interval: 2
  failures: 5
kill_grace: 10s
max_runtime: 1h
labels: {team: red}
`

func TestParseWhole(t *testing.T) {
	j, err := spec.Parse([]byte(whole), ".")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(j.Command.Argv, " "); got != "gzip -9 {{item}} 7 true" {
		t.Errorf("the command is %q", got)
	}
	if j.Instances() != 3 || j.Item(2) != "3" || j.Env["LEVEL"] != "9" || j.Backoff.Most != offers.Duration(60e9) {
		t.Errorf("it is %+v", j)
	}
	if a := j.Resources; a.Amounts[offers.CPUs] != 1500 || a.Devices["gpu"].Memory != 10<<30 || a.Devices["gpu"].Count != 2 || len(a.Ports.Each()) != 3 {
		t.Errorf("resources are %+v", a)
	}
	if j.Health.HTTP.Path != "/ready" || j.Health.Failures != 5 || len(j.Constraints) != 3 || len(j.Preferences) != 1 || j.Preferences[0].Weight != 5 || j.Artifacts[0].Extract != true {
		t.Errorf("it is %+v", j)
	}
	wish := j.Wish("d", 3)
	if wish.Gang != offers.Duration(30e9) || wish.Deadline != offers.Duration(7200e9) || wish.Runtime != offers.Duration(90e9) || wish.Price != 1.5 {
		t.Errorf("it wishes %+v", wish)
	}
	// What is sent and stored is the same job.
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	var again spec.Job
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if err := again.Validate(); err != nil || !reflect.DeepEqual(*j, again) {
		t.Errorf("%v; it was\n%+v and is\n%+v", err, *j, again)
	}
}

const contained = `name: contained
container:
  image: registry.example.org:5000/web@sha256:0123
  pull: always
  entrypoint: [/serve, --fast]
  network: bridge
  mounts:
    - {source: /srv/data, target: /data, read_only: true}
  ports: [80, 53/udp]
resources: {cpus: 1, ports: [8080, 8081]}
constraints: [rack==r1]
`

// TestContainer holds that a file has all of a task's container, and that only
// agents with an engine are asked.
func TestContainer(t *testing.T) {
	j, err := spec.Parse([]byte(contained), ".")
	if err != nil {
		t.Fatal(err)
	}
	want := &offers.Container{
		Image: "registry.example.org:5000/web@sha256:0123", Pull: offers.PullAlways, Entrypoint: []string{"/serve", "--fast"}, Network: "bridge",
		Mounts: []offers.Mount{{Source: "/srv/data", Target: "/data", ReadOnly: true}}, Ports: []offers.ContainerPort{{Port: 80}, {Port: 53, UDP: true}},
	}
	if !reflect.DeepEqual(j.Container, want) {
		t.Errorf("it is %+v, want %+v", j.Container, want)
	}
	wish := j.Wish("d", 2)
	if len(wish.Constraints) != 2 || wish.Constraints[1].String() != "docker==true" || len(j.Constraints) != 1 {
		t.Errorf("asked is %v of %v", wish.Constraints, j.Constraints)
	}
	parsed, err := offers.ParseConstraint("docker==true")
	if err != nil || !reflect.DeepEqual(wish.Constraints[1], parsed) {
		t.Errorf("%v: it is %+v, and read %+v", err, wish.Constraints[1], parsed)
	}
	if j.Container = nil; len(j.Wish("d", 2).Constraints) != 1 {
		t.Error("a process is asked to run where containers do")
	}
}

func TestParseRefuses(t *testing.T) {
	const ok = "name: a\ncommand: x\n"
	for _, c := range []struct {
		text, path string
		line, col  int
		say        string
	}{
		{"", "", 0, 0, "the file is empty"},
		{"just text", "", 1, 1, "KEY: VALUE"},
		{"name: a\ncommnd: x\n", "", 2, 1, "unknown key commnd; did you mean command?"},
		{"name: a\nquux: x\n", "", 2, 1, "known are name, type"},
		{"command: x\n", "name", 1, 1, "missing"},
		{"name: a\n", "command", 1, 1, "missing"},
		{"name: a b\ncommand: x\n", "name", 1, 1, "is not a name"},
		{"name: a\nname: b\ncommand: x\n", "", 2, 1, "name"},
		{"name: a\ncommand:\n", "command", 2, 10, "no value"},
		{"name: a\ncommand: {argv: [x]}\n", "command", 2, 11, "a list of a program"},
		{ok + "type: bach\n", "type", 3, 1, "did you mean batch?"},
		{ok + "count: many\n", "count", 3, 8, "not a whole number"},
		{ok + "count: 10001\n", "count", 3, 1, "from 1 to 10000"},
		{ok + "count: 2\neach: [a]\n", "count", 3, 1, "each says already"},
		{ok + "each: []\n", "each", 3, 1, "empty"},
		{ok + "each: {lines: nosuch.txt}\n", "each", 3, 1, "nosuch.txt"},
		{ok + "each: {files: 'nosuch*'}\n", "each", 3, 1, "nothing below"},
		{ok + "retries: -1\n", "retries", 3, 1, "from 0"},
		{ok + "backoff: {first: 1m, most: 1s}\n", "backoff.most", 3, 22, "shorter"},
		{ok + "backoff: {frist: 1m}\n", "backoff", 3, 11, "did you mean first?"},
		{ok + "backoff: {first: soon}\n", "backoff.first", 3, 18, "not a duration"},
		{ok + "resources:\n  cpu: 1\n", "resources", 4, 3, "did you mean cpus?"},
		{ok + "resources:\n  mem: 1XB\n", "resources.mem", 4, 8, "1XB"},
		{ok + "resources:\n  mem: 16\n", "resources.mem", 4, 8, "16 would be 16 bytes"},
		{ok + "resources: {disk: \"512\"}\n", "resources.disk", 3, 19, "512 would be 512 bytes"},
		{ok + "resources: {gpu: {memory: 10}}\n", "resources.gpu", 3, 19, "10 would be 10 bytes"},
		{ok + "resources: {devices: {gpu: {memory: 10G}}}\n", "resources.devices", 3, 23, "did you mean 10GiB?"},
		{ok + "resources: {gpu: -1}\n", "resources.gpu", 3, 18, ""},
		{ok + "resources: {gpu: 1, devices: {gpu: {count: 1}}}\n", "resources.devices", 3, 31, "twice"},
		{ok + "env:\n  A: \"{{idex}}\"\n", "env.A", 4, 3, "did you mean {{index}}?"},
		{ok + "env: {A: \"{{item}}\"}\n", "env.A", 3, 7, "needs each"},
		{ok + "env: {A: \"{{port}}\"}\n", "env.A", 3, 7, "resources.ports names 0"},
		{ok + "env: {A: \"{{index\"}\n", "env.A", 3, 7, "not closed"},
		{ok + "env: [A]\n", "env", 3, 6, "section"},
		{ok + "constraints: [rack]\n", "constraints[0]", 3, 15, "has none of =="},
		{ok + "preferences: [{condition: rack==r1, weigh: 2}]\n", "preferences[0]", 3, 37, "unknown key weigh; did you mean weight"},
		{ok + "preferences: [{condition: rack==r1, weight: 0}]\n", "preferences", 3, 1, "weight is 0"},
		{ok + "constraints: rack==r1\n", "constraints", 3, 14, "list"},
		{ok + "health: {tcp: {}}\n", "health.tcp.port", 3, 10, "missing"},
		{ok + "health: {}\n", "health", 3, 1, "exactly one of"},
		{ok + "health:\n  interval: 5s\n", "health", 3, 1, "exactly one of"},
		{ok + "placement: clever\n", "placement", 3, 1, "clever"},
		{ok + "artifacts: [{uri: 'ftp://x'}]\n", "artifacts[0].uri", 3, 14, "http, https or file"},
		{ok + "container: {}\n", "container.image", 3, 1, "can't be the name"},
		{ok + "container: alpine\n", "container", 3, 12, "section"},
		{ok + "container: {imag: x}\n", "container", 3, 13, "did you mean image?"},
		{ok + "container:\n  image: a b\n", "container.image", 4, 3, "can't be the name"},
		{ok + "container: {image: x, pull: often}\n", "container.pull", 3, 23, "missing, always or never"},
		{ok + "container: {image: x, entrypoint: [y]}\n", "container.entrypoint", 3, 23, "entrypoint and a command that is a text are both given"},
		{ok + "container: {image: x, network: 'a b'}\n", "container.network", 3, 23, "no name of a network"},
		{ok + "container: {image: x, ports: [80, x]}\n", "container.ports[1]", 3, 35, "no port such as 80"},
		{ok + "container: {image: x, ports: [80]}\n", "container.ports", 3, 23, "resources.ports holds 0"},
		{ok + "container: {image: x, ports: [80], network: host}\n", "container.ports", 3, 23, "nothing is published on the network host"},
		{ok + "container: {image: x, mounts: [{source: y, target: /z}]}\n", "container.mounts", 3, 23, `source "y" is not an absolute path`},
		{ok + "container: {image: x, mounts: [{source: /y, traget: /z}]}\n", "container.mounts[0]", 3, 45, "did you mean target?"},
		{ok + "container: {image: x, mounts: [{source: /y, target: /proc}]}\n", "container.mounts", 3, 23, "the container's own"},
		{ok + "resources: {ports: [http, https2, http]}\n", "resources.ports", 3, 20, "two ports http"},
		{ok + "resources: {ports: [http, 8o80]}\n", "resources.ports", 3, 20, `"8o80" is neither a port nor a name`},
		{ok + "resources: {ports: [http, 8080]}\n", "resources.ports", 3, 20, `"http" is not a port`},
		{ok + "resources: {ports: -1}\n", "resources.ports", 3, 20, "not from 1 to 1000"},
		{ok + "resources: {ports: 1001}\n", "resources.ports", 3, 20, "1001 is not from 1 to 1000"},
		{ok + "resources: {ports: 2}\nenv: {A: \"{{port.2}}\"}\n", "env.A", 4, 7, "resources.ports names 2"},
		{ok + "resources: {ports: [http]}\nenv: {A: \"{{port.htp}}\"}\n", "env.A", 4, 7, "did you mean {{port.http}}?"},
		{ok + "resources: {ports: 1}\ncontainer: {image: x, ports: [80, 81]}\n", "container.ports", 4, 23, "resources.ports holds 1"},
		{ok + "gang: 30x\n", "gang", 3, 7, "not a duration"},
		{ok + "gang: 0.5s\n", "gang", 3, 1, "is 500ms; 1s at the least"},
		{ok + "gang: 30s\ncount: 1001\n", "gang", 3, 1, "1001 units; at most 1000"},
		{ok + "gang: 30s\ncount: 8\nparallelism: 4\n", "parallelism", 5, 1, "4 of 8 at once: a gang starts all its instances at once"},
		{ok + "type: service\ngang: 30s\n", "gang", 4, 1, "only a batch has it"},
		{"name: a\nsteps:\n- {name: a, command: x}\n- name: b\n  command: x\n  gang: 1ms\n", "steps[1].gang", 6, 3, "1s at the least"},
		{ok + "gang: 30s\ncount: 1000\nlabels: {a: " + strings.Repeat("x", 4000) + "}\n", "gang", 3, 1, "1000 tasks take up to 4"},
		{ok + "deadline: -1h\n", "deadline", 3, 11, "negative"},
		{ok + "deadline: tomorrow\n", "deadline", 3, 11, "not a duration"},
		{ok + "runtime: [1s]\n", "runtime", 3, 10, "not a duration"},
		{ok + "price: much\n", "price", 3, 8, "\"much\" is not a number"},
		{ok + "price: -2\n", "price", 3, 1, "is -2; 0 to 1e+12"},
		{ok + "price: nan\n", "price", 3, 1, "is NaN; 0 to 1e+12"},
		{ok + "type: service\ndeadline: 1h\n", "deadline", 4, 1, "only a batch has it"},
		{ok + "type: service\nruntime: 1h\n", "runtime", 4, 1, "only a batch has it"},
		{ok + "dedline: 1h\n", "", 3, 1, "did you mean deadline?"},
		{ok + "restart: never\n", "restart", 3, 1, "only a service has it"},
		{ok + "type: service\nretries: 3\n", "retries", 4, 1, "only a batch has it"},
		{ok + "type: service\nrestart: on-failure\n", "restart", 4, 1, "did you mean on_failure?"},
		{ok + "type: service\nupdate: {max_unavailable: -1}\n", "update.max_unavailable", 4, 10, "less than 1"},
		{ok + "type: service\nupdate: {on_failure: roll}\n", "update.on_failure", 4, 10, "rollback"},
		{ok + "type: service\nupdate: {deadlin: 5m}\n", "update", 4, 10, "did you mean deadline?"},
		{ok + "type: cron\n", "cron", 1, 1, "missing"},
		{ok + "cron: {schedule: '@daily'}\n", "cron", 3, 1, "goes with type: cron"},
		{ok + "type: cron\ncron: {schedule: '61 * * * *'}\n", "cron.schedule", 4, 8, "61"},
		{ok + "type: cron\ncron: {schedule: '0 0 30 2 *'}\n", "cron.schedule", 4, 8, "never comes"},
		{ok + "type: cron\ncron: {schedule: '@daily', zone: Europe/Berlni}\n", "cron.zone", 4, 28, "no time zone"},
		{ok + "type: cron\ncron: {schedule: '@daily', overlap: skipp}\n", "cron.overlap", 4, 28, "did you mean skip?"},
		{ok + "steps: [{name: a, command: x}]\n", "command", 2, 1, "beside steps"},
		{"name: a\nsteps:\n- name: a\n", "steps[0].command", 3, 3, "missing"},
		{"name: a\nsteps:\n- {name: a, command: x}\n- {name: a, command: x}\n", "steps[1].name", 4, 4, "two steps a"},
		{"name: a\nsteps:\n- {name: a, command: x, after: [bb]}\n", "steps[0].after[0]", 3, 33, "no step"},
		{"name: a\nsteps:\n- {name: first, command: x}\n- {name: b, command: x, after: [frst]}\n", "steps[1].after[0]", 4, 33, "did you mean first?"},
		{"name: a\nsteps:\n- {name: a, command: x, after: [b]}\n- {name: b, command: x, after: [a]}\n", "steps[0].after", 3, 25, "waits for itself"},
		{"name: a\nsteps:\n- {name: a, comand: x}\n", "steps[0]", 3, 13, "did you mean command?"},
		{"name: a\ntype: service\nsteps:\n- {name: a, command: x}\n", "steps", 3, 1, "a service has no steps"},
		{ok + "user: &a x\n", "user", 3, 7, "anchors"},
		{ok + "---\nname: b\n", "", 4, 1, "second document"},
		{"name: [a\n", "", 1, 7, ""},
	} {
		_, err := spec.Parse([]byte(c.text), t.TempDir())
		var at *spec.Error
		if !errors.As(err, &at) {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if at.Line != c.line || at.Column != c.col || at.Path != c.path || !strings.Contains(at.Message, c.say) {
			t.Errorf("%q:\n got %d:%d %s: %s\nwant %d:%d %s: %s", c.text, at.Line, at.Column, at.Path, at.Message, c.line, c.col, c.path, c.say)
		}
	}
}

func TestEachOfFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"hosts.txt": "h1\n\n  h2 \n", "b.csv": "", "a.csv": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for each, want := range map[string][]string{
		"{lines: hosts.txt}": {"h1", "h2"},
		"{files: '*.csv'}":   {filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")},
	} {
		j, err := spec.Parse([]byte("name: a\ncommand: x\neach: "+each+"\n"), dir)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(j.Each.Items, want) {
			t.Errorf("each %s is %q, want %q", each, j.Each.Items, want)
		}
	}
}

func TestPause(t *testing.T) {
	b := spec.Backoff{First: offers.Duration(2e9), Most: offers.Duration(9e9)}
	for failures, want := range []string{"2s", "2s", "4s", "8s", "9s", "9s"} {
		if got := b.Pause(failures).String(); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
	if got := (spec.Backoff{}).Pause(1000); got != offers.Duration(300e9) {
		t.Errorf("the longest pause is %s", got)
	}
}

// TestChosenPorts holds that ports that the cluster chooses are asked for by
// their number, stored with their names, and suit a health check.
func TestChosenPorts(t *testing.T) {
	for given, want := range map[string]string{"2": `{"ports":2}`, "[http, admin]": `{"ports":["http","admin"]}`, "[8080, '8082-8083']": `{"ports":[8080,"8082-8083"]}`} {
		j, err := spec.Parse([]byte("name: a\ncommand: [x, '{{port.1}}']\nhealth: {http: {}}\nresources: {ports: "+given+"}\n"), ".")
		if err != nil {
			t.Fatal(err)
		}
		stored, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		var again spec.Job
		if err := json.Unmarshal(stored, &again); err != nil || !reflect.DeepEqual(*j, again) {
			t.Errorf("%s: %v; it was\n%+v and is\n%+v", given, err, *j, again)
		}
		if text, err := json.Marshal(again.Resources); err != nil || string(text) != want {
			t.Errorf("%s is stored as %s (%v), want %s", given, text, err, want)
		}
		if n := again.Wish("d", 1).Resources.AnyPorts; (n == 2) == strings.HasPrefix(given, "[8") {
			t.Errorf("%s asks for any %d", given, n)
		}
	}
}

// FuzzParse holds that whatever is read is a job that can be stored and read
// again as the same, and that whatever is refused is refused in a sentence.
func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add("name: a\ncommand: [x]\nresources: {gpu: 1}\n")
	f.Add("name: a\ncommand: [x, '{{port.http}}']\nresources: {ports: [http, admin]}\n")
	f.Add("? [a]\n: b\n")
	f.Add("a: *b\n<<: c")
	f.Fuzz(func(t *testing.T, text string) {
		j, err := spec.Parse([]byte(text), t.TempDir())
		if err != nil {
			var at *spec.Error
			if !errors.As(err, &at) || strings.TrimSpace(at.Message) == "" {
				t.Fatalf("refused with %T: %v", err, err)
			}
			return
		}
		stored, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		var again spec.Job
		if err := json.Unmarshal(stored, &again); err != nil {
			t.Fatalf("%s: %v", stored, err)
		}
		if err := again.Validate(); err != nil {
			t.Fatalf("%s: %v", stored, err)
		}
	})
}

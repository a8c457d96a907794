package cli

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
)

const wholeMaster = `# everything a master knows
name: m1
data_dir: /var/lib/ringmaster
http: 0.0.0.0:5050
raft: 0.0.0.0:5051
bootstrap_expect: 3
join: [10.0.0.1:5051, 10.0.0.2:5051, 10.0.0.3:5051]
placement: rings
prematch: {workers: 3, follow: true}
balance: {threshold: 0.6, weights: {cpus: 0.4, gpu: 0.2}, from: [initial, usage], patience: 2m}
match: {window: 20ms, a: 1, b: 0, c: 2, d: 0.5, e: 3}
rings:
  cpus: {lower: 0, width: 4, count: 16, reach: 8}
  mem: {bounds: [0, 1GiB, 2GiB, 4GiB], reach: 3}
  gpu.slice: {lower: 0, width: 1GiB, count: 80, reach: 80}
  gpu: {lower: 0, width: 1, count: 9}
offer_timeout: 2m30s
offer_grace: 3s
agent_timeout: 80
agent_removal: {rate: 2/10s, burst: 4}
fair_share: {exclude: [gpu]}
auth: {required: true}
token: sesame
tls: {cert: c.pem, key: k.pem, ca: ca.pem}
insecure: false
log_level: debug
log_json: true
`

func TestReadMasterFile(t *testing.T) {
	s := masterDefaults()
	if err := readFile(s, masterOptions(), []byte(wholeMaster)); err != nil {
		t.Fatal(err)
	}
	cpus := s.rings["cpus"]
	if len(cpus.bounds) != 16 || cpus.bounds[15] != 60000 || cpus.reach != 8 {
		t.Errorf("rings of cpus are %+v", cpus)
	}
	if got, want := s.rings["mem"], (ringSetting{[]int64{0, 1 << 30, 2 << 30, 4 << 30}, 3}); !reflect.DeepEqual(got, want) {
		t.Errorf("rings of mem are %+v, want %+v", got, want)
	}
	if got := s.rings["gpu"]; got.reach != 9 || got.bounds[8] != 8 {
		t.Errorf("rings of gpu are %+v", got)
	}
	if got := s.rings["gpu.slice"]; got.bounds[1] != 1<<30 || len(got.bounds) != 80 {
		t.Errorf("rings of gpu.slice are %+v", got)
	}
	s.rings = nil
	required := true
	want := &settings{
		name: "m1", dataDir: "/var/lib/ringmaster", http: "0.0.0.0:5050", raft: "0.0.0.0:5051", bootstrapExpect: 3,
		join: []string{"10.0.0.1:5051", "10.0.0.2:5051", "10.0.0.3:5051"}, placement: offers.Rings, prematchers: 3, prematchFollow: true,
		balance:  match.Balance{Threshold: 0.6, Weights: map[string]float64{"cpus": 0.4, "gpu": 0.2}, From: []match.WeightSource{match.FromInitial, match.FromUsage}, Patience: 2 * time.Minute},
		matching: match.Matching{A: 1, B: 0, C: 2, D: 0.5, E: 3}, matchWindow: 20 * time.Millisecond,
		offerTimeout: 150 * time.Second, offerGrace: 3 * time.Second, agentTimeout: 80 * time.Second, removalEvery: 5 * time.Second, removalBurst: 4,
		exclude: []string{"gpu"}, auth: &required, token: "sesame", cert: "c.pem", key: "k.pem", ca: "ca.pem",
		logLevel: "debug", logJSON: true,
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

func TestReadAgentFile(t *testing.T) {
	s := agentDefaults()
	err := readFile(s, agentOptions(), []byte(`
name: a1
masters: [10.0.0.1:5050, "10.0.0.2:5050"]
data_dir: /var/lib/ringmaster-agent
resources: cpus=16,mem=64GiB,gpu=4x24GiB
attributes: {rack: r1, zone: a, slot: 007}
device_policy: {gpu: spread}
executors: [docker, process]
docker: unix:///run/docker.sock
artifact_roots: [/srv, /opt/models]
artifact_cache: 2GiB
`))
	if err != nil {
		t.Fatal(err)
	}
	want := agentDefaults()
	want.name, want.masters = "a1", []string{"10.0.0.1:5050", "10.0.0.2:5050"}
	want.resources = "cpus=16,mem=64GiB,gpu=4x24GiB"
	want.attributes = map[string]string{"rack": "r1", "zone": "a", "slot": "007"}
	want.policies = map[string]offers.Policy{"gpu": offers.Spread}
	want.executors, want.docker = []string{"docker", "process"}, "/run/docker.sock"
	want.roots, want.cache = []string{"/srv", "/opt/models"}, 2<<30
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

func TestFileRefused(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"unknown key", "name: m\nfoo: 1\n", `line 2: unknown key foo`},
		{"meant another", "\n\noffer_timout: 5s\n", `line 3: unknown key offer_timout; did you mean offer_timeout?`},
		{"unknown in a section", "tls:\n  cert: a\n  chain: b\n", `line 3: unknown key tls.chain; there are tls.cert, tls.key, tls.ca`},
		{"in no section", "auth:\n  token: t\n", `line 2: unknown key auth.token; token belongs to no section`},
		{"balance", "balance: {wait: 5s}\n", `line 1: unknown key balance.wait; there are balance.threshold, balance.weights, balance.from, balance.patience`},
		{"threshold", "balance: {threshold: 50}\n", `line 1: balance.threshold: threshold is 50; 0 to 1`},
		{"weights", "balance:\n  weights: {cpus: heavy}\n", `line 2: balance.weights: cpus: "heavy" is not a number`},
		{"weights of nothing", "balance: {weights: {cpus: 0}}\n", `line 1: balance.weights: the weight of cpus is 0; more than 0, at most 1e+06`},
		{"weights of no kind", "balance: {weights: {a b: 1}}\n", `line 1: balance.weights: "a b" is not a kind of resource`},
		{"from", "balance: {from: [use]}\n", `line 1: balance.from: from has "use", which is none of initial, pending and usage, or there twice`},
		{"match", "match: {f: 1}\n", `line 1: unknown key match.f; there are match.window, match.a, match.b, match.c, match.d, match.e`},
		{"window", "match: {window: 0}\n", `line 1: match.window: it is more than 0`},
		{"coefficient", "match: {a: 1, d: 1e9}\n", `line 1: match.d: 1e+09 is not between -1e6 and 1e6`},
		{"coefficient that is none", "match: {d: much}\n", `line 1: match.d: "much" is not a number`},
		{"pre-matchers", "prematch: {workers: -1}\n", `line 1: prematch.workers: -1 is not between 0 and 256`},
		{"too many pre-matchers", "prematch: {workers: 257}\n", `line 1: prematch.workers: 257 is not between 0 and 256`},
		{"half a pre-matcher", "prematch:\n  workers: 0.5\n", `line 2: prematch.workers: "0.5" is not a whole number`},
		{"placement", "placement: worst\n", `line 1: placement: placement "worst" is unknown; it is rings, waste, least-requested, most-balanced, balance or match`},
		{"twice", "name: a\nname: b\n", `line 2: `},
		{"duration", "name: a\nagent_timeout: soon\n", `line 2: agent_timeout: "soon" is not a duration`},
		{"negative duration", "offer_timeout: -5s\n", `line 1: offer_timeout: the duration "-5s" is negative`},
		{"no duration", "offer_timeout: 0\n", `line 1: offer_timeout: it is more than 0`},
		{"address", "http: 5050\n", `line 1: http: "5050" is not host:port`},
		{"address in a list", "join:\n  - 10.0.0.1:5051\n  - ten\n", `line 1: join: "ten" is not host:port`},
		{"list of lists", "join:\n  - [a]\n", `line 2: join: it is one value`},
		{"number", "bootstrap_expect: three\n", `line 1: bootstrap_expect: "three" is not a whole number`},
		{"fraction", "bootstrap_expect: 1.5\n", `line 1: bootstrap_expect: "1.5" is not a whole number`},
		{"zero", "bootstrap_expect: 0\n", `line 1: bootstrap_expect: 0 is less than 1`},
		{"empty value", "name:\n", `line 1: name: it has no value`},
		{"section for a value", "name: {a: b}\n", `line 1: name: it is one value`},
		{"value for a section", "tls: yes\n", `line 1: tls: it is a section`},
		{"no mapping", "- a\n- b\n", `line 1: it is a section`},
		{"boolean", "log_json: maybe\n", `line 1: log_json: "maybe" is not true or false`},
		{"quoted boolean", "log_json: \"true\"\n", `line 1: log_json: "true" is not true or false`},
		{"log level", "log_level: loud\n", `line 1: log_level: "loud" is not trace`},
		{"rate", "agent_removal:\n  rate: often\n", `line 2: agent_removal.rate: "often" is not a rate such as 1/10s`},
		{"anchor", "name: &a b\n", `line 1: name: anchors`},
		{"second document", "name: a\n---\nname: b\n", `there is a second document`},
		{"no YAML", "name: [a\n", `line 1: `},
		{"rings both", "rings:\n  cpus: {width: 4, count: 2, bounds: [0, 1]}\n", `line 2: rings: cpus: give bounds, or lower, width and count, not both`},
		{"rings neither", "rings:\n  cpus: {reach: 1}\n", `line 2: rings: cpus: give bounds, or width above 0 and count`},
		{"rings width", "rings:\n  cpus:\n    width: wide\n    count: 2\n", `line 3: rings: cpus: width: "wide" is not an amount`},
		{"rings order", "rings:\n  mem: {bounds: [0, 2GiB, 1GiB]}\n", `line 2: rings: mem: bounds: 1GiB is not above the bound before it`},
		{"rings reach", "rings:\n  mem: {bounds: [0, 2GiB], reach: 3}\n", `line 2: rings: mem: reach is 3, and there are 2 rings`},
		{"rings key", "rings:\n  mem: {depth: 1}\n", `line 2: rings: mem: depth: it is none of`},
		{"rings kind", "rings:\n  \"g p u\": {width: 1, count: 1}\n", `is not a kind of resource`},
		{"rings count", "rings:\n  mem: {width: 1, count: 5000}\n", `count: 5000; 1 to 4096`},
		{"rings overflow", "rings:\n  mem: {width: 4PiB, count: 4000}\n", `width times count is too large`},
		{"weights of a kind by another name", "balance: {weights: {memory: 1}}\n", `line 1: balance.weights: "memory" is not a kind of resource; did you mean mem?`},
		{"a kind in capitals", "balance: {weights: {CPUs: 1}}\n", `"CPUs" is not a kind of resource; did you mean cpus?`},
		{"rings of a kind by another name", "rings:\n  cpu: {width: 1, count: 1}\n", `line 2: rings: "cpu" is not a kind of resource; did you mean cpus?`},
		{"rings of slices of no class", "rings:\n  mem.slice: {width: 1, count: 1}\n", `"mem.slice" is not a kind of resource: only classes of devices have slices`},
		{"exclude ports", "fair_share: {exclude: [ports]}\n", `"ports" is not a kind of resource: there are cpus, mem, disk, bandwidth and the classes of devices that agents have, such as gpu`},
		{"exclude a kind in the plural", "fair_share: {exclude: [gpus]}\n", `did you mean gpu?`},
		{"exclude", "fair_share: {exclude: [\"g p u\"]}\n", `line 1: fair_share.exclude: "g p u" is not a kind of resource`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := readFile(masterDefaults(), masterOptions(), []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is more than one line", err)
			}
		})
	}
	for _, c := range []struct{ text, want string }{
		{"executors: [docker, lxc]\n", "line 1: executors: \"lxc\" is no executor"},
		{"docker: tcp://10.0.0.1:2375\n", "line 1: docker: \"tcp://10.0.0.1:2375\" is not the path of a socket"},
		{"executors: []\n", "line 1: executors: no executor is named"},
		{"artifact_roots: [/srv, srv]\n", `line 1: artifact_roots: "srv" is not an absolute path`},
		{"artifact_cache: 1kB\n", `line 1: artifact_cache: "1kB" is less than 1MiB`},
		{"log_size: 1kB\n", `line 1: log_size: "1kB" is less than 64KiB`},
		{"artifact_cache: much\n", `line 1: artifact_cache: `},
		{"device_policy: {gpu: first}\n", `line 1: device_policy: "first" is not spread or pack`},
		{"attributes: {rack: [a]}\n", "line 1: attributes: rack: it is one value"},
		{"raft: 127.0.0.1:1\n", "line 1: unknown key raft"},
	} {
		if err := readFile(agentDefaults(), agentOptions(), []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestEmptyFile(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "\n\n"} {
		s := masterDefaults()
		if err := readFile(s, masterOptions(), []byte(text)); err != nil || !reflect.DeepEqual(s, masterDefaults()) {
			t.Errorf("%q: %v, %+v", text, err, s)
		}
	}
}

// contextOf parses a command line as urfave does.
func contextOf(t *testing.T, opts []option, args ...string) *cli.Context {
	t.Helper()
	set := flag.NewFlagSet("", flag.ContinueOnError)
	flags := daemonFlags(opts)
	for _, f := range flags {
		if err := f.Apply(set); err != nil {
			t.Fatal(err)
		}
	}
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	c := cli.NewContext(cli.NewApp(), set, nil)
	c.Command = &cli.Command{Flags: flags}
	return c
}

// TestPrecedence holds flag before variable before file before default, for
// one setting of each shape.
func TestPrecedence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	file := "name: file\nlog_json: true\njoin: [file:1]\noffer_timeout: 1s\nrings: {cpus: {bounds: [0, 1]}}\n"
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(args ...string) *settings {
		t.Helper()
		s, err := configure(contextOf(t, masterOptions(), args...), masterDefaults(), masterOptions())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	check := func(step string, s *settings, name string, json bool, join []string, offer time.Duration, bounds int) {
		t.Helper()
		if s.name != name || s.logJSON != json || !reflect.DeepEqual(s.join, join) || s.offerTimeout != offer || len(s.rings["cpus"].bounds) != bounds {
			t.Errorf("%s: %+v", step, s)
		}
	}
	check("default", read(), hostname(), false, nil, 2*time.Minute, 0)
	check("file", read("--config", path), "file", true, []string{"file:1"}, time.Second, 2)
	t.Setenv("RINGMASTER_NAME", "env")
	t.Setenv("RINGMASTER_LOG_JSON", "false")
	t.Setenv("RINGMASTER_JOIN", "env:1,env:2")
	t.Setenv("RINGMASTER_OFFER_TIMEOUT", "2s")
	t.Setenv("RINGMASTER_RINGS", "{cpus: {bounds: [0, 1, 2]}}")
	check("variable", read("--config", path), "env", false, []string{"env:1", "env:2"}, 2*time.Second, 3)
	check("flag", read("--config", path, "--name", "flag", "--log-json", "--join", "flag:1", "--offer-timeout", "3s", "--rings", "{cpus: {width: 1, count: 4}}"),
		"flag", true, []string{"flag:1"}, 3*time.Second, 4)
}

// TestKeysAreFlags holds that a key of the file and its flag are one name.
func TestKeysAreFlags(t *testing.T) {
	sections := map[string]string{"tls.cert": "cert", "tls.key": "key", "tls.ca": "ca"}
	seen := map[string]bool{}
	for _, o := range append(masterOptions(), agentOptions()...) {
		want := strings.NewReplacer("_", "-", ".", "-").Replace(o.name)
		if s, ok := sections[o.name]; ok {
			want = s
		}
		if o.flagName() != want {
			t.Errorf("%s is the flag --%s, want --%s", o.name, o.flagName(), want)
		}
		seen[o.name] = true
	}
	for _, key := range strings.Fields("name data_dir http raft bootstrap_expect join placement prematch.workers rings balance.threshold balance.weights balance.from balance.patience match.window match.a match.b match.c match.d match.e offer_timeout agent_timeout agent_removal.rate agent_removal.burst fair_share.exclude auth.required tls.cert tls.key tls.ca masters resources attributes device_policy executors artifact_roots artifact_cache device_plugins log_size sandbox_age") {
		if !seen[key] {
			t.Errorf("the key %s is missing", key)
		}
	}
}

// FuzzReadFile holds that no file, however broken, brings the decoder down,
// that its errors are one line, and that what it takes is in bounds.
func FuzzReadFile(f *testing.F) {
	f.Add([]byte(wholeMaster))
	f.Add([]byte("rings: {cpus: {bounds: [0, 1e3, 2]}}"))
	f.Add([]byte("name: &a [*a]\n<<: *a\n? x : y\n"))
	f.Add([]byte("a: b: c\n\t- \"\\u12\n"))
	f.Add([]byte("join: !!set {a}\n--- |\n x"))
	opts := append(devOptions(), mastersOption())
	f.Fuzz(func(t *testing.T, text []byte) {
		s := devDefaults()
		if err := readFile(s, opts, text); err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q is more than one line", err)
			}
			return
		}
		for kind, r := range s.rings {
			if len(r.bounds) == 0 || len(r.bounds) > maxRings || r.reach < 1 || r.reach > len(r.bounds) {
				t.Errorf("rings of %s are %+v", kind, r)
			}
			for i, b := range r.bounds {
				if b < 0 || i > 0 && b <= r.bounds[i-1] {
					t.Errorf("bounds of %s are %v", kind, r.bounds)
				}
			}
		}
		if s.offerTimeout <= 0 || s.agentTimeout <= 0 || s.removalEvery <= 0 || s.removalBurst < 1 || s.bootstrapExpect < 0 || s.founders() < 1 && len(s.join) == 0 {
			t.Errorf("%+v is out of range", s)
		}
	})
}

package cli

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/inventory"
	"github.com/ringmaster-project/ringmaster/agent/isolation"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/master"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

// settings is all that the daemons can be told, after flags, environment and
// file were laid over the defaults of the command.
type settings struct {
	// Of every daemon.
	name     string
	dataDir  string
	http     string
	logLevel string
	logJSON  bool
	token    string
	cert     string
	key      string
	ca       string
	insecure bool
	otlp     string // URL of a collector of traces; "": none
	auth     *bool  // nil: a token is asked for where there is one

	// Of a master.
	raft            string
	advertiseHTTP   string
	advertiseRaft   string
	bootstrapExpect int // 0: not given, see founders
	join            []string
	placement       offers.Placement
	prematchers     int // 0: one per core
	prematchFollow  bool
	balance         match.Balance
	matching        match.Matching
	matchWindow     time.Duration
	rings           map[string]ringSetting
	offerTimeout    time.Duration
	offerGrace      time.Duration
	agentTimeout    time.Duration
	removalEvery    time.Duration
	removalBurst    int
	exclude         []string

	// Of the jobs framework.
	role offers.Role

	// Of an agent.
	masters    []string
	resources  string
	attributes map[string]string
	policies   map[string]offers.Policy // by class; "" is the default for all
	plugins    []string                 // programs that find devices
	executors  []string                 // none: what the host has
	docker     string                   // socket of the engine; "": the usual one
	isolation  *isolation.Parts         // nil: what the host does of the default
	keep       uint64                   // capabilities of tasks
	rlimits    []record.Rlimit
	cpuQuota   bool
	roots      []string // that file URIs of artifacts may read
	cache      int64    // bytes of artifacts; 0 is the agent's default
	logSize    int64
	sandboxAge time.Duration
}

func masterDefaults() *settings {
	return &settings{
		name: hostname(), dataDir: "/var/lib/ringmaster", http: "127.0.0.1:5050", logLevel: "info",
		raft: "127.0.0.1:5051", balance: *match.DefaultBalance(), matching: *match.DefaultMatching(), matchWindow: 50 * time.Millisecond,
		offerTimeout: 2 * time.Minute, offerGrace: 5 * time.Second, agentTimeout: 75 * time.Second, removalEvery: 10 * time.Second, removalBurst: 3,
	}
}

const defaultLogSize = 100 << 20

func agentDefaults() *settings {
	return &settings{
		name: hostname(), dataDir: "/var/lib/ringmaster-agent", http: "127.0.0.1:0", logLevel: "info",
		masters: []string{defaultMasters}, logSize: defaultLogSize,
	}
}

// devDefaults are a master's; the agent beside it listens where it likes.
func devDefaults() *settings {
	s := masterDefaults()
	s.dataDir, s.raft, s.logLevel, s.logSize = "", "127.0.0.1:0", "warn", defaultLogSize
	return s
}

// openDoor returns the door of a daemon.
func (s *settings) openDoor() (*door.Door, error) {
	conf := door.Config{Token: s.token, CertFile: s.cert, KeyFile: s.key, CAFile: s.ca, Insecure: s.insecure}
	switch {
	case s.auth != nil && *s.auth && s.token == "":
		return nil, errors.New("auth.required is set and there is no token: give --token or RINGMASTER_TOKEN")
	case s.auth != nil && !*s.auth:
		conf.Token = ""
	}
	return door.Open(conf)
}

// The readers below turn the text of a flag, a variable or a line of a file
// into a setting; their errors say what is wanted, the caller says where.

func address(into func(*settings) *string) func(*settings, string) error {
	return func(s *settings, text string) error {
		if err := hostPort(text); err != nil {
			return err
		}
		*into(s) = text
		return nil
	}
}

func hostPort(text string) error {
	if _, port, err := net.SplitHostPort(text); err != nil || port == "" {
		return fmt.Errorf("%q is not host:port", text)
	}
	return nil
}

func addresses(into func(*settings) *[]string) func(*settings, []string) error {
	return func(s *settings, list []string) error {
		for _, a := range list {
			if err := hostPort(a); err != nil {
				return err
			}
		}
		*into(s) = list
		return nil
	}
}

func word(into func(*settings) *string) func(*settings, string) error {
	return func(s *settings, text string) error {
		if !offers.Printable(text) {
			return fmt.Errorf("%q is not printable", text)
		}
		*into(s) = text
		return nil
	}
}

func span(into func(*settings) *time.Duration) func(*settings, string) error {
	return func(s *settings, text string) error {
		d, err := offers.ParseDuration(text)
		if err == nil && d == 0 {
			err = errors.New("it is more than 0")
		}
		*into(s) = d.Std()
		return err
	}
}

func atLeastOne(into func(*settings) *int) func(*settings, string) error {
	return func(s *settings, text string) error {
		n, err := wholeNumber(text)
		if err == nil && n < 1 {
			err = fmt.Errorf("%d is less than 1", n)
		}
		*into(s) = n
		return err
	}
}

func prematchers(s *settings, text string) error {
	n, err := wholeNumber(text)
	if err == nil && (n < 0 || n > master.MaxPrematchers) {
		err = fmt.Errorf("%d is not between 0 and %d", n, master.MaxPrematchers)
	}
	s.prematchers = n
	return err
}

func wholeNumber(text string) (int, error) {
	var n int
	if _, err := fmt.Sscanf(text, "%d", &n); err != nil || fmt.Sprint(n) != text {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return n, nil
}

// removalRate reads "1/10s": one agent every ten seconds.
func removalRate(s *settings, text string) error {
	number, per, ok := strings.Cut(text, "/")
	n, err := wholeNumber(strings.TrimSpace(number))
	if !ok || err != nil || n < 1 {
		return fmt.Errorf("%q is not a rate such as 1/10s", text)
	}
	d, err := offers.ParseDuration(strings.TrimSpace(per))
	if err != nil {
		return err
	}
	if s.removalEvery = d.Std() / time.Duration(n); s.removalEvery <= 0 {
		return fmt.Errorf("%q is not a rate such as 1/10s", text)
	}
	return nil
}

func placement(s *settings, text string) error {
	s.placement = offers.Placement(text)
	return s.placement.Validate()
}

func logLevel(s *settings, text string) error {
	switch text {
	case "trace", "debug", "info", "warn", "error", "off":
		s.logLevel = text
		return nil
	}
	return fmt.Errorf("%q is not trace, debug, info, warn, error or off", text)
}

// executors reads [process, docker]; what there is of them is the agent's to
// say.
func executors(s *settings, list []string) error {
	for i, e := range list {
		if e != agent.ProcessExecutor && e != agent.DockerExecutor || slices.Contains(list[:i], e) {
			return fmt.Errorf("%q is no executor, or named twice; there are process and docker", e)
		}
	}
	if len(list) == 0 {
		return errors.New("no executor is named; there are process and docker")
	}
	s.executors = list
	return nil
}

// dockerSocket reads a path, or what DOCKER_HOST holds.
func dockerSocket(s *settings, text string) error {
	path := strings.TrimPrefix(text, "unix://")
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is not the path of a socket; engines on other hosts can't show a container its sandbox", text)
	}
	s.docker = path
	return nil
}

func fairShareExclude(s *settings, kinds []string) error {
	for _, k := range kinds {
		if err := wantKind(k); err != nil {
			return err
		}
	}
	s.exclude = kinds
	return nil
}

// otherNames are what people call kinds elsewhere. A class of devices may have
// any name, so that of what is none of these only an agent can say whether it is one.
var otherNames = map[string]string{
	"cpu": "cpus", "core": "cpus", "cores": "cpus", "vcpu": "cpus", "vcpus": "cpus",
	"memory": "mem", "ram": "mem", "disks": "disk", "storage": "disk",
	"net": "bandwidth", "network": "bandwidth", "bandwith": "bandwidth", "gpus": "gpu",
}

// wantKind refuses what can be no kind of resource, neither a scalar nor a
// class of devices.
func wantKind(k string) error {
	const all = "there are cpus, mem, disk, bandwidth and the classes of devices that agents have, such as gpu"
	lower := strings.ToLower(k)
	_, scalar := offers.ScalarNamed(lower)
	meant := otherNames[lower]
	if scalar && lower != k {
		meant = lower
	}
	switch {
	case meant != "":
		return fmt.Errorf("%q is not a kind of resource; did you mean %s?", k, meant)
	case k == "" || len(k) > 64 || k == "ports" || strings.Trim(k, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "":
		return fmt.Errorf("%q is not a kind of resource: %s", k, all)
	}
	return nil
}

func absolutePaths(into func(*settings) *[]string) func(*settings, []string) error {
	return func(s *settings, paths []string) error {
		for _, path := range paths {
			if !filepath.IsAbs(path) {
				return fmt.Errorf("%q is not an absolute path", path)
			}
		}
		*into(s) = paths
		return nil
	}
}

func logSize(s *settings, text string) error {
	size, err := offers.ParseSize(text)
	if err == nil && size != 0 && size < 64<<10 {
		err = fmt.Errorf("%q is less than 64KiB; 0 keeps all", text)
	}
	s.logSize = size
	return err
}

func artifactCache(s *settings, text string) error {
	size, err := offers.ParseSize(text)
	if err == nil && size < 1<<20 {
		err = fmt.Errorf("%q is less than 1MiB", text)
	}
	s.cache = size
	return err
}

func setAttributes(s *settings, m map[string]string) error {
	s.attributes = m
	return (&offers.Agent{Name: "agent", Attributes: m}).Validate()
}

// devicePolicies reads {"gpu": "pack"}; the key "" is for all classes.
// resources reads what is declared, so that a mistake in it is told with the
// place it stands at.
func resources(s *settings, text string) error {
	if _, err := inventory.Parse(text); err != nil {
		for item := range strings.SplitSeq(text, ",") {
			name, amount, _ := strings.Cut(item, "=")
			meant := otherNames[strings.ToLower(strings.TrimSpace(name))]
			if meant != "" && !strings.Contains(amount, "x") { // else it may be a class of devices
				return fmt.Errorf("%.60s: there is no such kind; did you mean %s?", name, meant)
			}
		}
		return errors.New(strings.TrimPrefix(err.Error(), "resources: "))
	}
	s.resources = text
	return nil
}

func devicePolicies(s *settings, m map[string]string) error {
	s.policies = map[string]offers.Policy{}
	for class, text := range m {
		p := offers.Policy(text)
		if err := p.Validate(); err != nil || p == "" {
			return fmt.Errorf("%q is not spread or pack", text)
		}
		s.policies[class] = p
	}
	return nil
}

package cli

import (
	"os"
	"time"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/offers"
)

func hostname() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return name
}

// commonOptions are those of every daemon; help shows where they begin.
func commonOptions(begin *settings) []option {
	return []option{
		{name: "name", usage: "`NAME` of this daemon, unique among its kind", shown: "the host's name", text: word(func(s *settings) *string { return &s.name })},
		{name: "data_dir", usage: "`FOLDER` for what must not be lost", shown: folderText(begin.dataDir), text: word(func(s *settings) *string { return &s.dataDir })},
		{name: "http", usage: "`HOST:PORT` to listen on for HTTP and websockets", shown: begin.http, text: address(func(s *settings) *string { return &s.http })},
		{name: "log_level", usage: "`LEVEL`: trace, debug, info, warn, error or off; read again at SIGHUP", shown: begin.logLevel, text: logLevel},
		{name: "log_json", usage: "log one JSON object a line", boolean: func(s *settings, b bool) error { s.logJSON = b; return nil }},
		{name: "token", usage: "the cluster's `TOKEN`", shown: "none", text: word(func(s *settings) *string { return &s.token })},
		{name: "tls.cert", flag: "cert", usage: "PEM `FILE` with our certificate", text: word(func(s *settings) *string { return &s.cert })},
		{name: "tls.key", flag: "key", usage: "PEM `FILE` with the key of --cert", text: word(func(s *settings) *string { return &s.key })},
		{name: "tls.ca", flag: "ca", usage: "PEM `FILE` with who signs the others' certificates", text: word(func(s *settings) *string { return &s.ca })},
		{name: "otlp_endpoint", usage: "`URL` of an OpenTelemetry collector that gets the traces of tasks, by OTLP over HTTP", shown: "none", text: otlpEndpoint},
		{name: "insecure", usage: "serve others without TLS and token", boolean: func(s *settings, b bool) error { s.insecure = b; return nil }},
		{name: "auth.required", usage: "refuse to start without a token; false asks nobody for one", boolean: func(s *settings, b bool) error { s.auth = &b; return nil }},
	}
}

// masterOnly are those that only a master has.
func masterOnly() []option {
	return []option{
		{name: "raft", usage: "`HOST:PORT` to listen on for the other masters", shown: "127.0.0.1:5051", text: address(func(s *settings) *string { return &s.raft })},
		{name: "advertise_http", usage: "`HOST:PORT` under which clients and agents reach --http", shown: "where it listens", text: address(func(s *settings) *string { return &s.advertiseHTTP })},
		{name: "advertise_raft", usage: "`HOST:PORT` under which the other masters reach --raft", shown: "where it listens", text: address(func(s *settings) *string { return &s.advertiseRaft })},
		{name: "bootstrap_expect", usage: "`NUMBER` of masters that found a new cluster together", shown: "1, and none with --join alone, which joins a cluster that runs", text: atLeastOne(func(s *settings) *int { return &s.bootstrapExpect })},
		{name: "join", usage: "Raft addresses `HOST:PORT,...` of the masters", list: addresses(func(s *settings) *[]string { return &s.join })},
		{name: "placement", usage: "`STRATEGY` that chooses agents: " + offers.PlacementNames(), shown: "rings", text: placement},
		{name: "prematch.workers", usage: "`NUMBER` of agents' readers at the same time, for strategies that read them all; 0 is one a core", shown: "0", text: prematchers},
		{name: "prematch.follow", usage: "read agents for the leader, too, while another master leads", boolean: func(s *settings, b bool) error { s.prematchFollow = b; return nil }},
		{name: "balance.threshold", usage: "`PART` of the cluster, 0 to 1, from which on balance reads every agent", shown: "0.5", text: balanceThreshold},
		{name: "balance.weights", usage: "`K=W,...`: the kinds that balance counts and how much", shown: "cpus, mem and every class alike", pairs: balanceWeights},
		{name: "balance.from", usage: "`SOURCES,...` of the weights of balance, which are averaged: initial, pending, usage", shown: "all of them", list: balanceFrom},
		{name: "balance.patience", usage: "`TIME` that a demand waits at most while balance prefers others", shown: "1m", text: span(func(s *settings) *time.Duration { return &s.balance.Patience })},
		{name: "match.window", usage: "`TIME` for which match gathers what comes", shown: "50ms", text: span(func(s *settings) *time.Duration { return &s.matchWindow })},
		{name: "match.a", usage: "`WEIGHT` for match of what an agent can do", shown: "0.5", text: coefficient(func(s *settings) *float64 { return &s.matching.A })},
		{name: "match.b", usage: "`WEIGHT` for match of how idle an agent is", shown: "0.5", text: coefficient(func(s *settings) *float64 { return &s.matching.B })},
		{name: "match.c", usage: "`WEIGHT` for match of a demand's price by its runtime", shown: "1", text: coefficient(func(s *settings) *float64 { return &s.matching.C })},
		{name: "match.d", usage: "`WEIGHT` for match of a demand's slack; below 0 little slack comes first", shown: "-1", text: coefficient(func(s *settings) *float64 { return &s.matching.D })},
		{name: "match.e", usage: "`WEIGHT` for match of an agent's cost (attribute unit_cost) times the runtime", shown: "1", text: coefficient(func(s *settings) *float64 { return &s.matching.E })},
		{name: "rings", usage: "`RINGS` by kind, such as '{cpus: {lower: 0, width: 4, count: 16, reach: 8}}'", shown: "by the kind", rings: setRings},
		{name: "offer_timeout", usage: "`TIME` after which an unanswered offer is taken back", shown: "2m", text: span(func(s *settings) *time.Duration { return &s.offerTimeout })},
		{name: "offer_grace", usage: "`TIME` after which an unanswered offer is taken back where a framework with a lower share waits for its room; ten times that from who answers others", shown: "5s", text: span(func(s *settings) *time.Duration { return &s.offerGrace })},
		{name: "agent_timeout", usage: "`TIME` of silence after which an agent is unreachable", shown: "75s", text: span(func(s *settings) *time.Duration { return &s.agentTimeout })},
		{name: "agent_removal.rate", usage: "`RATE` at which silent agents are given up, such as 1/10s", shown: "1/10s", text: removalRate},
		{name: "agent_removal.burst", usage: "`NUMBER` of them that may be given up at once", shown: "3", text: atLeastOne(func(s *settings) *int { return &s.removalBurst })},
		{name: "fair_share.exclude", usage: "`KINDS,...` that don't count for the dominant share", list: fairShareExclude},
	}
}

// agentOnly are those that only an agent has.
func agentOnly() []option {
	return []option{
		{name: "resources", usage: "`AMOUNTS` that are offered, such as 'cpus=4,mem=8GiB,disk=100GiB,gpu=2x24GiB'; what is not named is detected, X=0 is none", shown: "detected", text: resources},
		{name: "attributes", usage: "`K=V,...` that constraints see", pairs: setAttributes},
		{name: "device_policy", usage: "spread or pack, or `CLASS=POLICY,...`", shown: "pack", pairs: devicePolicies},
		{name: "device_plugins", usage: "`PROGRAMS,...` that find devices of classes that resources does not name", shown: "none", list: absolutePaths(func(s *settings) *[]string { return &s.plugins })},
		{name: "executors", usage: "`EXECUTORS,...` that run tasks: process, docker", shown: "process, and docker where an engine answers", list: executors},
		{name: "docker", usage: "`SOCKET` of the Docker engine", shown: agent.DefaultDockerSocket, text: dockerSocket},
		{name: "isolation", usage: "`PARTS,...` that keep tasks apart, all of which the host must do: cgroups, privileges, mount, ipc and pid, or namespaces (mount,ipc,pid), all, none", shown: "cgroups,privileges,mount as far as the host does them", list: setIsolation},
		{name: "capabilities", usage: "`CAPABILITIES,...` that tasks keep under privileges, such as net_bind_service", shown: "none", list: setCapabilities},
		{name: "rlimits", usage: "`K=LIMIT,...` of every process of a task, such as nofile=4096,core=0:unlimited (soft:hard)", shown: "nofile=65536,core=0 below the agent's own", pairs: setRlimits},
		{name: "cpu_quota", usage: "hold tasks to their cpus also while others are idle", boolean: func(s *settings, b bool) error { s.cpuQuota = b; return nil }},
		{name: "artifact_roots", usage: "`FOLDERS,...` that every task may fetch artifacts from with file URIs", shown: "none", list: absolutePaths(func(s *settings) *[]string { return &s.roots })},
		{name: "log_size", usage: "`SIZE` that is kept of each of a task's logs; 0 keeps all", shown: "100MiB", text: logSize},
		{name: "sandbox_age", usage: "`TIME` after which sandboxes of ended tasks go, if not before", shown: "168h", text: span(func(s *settings) *time.Duration { return &s.sandboxAge })},
		{name: "artifact_cache", usage: "`SIZE` of fetched artifacts that are kept, and of the largest that is fetched", shown: "10GiB", text: artifactCache},
	}
}

func mastersOption() option {
	return option{name: "masters", usage: "`HOST:PORT,...` of the masters' HTTP", shown: defaultMasters, list: addresses(func(s *settings) *[]string { return &s.masters })}
}

func folderText(path string) string {
	if path == "" {
		return "a temporary one"
	}
	return path
}

func masterOptions() []option { return append(commonOptions(masterDefaults()), masterOnly()...) }

func agentOptions() []option {
	return append(append(commonOptions(agentDefaults()), mastersOption()), agentOnly()...)
}

func devOptions() []option {
	return append(append(commonOptions(devDefaults()), masterOnly()...), agentOnly()...)
}

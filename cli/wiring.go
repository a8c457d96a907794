package cli

import (
	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/master"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/rings"
)

// openMaster opens the master that s describes.
func openMaster(s *settings, d *door.Door, t offers.Tracer, log hclog.Logger) (*master.Master, error) {
	layouts := map[string]rings.Layout{}
	for kind, r := range s.rings {
		layouts[kind] = rings.Layout{Name: kind, Bounds: r.bounds, Reach: r.reach}
	}
	return master.Open(master.Config{
		Name: s.name, DataDir: s.dataDir, HTTP: s.http, Raft: s.raft,
		AdvertiseHTTP: s.advertiseHTTP, AdvertiseRaft: s.advertiseRaft,
		BootstrapExpect: s.founders(), Join: s.join,
		OfferTimeout: s.offerTimeout, OfferGrace: s.offerGrace, AgentTimeout: s.agentTimeout,
		RemovalEvery: s.removalEvery, RemovalBurst: s.removalBurst,
		Exclude: s.exclude, Placement: s.placement, Rings: layouts, Prematchers: s.prematchers, PrematchFollow: s.prematchFollow,
		Balance: &s.balance, Matching: &s.matching, MatchWindow: s.matchWindow,
		Version: Version, Tracer: t, Door: d, Logger: log,
	})
}

// founders is how many new masters found a cluster together. One that was told
// whom to join and not how many found does not found any: it would be alone in
// a cluster of its own before the others were asked.
func (s *settings) founders() int {
	if s.bootstrapExpect == 0 && len(s.join) == 0 {
		return 1
	}
	return s.bootstrapExpect
}

// openAgent opens the agent that s describes; endTasks says whether its tasks
// end with it.
func openAgent(s *settings, d *door.Door, t offers.Tracer, log hclog.Logger, endTasks bool) (*agent.Agent, error) {
	return agent.Open(agent.Config{
		Name: s.name, Masters: s.masters, DataDir: s.dataDir, HTTP: s.http,
		Resources: s.resources, Attributes: s.attributes, Policies: s.policies,
		Executors: s.executors, DockerSocket: s.docker,
		Isolation: s.isolation, Capabilities: s.keep, Rlimits: s.rlimits, CPUQuota: s.cpuQuota,
		DevicePlugins: s.plugins, ArtifactRoots: s.roots, ArtifactCache: s.cache, LogSize: s.logSize, SandboxAge: s.sandboxAge,
		Version: Version, KillTasksOnClose: endTasks, Tracer: t, Door: d, Logger: log,
	})
}

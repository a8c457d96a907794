package cli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
)

// What the cluster of BenchmarkFailover holds.
const (
	failoverAgents = 1_000
	failoverTasks  = 10_000
)

// BenchmarkFailover kills the leader of three durable masters with SIGKILL,
// again and again, and reports how long it takes until a framework has its
// first new offer, with 1,000 simulated agents and 10,000 running tasks. Each
// time all agents and the killed master are back before the next one goes.
//
//	make bench BENCH=Failover BENCHTIME=10x PACKAGES=./cli
func BenchmarkFailover(b *testing.B) {
	c := newCluster(b, 3, 0)
	fleet := launch(b, c.dir, "fleet", "bench", "agents", "--count", fmt.Sprint(failoverAgents),
		"--resources", "cpus=16,mem=64GiB,disk=1TiB", "--task-time", "24h", "--masters", strings.Join(c.http, ","))
	fleet.await(b)
	l := newLoad(b, c, offers.Resources{Amounts: offers.Amounts{offers.CPUs: 1000, offers.Mem: 1 << 30}})
	l.run(failoverTasks, &offers.Command{Argv: []string{"sleep", "3600"}})
	l.demand("more", 100)
	l.until("offers", func(e framework.Event) bool { _, ok := e.(framework.Offered); return ok })

	var connected, offered []time.Duration
	for b.Loop() {
		leader := c.masters[c.leader(b)]
		killed := time.Now()
		leader.kill(b)
		l.until("another leader", func(e framework.Event) bool { _, ok := e.(framework.Reconnected); return ok })
		connected = append(connected, time.Since(killed))
		l.until("an offer", func(e framework.Event) bool { _, ok := e.(framework.Offered); return ok })
		offered = append(offered, time.Since(killed))

		b.StopTimer()
		leader.start(b)
		leader.await(b)
		c.settle(b)
		b.StartTimer()
	}
	b.Logf("from kill to registered: %v", connected)
	b.Logf("from kill to an offer: %v", offered)
	quantiles(b, "registered", connected)
	quantiles(b, "offer", offered)
}

// settle waits until every agent is back and every task in its place.
func (c *cluster) settle(b *testing.B) {
	b.Helper()
	var status struct {
		Agents map[string]int `json:"agents"`
		Tasks  map[string]int `json:"tasks"`
	}
	for end := time.Now().Add(patience); ; {
		status.Agents, status.Tasks = nil, nil
		c.read(b, "/v1/status", &status)
		var list struct {
			Agents []struct {
				Online bool `json:"online"`
			} `json:"agents"`
		}
		c.read(b, "/v1/agents", &list)
		online := 0
		for _, a := range list.Agents {
			if a.Online {
				online++
			}
		}
		if online == failoverAgents && status.Tasks["running"] == failoverTasks {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("%d agents are online and the tasks are %v; want %d and %d running", online, status.Tasks, failoverAgents, failoverTasks)
		}
		<-time.After(200 * time.Millisecond)
	}
}

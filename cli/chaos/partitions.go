package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// everybody returns the names of all parties.
func (l *lab) everybody() []string {
	return slices.Concat(names(l.masters), names(l.agents), l.frameworks())
}

func (l *lab) frameworks() []string {
	var out []string
	for _, a := range l.authors {
		out = append(out, a.name)
	}
	return append(out, l.keepers...)
}

// during cuts links for a while.
func (l *lab) during(how time.Duration, links []link) {
	heal := l.mesh.sever(links...)
	time.Sleep(how)
	heal()
}

// partitionLeader takes the leader from the other masters, and in half of the
// cases from everybody else, too: otherwise a deposed leader still has clients.
func partitionLeader(l *lab, r *rand.Rand) (string, error) {
	name, term, how := "", uint64(0), span(r, 2*time.Second, 7*time.Second)
	d, term, err := l.leader()
	if err != nil {
		return "", err
	}
	name = d.name
	from, what := names(l.masters), "the masters"
	if r.IntN(2) == 0 {
		from, what = l.everybody(), "everybody"
	}
	l.during(how, between([]string{name}, from))
	return fmt.Sprintf("%s in term %d from %s for %v", name, term, what, how), nil
}

// oneWayPartition lets a party hear and not be heard, or the other way round.
func oneWayPartition(l *lab, r *rand.Rand) (string, error) {
	from, to, what := names(l.masters), names(l.masters), "from the other masters"
	d, _, err := l.leader()
	if err != nil {
		return "", err
	}
	one := []string{d.name}
	switch r.IntN(4) {
	case 0:
		one, what = []string{l.agents[r.IntN(len(l.agents))].name}, "from the masters"
	case 1:
		all := l.frameworks()
		one, what = []string{all[r.IntN(len(all))]}, "from the masters"
	case 2:
		to, what = l.everybody(), "from everybody"
	}
	how := span(r, 2*time.Second, agentTimeout+3*time.Second)
	if r.IntN(2) == 0 {
		l.during(how, oneWay(one, to))
		return fmt.Sprintf("%s is not heard for %v, %s", one[0], how, what), nil
	}
	l.during(how, oneWay(from, one))
	return fmt.Sprintf("%s does not hear the masters for %v", one[0], how), nil
}

func partitionAgent(l *lab, r *rand.Rand) (string, error) {
	a, how := l.agents[r.IntN(len(l.agents))], agentTimeout+span(r, time.Second, 5*time.Second)
	l.during(how, between([]string{a.name}, names(l.masters)))
	return fmt.Sprintf("%s for %v", a.name, how), nil
}

func partitionFramework(l *lab, r *rand.Rand) (string, error) {
	all := l.frameworks()
	who, how := all[r.IntN(len(all))], span(r, time.Second, 8*time.Second)
	l.during(how, between([]string{who}, names(l.masters)))
	return fmt.Sprintf("%s for %v", who, how), nil
}

func delayEverything(l *lab, r *rand.Rand) (string, error) {
	d, how := span(r, 20*time.Millisecond, 150*time.Millisecond), span(r, 2*time.Second, 6*time.Second)
	all := l.everybody()
	heal := l.mesh.slow(d, oneWay(all, all)...)
	time.Sleep(how)
	heal()
	return fmt.Sprintf("%v on every link for %v", d, how), nil
}

func resetConnections(l *lab, r *rand.Rand) (string, error) {
	all := l.everybody()
	who := all[r.IntN(len(all))]
	everyone := r.IntN(3) == 0
	n := l.mesh.reset(func(c link) bool { return everyone || c.from == who || c.to == who })
	if everyone {
		who = "everybody"
	}
	return fmt.Sprintf("%d of %s", n, who), nil
}

package agent_test

import (
	"fmt"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// BenchmarkLaunchToRunning is from the launch leaving the master to the
// running status arriving there, one task at a time, with the checkpoint and
// the cgroups of the real thing.
func BenchmarkLaunchToRunning(b *testing.B) {
	m := newMaster(b)
	run(b, config(b, b.TempDir(), m))
	l, _ := m.welcome("a1", 1)
	n := 0
	for b.Loop() {
		n++
		task := shell(offers.TaskID(fmt.Sprintf("t%d", n)), "exit 0")
		task.Resources.Amounts = offers.Amounts{100, 64 << 20}
		l.launch(1, task)
		if s := l.status(task.ID); s.State != offers.Running {
			b.Fatalf("%+v", s)
		}
		b.StopTimer()
		l.end(task.ID)
		b.StartTimer()
	}
}

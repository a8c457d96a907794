package lead

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// crowd is so many updates that were sent to a framework one after the other.
func crowd(n int) (d *delivery, ref func(int) offers.TaskRef, now time.Time) {
	d, now = newDelivery("1"), time.Unix(1000, 0)
	ref = func(i int) offers.TaskRef {
		return offers.TaskRef{Framework: "f", Task: offers.TaskID(fmt.Sprint("t", i))}
	}
	for i := range n {
		b, _ := d.add(ref(i), offers.Status{Task: ref(i).Task, State: offers.Running, UpdateID: "u"}, true)
		d.sent(b, now)
	}
	return d, ref, now
}

// again returns how many updates go out again at a time.
func again(d *delivery, now time.Time) int {
	due := d.due(now)
	for _, b := range due {
		d.sent(b, now)
	}
	return len(due)
}

// TestAFrameworkThatIsBehindGetsNothingTwice: one that has much to do, and is
// on its way through it, is not given more.
func TestAFrameworkThatIsBehindGetsNothingTwice(t *testing.T) {
	const tasks = 1000
	d, ref, now := crowd(tasks)
	for i := range tasks {
		now = now.Add(patience * 9 / 10)
		if n := again(d, now); n > 0 {
			t.Fatalf("%d updates are sent again after %d were acknowledged", n, i)
		}
		d.acknowledge(ref(i), "u", now)
	}
	if at, more := d.next(); more {
		t.Errorf("all is acknowledged, and something is due at %v", at)
	}
}

// TestWhatIsPassedOverIsSentAgain: an update that the framework did not
// acknowledge while it did a later one is lost, however busy the framework is.
func TestWhatIsPassedOverIsSentAgain(t *testing.T) {
	d, ref, now := crowd(1)
	got := 0
	for i := 1; i < 100; i++ {
		now = now.Add(patience / 10)
		b, _ := d.add(ref(i), offers.Status{Task: ref(i).Task, State: offers.Running, UpdateID: "u"}, true)
		d.sent(b, now)
		d.acknowledge(ref(i), "u", now)
		got += again(d, now)
	}
	// At 1, 3 and 7 s.
	if got != 3 {
		t.Errorf("the update was sent again %d times in 10 s; want 3", got)
	}
}

// TestASilentFrameworkIsNotBuried: what is sent again to one that acknowledges
// nothing is bounded, and all of it is in the end.
func TestASilentFrameworkIsNotBuried(t *testing.T) {
	const tasks = 5 * burst
	d, _, now := crowd(tasks)
	bursts := 0
	for second := 1; second <= 60; second++ {
		now = now.Add(patience)
		n := again(d, now)
		if n > burst {
			t.Fatalf("%d updates are sent again in second %d; want %d at most", n, second, burst)
		}
		if n > 0 {
			bursts++
		}
	}
	if bursts > 7 {
		t.Errorf("%d bursts in a minute; each is to come after twice the time of the one before", bursts)
	}
	for ref, b := range d.outboxes {
		if b.sends < 2 {
			t.Fatalf("%s was never sent again", ref)
		}
	}
}

// TestWhatIsAcknowledgedEarlyBuriesNobody: a framework acknowledges at once what
// comes once more, ahead of all that it has yet to come to, and is not sent that
// again any faster than it acknowledges.
func TestWhatIsAcknowledgedEarlyBuriesNobody(t *testing.T) {
	const tasks, pace = 10_000, 10
	d, ref, now := crowd(tasks + 1)
	d.acknowledge(ref(tasks), "u", now)
	total := 0
	for second := 1; second <= 60; second++ {
		now = now.Add(patience)
		total += again(d, now)
		for i := range pace {
			d.acknowledge(ref((second-1)*pace+i), "u", now)
		}
		if most := second * (burst + pace); total > most {
			t.Fatalf("%d updates are sent again in %d s; want %d at most", total, second, most)
		}
	}
	if total < 60*burst {
		t.Errorf("%d updates are sent again in a minute; want %d", total, 60*burst)
	}
}

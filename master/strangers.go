package master

import (
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
)

// registerPatience is for how long a connection may be open with nobody registered
// on it: whatever it says meanwhile, it has a place among those that are served.
const registerPatience = 30 * time.Second

// expect ends the session when nobody registers on it in time. standing, which is
// asked in the loop, says how far that has come. The returned function is to be called
// when the session has ended, and waits for what expect has started.
func (s *session) expect(standing func(*lead.Core) lead.Standing) (over func()) {
	done, watched := make(chan struct{}), make(chan struct{})
	timer := time.AfterFunc(registerPatience, func() {
		defer close(watched)
		s.watchStranger(standing, done)
	})
	return func() {
		if close(done); !timer.Stop() {
			<-watched
		}
	}
}

// watchStranger asks, until that is known, whether the session is to end. What it says
// first may wait for its turn for long, and so may the commit of a registration.
func (s *session) watchStranger(standing func(*lead.Core) lead.Standing, done <-chan struct{}) {
	again := time.NewTicker(registerPatience)
	defer again.Stop()
	for {
		known := make(chan bool, 1)
		if !s.enter(func(core *lead.Core) { known <- s.judge(standing(core)) }, func() { known <- true }) {
			return
		}
		select {
		case decided := <-known:
			if decided {
				return
			}
		case <-s.loop.stopped:
			return
		}
		select {
		case <-again.C:
		case <-done:
			return
		}
	}
}

// judge ends the session of a stranger, and reports whether there is nothing more to
// watch.
func (s *session) judge(standing lead.Standing) (decided bool) {
	switch {
	case standing == lead.Stranger && !s.greets.Load():
		s.End("nobody registered for " + registerPatience.String())
		return true
	case standing == lead.Known:
		return true
	}
	return false
}

package seek

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

const (
	firstWait    = 100 * time.Millisecond
	lastWait     = 5 * time.Second
	electionWait = 500 * time.Millisecond // the longest while masters elect
	maxRedirects = 4
	// dialPatience is for one address: a master that is stopped says nothing. It
	// doubles each time that it was too short: where very many agents come back at
	// once, whoever gives up has waited for nothing, and so has the master worked.
	dialPatience    = 3 * time.Second
	longestPatience = 10 * time.Second // a handshake may take no more
	// masterSilence is after how long without a sign of life the leader is
	// left, for one that was stopped or cut off, where the next one can't call the
	// agent (see [Seeker.Call]). Its answers to pings are most of
	// what idle agents hear, and they are most of what an idle leader has to do:
	// after masterPing it is asked, and has the rest of masterSilence to answer.
	masterSilence = 30 * time.Second
	masterPing    = 25 * time.Second
)

// AnswerTimeout is how long an agent waits for the answer to its registration.
// A master that hangs is left for its silence, and before the connection ends the
// answer comes; so this is long. A leader to which all come back at once may take
// a while, and whoever gives up has waited for nothing and makes for more to do.
const AnswerTimeout = time.Minute

// Seeker knows the masters of one agent. All fields are needed but the last two.
type Seeker struct {
	Masters []string // host:port of their HTTP doors, at least one
	Door    *door.Door
	Logger  hclog.Logger
	Dial    wire.Dialer // nil: over the network
	Called  chan string // of capacity 1, for Call; nil: nobody calls

	mu   sync.Mutex
	host string     // of the master that link leads to
	link *wire.Conn // nil: none
}

// Call has the seeker go on to a master that says it leads, unless it is with that
// one already: a leader that was stopped, or cut off from all, ends no connection,
// and so is left at once and not for its silence only. It may be called at any time
// beside Run and does not wait.
func (s *Seeker) Call(master string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil && s.host == master {
		return
	}
	select {
	case <-s.Called: // the last one holds
	default:
	}
	s.Called <- master
	if s.link != nil {
		s.link.End("another master leads")
	}
}

// found notes with whom the seeker is.
func (s *Seeker) found(link *wire.Conn, host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link, s.host = link, host
}

// Run keeps a connection to the leader, as long as ctx lasts. It hands each
// one to converse, which returns when it is done with it and reports whether
// the leader took the agent, and goes on to the next master after every
// failure and every end.
func (s *Seeker) Run(ctx context.Context, converse func(wire.Link) bool) {
	wait, patience := firstWait, dialPatience
	trouble := make([]string, len(s.Masters)+1) // of each master, and of those that called, so that it is told once
	at, called := 0, ""
	for ctx.Err() == nil {
		which, master := len(s.Masters), called
		if called == "" {
			which = at % len(s.Masters)
			master = s.Masters[which]
			at++
		}
		link, host, err := s.reach(ctx, master, patience)
		patience = longerPatience(patience, err)
		if err == nil {
			clear(trouble)
			s.found(link, host)
			if converse(link) {
				wait = firstWait
			}
			s.found(nil, "")
		} else if ctx.Err() == nil && err.Error() != trouble[which] {
			trouble[which] = err.Error()
			s.Logger.Warn("no master", "error", err)
		}
		// Half of the wait is left to chance, so that agents which lost the
		// same master don't come back all at once.
		called = ""
		select {
		case called = <-s.Called:
		case <-time.After(wait/2 + rand.N(wait/2)):
			wait = longer(wait, err)
		case <-ctx.Done():
		}
	}
}

// longer returns the wait after one of that length and a try that ended with
// err. Masters that answer without leading, or send the agent to a leader that
// is dead, are about to elect, which takes little: the wait stays short. It
// grows while nobody answers.
func longer(wait time.Duration, err error) time.Duration {
	var redirect *wire.RedirectError
	var status *wire.StatusError
	if errors.As(err, &redirect) || errors.As(err, &status) && status.Status == http.StatusServiceUnavailable {
		return min(2*wait, electionWait)
	}
	return min(2*wait, lastWait)
}

// longerPatience returns the patience after a try that ended with err.
func longerPatience(patience time.Duration, err error) time.Duration {
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return min(2*patience, longestPatience)
	}
	return dialPatience
}

// reach dials a master, and the leader where that master points to it; each
// answers within patience. It returns whose host:port that was in the end.
func (s *Seeker) reach(ctx context.Context, master string, patience time.Duration) (link *wire.Conn, host string, err error) {
	scheme := "ws://"
	if s.Door.Secure() || s.Door.ClientTLS() != nil {
		scheme = "wss://"
	}
	at := scheme + master + wire.AgentPath
	var elsewhere *wire.RedirectError
	for range maxRedirects {
		link, err := s.dial(ctx, at, patience)
		switch {
		case err == nil:
			return link, hostOf(at), nil
		case errors.As(err, &elsewhere):
			at = elsewhere.Location
		case elsewhere != nil:
			return nil, "", fmt.Errorf("%w (%s %w)", err, master, elsewhere)
		default:
			return nil, "", err
		}
	}
	return nil, "", fmt.Errorf("dial %s: the masters send the agent from one to the other: %w", master, elsewhere)
}

// hostOf returns the host:port of a URL that was dialed.
func hostOf(at string) string {
	if u, err := url.Parse(at); err == nil {
		return u.Host
	}
	return ""
}

func (s *Seeker) dial(ctx context.Context, url string, patience time.Duration) (*wire.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return wire.Dial(ctx, url, wire.AgentProtocol, s.Door.Header(), s.Door.ClientTLS(), wire.Options{Silence: masterSilence, Ping: masterPing, Compact: true, Dial: s.Dial})
}

package master

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// taskLogs streams what a task wrote, from its agent.
func (a *api) taskLogs(w http.ResponseWriter, r *http.Request) error {
	in, out := r.URL.Query(), url.Values{}
	switch stream := in.Get("stream"); stream {
	case "", "stdout", "stderr":
		out.Set("stream", stream)
		if stream == "" {
			out.Set("stream", "stdout")
		}
	default:
		return offers.Errorf(offers.BadMessage, "stream is %.60q; it is stdout or stderr", stream)
	}
	follow, err := flag(r, "follow")
	if err != nil {
		return err
	}
	if follow {
		out.Set("follow", "true")
	}
	if text := in.Get("offset"); text != "" {
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < 0 {
			return offers.Errorf(offers.BadMessage, "offset is %.60q; it is a number of bytes", text)
		}
		out.Set("offset", text)
	}
	return a.sandbox(w, r, "/logs", out)
}

// taskFiles passes a file or the list of a folder on, from the task's agent. To
// a path that it would clean that one answers with a redirect to its own door.
func (a *api) taskFiles(w http.ResponseWriter, r *http.Request) error {
	path := r.PathValue("path")
	for part := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		switch {
		case part == "..":
			return offers.Errorf(offers.Forbidden, "a path with .. in it leads out of the sandbox")
		case part == "." || part == "" && path != "":
			return offers.Errorf(offers.BadMessage, "the path %.200q in the sandbox holds an empty part or a .", path)
		}
	}
	return a.sandbox(w, r, "/files/"+path, url.Values{})
}

// taskExec passes on a connection of somebody who runs a command beside a task,
// to the task's agent. Nothing is kept here but what a copy holds at a time: who
// does not read holds up his own command.
func (a *api) taskExec(w http.ResponseWriter, r *http.Request) error {
	if err := wantUpgrade(w, r, wire.ExecProtocol); err != nil {
		return err
	}
	a.sessions.Add(1)
	defer a.sessions.Done()
	return a.sandbox(w, r, "/exec", url.Values{})
}

// sandbox asks the agent of a task for something below its sandbox.
func (a *api) sandbox(w http.ResponseWriter, r *http.Request, what string, query url.Values) error {
	p, err := a.sight(r.Context())
	if err != nil {
		return a.elsewhere(w, r, err)
	}
	t, err := p.findTask(r.PathValue("id"))
	if err != nil {
		return err
	}
	ag := p.State.Agent(t.Agent)
	if ag == nil || ag.State == offers.AgentGone {
		return offers.Errorf(offers.UnknownAgent, "task %s was on agent %s, which is gone with its files", t.Ref(), t.Agent)
	}
	if ag.State == offers.AgentUnreachable { // who asked would wait for nothing, and ask again as where it restarts
		return offers.Errorf(offers.AgentAway, "agent %s is unreachable since %s: nothing on it can be read or run before it is back", ag.ID, ag.Since.Format(time.RFC3339))
	}
	if ag.Address == "" {
		return offers.Errorf(offers.UnknownAgent, "agent %s has said no address: nothing on it can be read or run, as on one that is simulated", ag.ID)
	}
	at := doorOf(ag)
	at.Path, at.RawQuery = "/v1/sandbox/"+string(t.Framework)+"/"+string(t.ID)+what, query.Encode()
	a.proxy(at, "agent "+string(ag.ID), passedOn).ServeHTTP(w, r)
	return nil
}

// doorOf returns where an agent is reached over HTTP.
func doorOf(a *state.Agent) *url.URL {
	if a.Secure {
		return &url.URL{Scheme: "https", Host: a.Address}
	}
	return &url.URL{Scheme: "http", Host: a.Address}
}

// passedOn marks what a master asks for somebody else.
const (
	passedOn       = "1.1 ringmaster"
	passedToLeader = "1.1 ringmaster-follower"
)

// proxy passes a request on and streams the answer, each piece as it comes.
// Neither the client's credentials nor the answer's headers pass through, but
// for those that say what the bytes are. whose is who is asked, for people, via how
// the request is marked.
func (a *api) proxy(at *url.URL, whose, via string) http.Handler {
	return &httputil.ReverseProxy{
		Transport:     a.agents,
		FlushInterval: -1,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL, pr.Out.Host = at, at.Host
			asked := pr.Out.Header // without what is between the client and this master, but for an upgrade
			pr.Out.Header = http.Header{}
			if at.Scheme == "https" || !a.door.Secure() { // the token never leaves TLS
				pr.Out.Header = a.door.Header()
			}
			pr.Out.Header.Set("Via", via)
			keep(pr.Out.Header, asked, "Range", "If-Range", "Content-Type", "Accept-Encoding", "Last-Event-Id",
				"Connection", "Upgrade", "Sec-Websocket-Version", "Sec-Websocket-Key", "Sec-Websocket-Protocol")
		},
		ModifyResponse: func(resp *http.Response) error {
			kept := http.Header{}
			keep(kept, resp.Header, "Content-Type", "Content-Encoding", "Content-Length", "Content-Range", "Accept-Ranges", "Last-Modified", "Retry-After",
				"Connection", "Upgrade", "Sec-Websocket-Accept", "Sec-Websocket-Protocol")
			resp.Header = kept
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			var tooLarge *http.MaxBytesError
			if errors.As(err, &tooLarge) || errors.Is(err, door.ErrStill) { // what was asked, and not who
				fail(w, err)
				return
			}
			a.logger.Debug("a door does not answer", "whose", whose, "error", err)
			why := offers.Errorf(offers.Unavailable, "%s does not answer at %s: ask again", whose, at.Host)
			var doubt *tls.CertificateVerificationError
			switch {
			case errors.As(err, &doubt):
				why = offers.Errorf(offers.Unavailable, "%s at %s shows a certificate that is not to be trusted (%v)", whose, at.Host, doubt.Err)
			case r.Method != http.MethodGet && !unheard(err):
				why = offers.Errorf(offers.Undecided, "%s gives no answer at %s: whether that was done is not known", whose, at.Host)
			}
			fail(w, &statusError{http.StatusBadGateway, why})
		},
	}
}

// unheard reports whether a request failed before there was a connection for it.
func unheard(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// keep copies the headers of those names that there are.
func keep(to, from http.Header, names ...string) {
	for _, name := range names {
		if v := from.Get(name); v != "" {
			to.Set(name, v)
		}
	}
}

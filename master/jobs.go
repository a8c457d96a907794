package master

import (
	"net/http"
	"net/url"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// jobs passes a request on to the jobs framework that is connected. The masters
// know nothing of jobs but where to ask.
func (a *api) jobs(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Via") == passedOn {
		return offers.Errorf(offers.Unavailable, "the jobs framework says that it is reached at a master, which passes on to it")
	}
	p, err := a.sight(r.Context())
	if err != nil {
		return a.elsewhere(w, r, err)
	}
	f := p.jobsFramework()
	switch {
	case f == nil:
		return &statusError{http.StatusNotFound, offers.Errorf(offers.UnknownFramework, "there is no jobs framework: start one with ringmaster jobs")}
	case !p.Connected[f.ID]:
		return offers.Errorf(offers.Unavailable, "the jobs framework %s is not connected: start one with ringmaster jobs, or ask again", f.ID)
	}
	at, err := url.Parse(f.Labels[wire.JobsLabel])
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return offers.Errorf(offers.Unavailable, "the jobs framework %s says that it is reached at %.100q, which is no URL", f.ID, f.Labels[wire.JobsLabel])
	}
	at.Path, at.RawPath, at.RawQuery = r.URL.Path, "", r.URL.RawQuery
	a.proxy(at, "the jobs framework", passedOn).ServeHTTP(w, r)
	return nil
}

// jobsFramework returns the eldest framework that says it is one, a connected
// one before all others; nil where there is none.
func (p *picture) jobsFramework() *state.Framework {
	var found *state.Framework
	for f := range p.State.Frameworks() {
		if f.Removed || f.Labels[wire.JobsLabel] == "" {
			continue
		}
		if found == nil || p.Connected[f.ID] && !p.Connected[found.ID] {
			found = f
		}
	}
	return found
}

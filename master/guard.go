package master

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

// maxBody bounds what an operator's request may hold.
const maxBody = 1 << 20

var _ http.Handler = (*api)(nil)

// ServeHTTP gives every answer its security headers and turns the paths and
// methods that are not there into errors of our own shape.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	// The mux would redirect to the cleaned path: an order must not end up at
	// another role or task than it names.
	asked := r.URL.EscapedPath()
	if clean := path.Clean(asked); clean != asked && clean+"/" != asked {
		fail(w, offers.Errorf(offers.BadMessage, "the path %.200q holds an empty part, . or ..", asked))
		return
	}
	if _, pattern := a.mux.Handler(r); pattern != "" {
		a.mux.ServeHTTP(w, r)
		return
	}
	if allowed := a.allowed(r); len(allowed) > 0 {
		h.Set("Allow", strings.Join(allowed, ", "))
		fail(w, &statusError{http.StatusMethodNotAllowed, offers.Errorf(offers.BadMessage, "%s takes %s", r.URL.Path, strings.Join(allowed, " or "))})
		return
	}
	fail(w, &statusError{http.StatusNotFound, offers.Errorf(offers.BadMessage, "there is no %.200s; GET /v1/openapi.json lists what there is", r.URL.Path)})
}

// allowed returns the methods that the path takes.
func (a *api) allowed(r *http.Request) []string {
	var out []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
		other := *r
		other.Method = method
		if _, pattern := a.mux.Handler(&other); pattern != "" {
			out = append(out, method)
		}
	}
	return out
}

// guard is the one place where HTTP requests pass the door. Foreign sites are
// refused everywhere but at the two probes, which tell nothing: reading
// through a name that was bound to loopback is a leak too.
func (a *api) guard(pattern string, r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		err := a.admit(r, req)
		if err == nil && r.known != nil {
			err = r.known(req.URL.Query())
		}
		if err == nil && r.action != "" && a.passOn(w, req) {
			return
		}
		if err == nil {
			// In a copy: a server that finds its own reader replaced waits for
			// the body of a client that waits for "100 Continue".
			bounded := *req
			bounded.Body = http.MaxBytesReader(w, req.Body, cmp.Or(r.body, maxBody))
			err = r.serve(w, &bounded)
		}
		if err != nil {
			a.logger.Debug("request refused", "route", pattern, "error", err)
			fail(w, err)
		}
	})
}

func (a *api) admit(r route, req *http.Request) error {
	if r.action == "" {
		return nil
	}
	if err := door.SameOrigin(req); err != nil {
		return err
	}
	return a.door.Admit(a.door.Who(req), r.action, req.PathValue(r.target))
}

// flag reads a query value that is true or false; absent is false.
func flag(r *http.Request, name string) (bool, error) {
	switch text := r.URL.Query().Get(name); {
	case slices.Contains([]string{"", "false", "0"}, text):
		return false, nil
	case slices.Contains([]string{"true", "1"}, text):
		return true, nil
	default:
		return false, offers.Errorf(offers.BadMessage, "%s is %.60q; it is true or false", name, text)
	}
}

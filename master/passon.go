package master

import (
	"net/http"
	"net/url"
	"strings"
)

// passOnWish is the preference (RFC 7240) of a client that can't go elsewhere:
// a browser reaches no other site than the one that its page came from.
const passOnWish = "pass-on"

// passOn has the leader answer a request that wishes so, where this master
// does not lead; it reports false where the request is to be served here. The
// leader's door gets this master's credentials, so the client's must have been
// admitted.
func (a *api) passOn(w http.ResponseWriter, r *http.Request) bool {
	if !wishes(r, passOnWish) || r.Header.Get("Via") != "" {
		return false
	}
	leader, ok := a.replica.Leader()
	if !ok || leader.HTTP == "" || leader.ID == a.replica.Self().ID {
		return false
	}
	at := &url.URL{Scheme: a.door.Scheme(), Host: leader.HTTP, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	a.proxy(at, "the leader "+leader.Name, passedToLeader).ServeHTTP(w, r)
	return true
}

// wishes reports whether a request states a preference.
func wishes(r *http.Request, preference string) bool {
	for _, line := range r.Header.Values("Prefer") {
		for wish := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(wish), preference) {
				return true
			}
		}
	}
	return false
}

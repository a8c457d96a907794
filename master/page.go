package master

import (
	"net/http"

	"github.com/ringmaster-project/ringmaster/master/ui"
	"github.com/ringmaster-project/ringmaster/offers"
)

// page serves the web page and what belongs to it. Everybody may have it: it
// knows nothing of the cluster until it asks, as its reader, for the rest.
func page(w http.ResponseWriter, r *http.Request) error {
	if ui.Serve(w, r) {
		return nil
	}
	return &statusError{http.StatusNotFound, offers.Errorf(offers.BadMessage, "the web page has no %.200s", r.URL.Path)}
}

package door

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestStatusOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{fmt.Errorf("read the body: %w", ErrStill), http.StatusRequestTimeout},
		{offers.Errorf(offers.BadMessage, "another fault of the body"), http.StatusBadRequest},
		{fmt.Errorf("who: %w", offers.Errorf(offers.UnknownAgent, "no agent a1")), http.StatusNotFound},
		{offers.Errorf(offers.Code("of_tomorrow"), "unheard of"), http.StatusBadRequest},
		{errors.New("a disk broke"), http.StatusInternalServerError},
	} {
		if got := StatusOf(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

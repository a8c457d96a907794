package wire_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestListsAreCountedBeforeTheyAreMade: one that is too long is refused as a whole,
// however its key is written, and takes no more memory than the frame.
func TestListsAreCountedBeforeTheyAreMade(t *testing.T) {
	list := func(n int) string { return `[{}` + strings.Repeat(`,{}`, n-1) + `]` }
	const many = 1_000_000
	for name, is := range map[string]struct {
		frame string
		code  offers.Code // "" where it can be read
	}{
		"as many as may be": {`{"type":"statuses","statuses":` + list(wire.MaxStatuses) + `}`, ""},
		"one more":          {`{"type":"statuses","statuses":` + list(wire.MaxStatuses+1) + `}`, offers.TooLarge},
		"many":              {`{"type":"statuses","statuses":` + list(many) + `}`, offers.TooLarge},
		"another key":       {`{"type":"statuses","STATUSE\u0053":` + list(many) + `}`, offers.TooLarge},
		"twice":             {`{"type":"statuses","statuses":` + list(many) + `,"statuses":[]}`, offers.TooLarge},
		"spaces":            {`{"type":"statuses","statuses": [ ` + strings.Repeat(" {} ,\n", many/4) + `{} ] }`, offers.TooLarge},
		"of a register":     {`{"type":"register","agent":{},"tasks":` + list(many) + `}`, offers.TooLarge},
		"commas in a text":  {`{"type":"statuses","statuses":[{"message":"` + strings.Repeat(",", many) + `"}]}`, ""},
		"what is no list":   {`{"type":"statuses","statuses":{"a":` + list(many) + `}}`, offers.BadMessage},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, env, err := wire.Decode(wire.FromAgent, []byte(is.frame))
		runtime.ReadMemStats(&after)
		var known *offers.Error
		if errors.As(err, &known); known == nil && is.code != "" || known != nil && known.Code != is.code || env.Type == "" {
			t.Errorf("%s: %v; want %q", name, err, is.code)
		}
		if took := after.TotalAlloc - before.TotalAlloc; is.code == offers.TooLarge && took > 2*uint64(len(is.frame)) {
			t.Errorf("%s: %d bytes took %d", name, len(is.frame), took)
		}
	}
}

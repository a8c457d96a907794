package offers_test

import (
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestTraceparent(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for text, want := range map[string]struct{ fine, sampled bool }{
		"":                    {true, false},
		good:                  {true, true},
		good[:53] + "00":      {true, false},
		good[:53] + "03":      {true, true},
		"01" + good[2:]:       {false, false},
		good + "-more":        {false, false},
		strings.ToUpper(good): {false, false},
		good[:3] + strings.Repeat("0", 32) + good[35:]:  {false, false},
		good[:36] + strings.Repeat("0", 16) + good[52:]: {false, false},
		good[:34] + "g" + good[35:]:                     {false, false},
		strings.ReplaceAll(good, "-", "_"):              {false, false},
		good[:34] + "-9" + good[36:]:                    {false, false},
	} {
		p := offers.Traceparent(text)
		if fine := p.Validate() == nil; fine != want.fine || p.Sampled() != want.sampled {
			t.Errorf("%q is fine: %v, sampled: %v", text, fine, p.Sampled())
		}
	}
	trace, span := offers.Traceparent(good).IDs()
	if trace[0] != 0x0a || trace[15] != 0x9c || span[0] != 0xb7 || span[7] != 0x31 {
		t.Errorf("the ids are %x and %x", trace, span)
	}
}

package offers_test

import (
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestParseDuration: one that is too long is told so, also where the standard
// library can't hold it.
func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5s": 5 * time.Second, "1m30s": 90 * time.Second, "90": 90 * time.Second, "0.5": time.Second / 2, "+1h": time.Hour, "0": 0,
		"876000h": 100 * 365 * 24 * time.Hour,
	} {
		if d, err := offers.ParseDuration(text); err != nil || d.Std() != want {
			t.Errorf("%q: %v, %v; want %v", text, d, err, want)
		}
	}
	for text, names := range map[string]string{
		"":                         `"" is not a duration such as "5s" or "1h30m"`,
		"soon":                     "is not a duration",
		"5 s":                      "is not a duration",
		".h":                       "is not a duration",
		"NaN":                      "is not a duration",
		"inf":                      "is not a duration",
		"99999999999999999999days": "is not a duration",
		"-1s":                      "is negative",
		"-5":                       "is negative",
		"-99999999999999h":         "is negative",
		"-1e300":                   "is negative",
		"876001h":                  `the duration "876001h" is longer than a hundred years`,
		"2562048h":                 "longer than a hundred years", // 292 years
		"99999999999999999999.5h":  "longer than a hundred years",
		"1h99999999999999999999s":  "longer than a hundred years",
		"3153600001":               "longer than a hundred years",
		"1e18":                     "longer than a hundred years",
		"1e999":                    "longer than a hundred years",
	} {
		_, err := offers.ParseDuration(text)
		wantNamed(t, err, names, text)
	}
}

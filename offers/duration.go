package offers

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a span of time that reads as "5s" or, bare, as a number of
// seconds, and is never negative. It writes as a string.
type Duration time.Duration

// ParseDuration reads "1m30s", or "90" as seconds. It refuses negative spans
// and those over a hundred years.
func ParseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		seconds, err := readSeconds(text)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration such as \"5s\" or \"1h30m\"", clip(text))
		}
		d = time.Duration(min(max(seconds, -1), maxSeconds+1) * float64(time.Second))
	}
	if d < 0 {
		return 0, fmt.Errorf("the duration %q is negative", clip(text))
	}
	if d > maxSeconds*time.Second {
		return 0, fmt.Errorf("the duration %q is longer than a hundred years", clip(text))
	}
	return Duration(d), nil
}

// readSeconds reads what the standard library calls no duration: a bare number,
// and spans that it can't hold, of more than 292 years, which are infinite here.
func readSeconds(text string) (float64, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange): // infinite too
		return seconds, nil
	case err != nil:
		if _, err := time.ParseDuration(numbers.ReplaceAllString(text, "1")); err != nil {
			return 0, err
		}
		if strings.HasPrefix(text, "-") {
			return math.Inf(-1), nil
		}
		return math.Inf(1), nil
	case math.IsNaN(seconds) || math.IsInf(seconds, 0):
		return 0, strconv.ErrSyntax
	}
	return seconds, nil
}

var numbers = regexp.MustCompile(`[0-9]+`)

// Validate refuses what ParseDuration does.
func (d Duration) Validate() error {
	if d < 0 || d > Duration(maxSeconds*time.Second) {
		return fmt.Errorf("the duration %v is negative or longer than a hundred years", d)
	}
	return nil
}

const maxSeconds = 100 * 365 * 24 * 3600

// Std returns the span as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes the span as a string, "1m30s".
func (d Duration) MarshalJSON() ([]byte, error) { return strconv.AppendQuote(nil, d.String()), nil }

// UnmarshalJSON reads a string with units or a number of seconds.
func (d *Duration) UnmarshalJSON(data []byte) error {
	text := string(data)
	if strings.HasPrefix(text, `"`) {
		unquoted, err := strconv.Unquote(text)
		if err != nil {
			return fmt.Errorf("%s is not a duration", clip(text))
		}
		text = unquoted
	}
	v, err := ParseDuration(text)
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// UnmarshalText reads what [ParseDuration] reads; configuration files use it.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err == nil {
		*d = v
	}
	return err
}

package rings_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/rings"
)

func TestLayoutValidate(t *testing.T) {
	cases := []struct {
		layout rings.Layout
		want   string
	}{
		{rings.Layout{Name: "cpus", Bounds: []int64{0, 4}, Reach: 2}, ""},
		{rings.Layout{Bounds: []int64{0}, Reach: 1}, "Name is empty"},
		{rings.Layout{Name: "cpus", Reach: 1}, "Bounds has 0 entries, must have 1 to 4096"},
		{rings.Layout{Name: "cpus", Bounds: make([]int64, 4097), Reach: 1}, "Bounds has 4097 entries"},
		{rings.Layout{Name: "cpus", Bounds: []int64{-1}, Reach: 1}, "Bounds starts at -1"},
		{rings.Layout{Name: "cpus", Bounds: []int64{0, 4, 4}, Reach: 1}, "Bounds[2] is 4, must be above the 4 before it"},
		{rings.Layout{Name: "cpus", Bounds: []int64{0, 4}}, "Reach is 0, must name one of the 2 rings"},
		{rings.Layout{Name: "cpus", Bounds: []int64{0, 4}, Reach: 3}, "Reach is 3"},
		{rings.Layout{Name: "rest", Measure: true}, ""},
		{rings.Layout{Name: "rest", Measure: true, Reach: 1}, "a measure has no Bounds and no Reach"},
	}
	for _, c := range cases {
		expectError(t, c.layout.Validate(), c.want)
	}
}

func TestNewValidates(t *testing.T) {
	good := rings.Layout{Name: "cpus", Bounds: []int64{0}, Reach: 1}
	_, err := rings.New(nil)
	expectError(t, err, "the list is empty")
	_, err = rings.New([]rings.Layout{good, {Name: "mem"}})
	expectError(t, err, `"mem": Bounds`)
	_, err = rings.New([]rings.Layout{good, good})
	expectError(t, err, `"cpus": Name is used twice`)
	_, err = rings.New([]rings.Layout{{Name: "rest", Measure: true}, good})
	expectError(t, err, `"cpus": it comes after a measure`)
}

func TestEqualBounds(t *testing.T) {
	got, err := rings.EqualBounds(2, 4, 3)
	if err != nil || !slices.Equal(got, []int64{2, 6, 10}) {
		t.Errorf("got %d, %v", got, err)
	}
	cases := []struct {
		lower, width int64
		count        int
		want         string
	}{
		{-1, 4, 3, "lower is -1"},
		{0, 0, 3, "width is 0"},
		{0, 4, 0, "count is 0"},
		{0, 4, 4097, "count is 4097"},
		{1, math.MaxInt64/2 + 1, 3, "overflows"},
		{0, math.MaxInt64, 2, ""},
		{math.MaxInt64, 1, 1, ""},
	}
	for _, c := range cases {
		_, err := rings.EqualBounds(c.lower, c.width, c.count)
		expectError(t, err, c.want)
	}
}

func expectError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err == nil {
		return
	}
	if err == nil || want == "" || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

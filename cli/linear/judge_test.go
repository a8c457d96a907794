package linear_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/linear"
	"github.com/ringmaster-project/ringmaster/offers"
)

const second = int64(time.Second)

// done, refused and unknown are operations of a connection on framework f.
func done(conn int, kind linear.Kind, call, ret int64) *linear.Op {
	return &linear.Op{Conn: conn, Framework: "f", Kind: kind, Call: call, Return: ret, Outcome: linear.Done}
}

func refused(conn int, kind linear.Kind, call, ret int64, code offers.Code) *linear.Op {
	return &linear.Op{Conn: conn, Framework: "f", Kind: kind, Call: call, Return: ret, Outcome: linear.Refused, Code: code}
}

func unknown(conn int, kind linear.Kind, call int64) *linear.Op {
	return &linear.Op{Conn: conn, Framework: "f", Kind: kind, Call: call}
}

func with(o *linear.Op, change func(*linear.Op)) *linear.Op {
	change(o)
	return o
}

// wrong returns the models that a history breaks.
func wrong(t *testing.T, ops []*linear.Op, launched ...offers.TaskID) (models []string) {
	t.Helper()
	_, bad := linear.Judge(ops, linear.Config{Folder: t.TempDir(), Launched: func(ref offers.TaskRef) bool {
		return slices.Contains(launched, ref.Task)
	}})
	for _, v := range bad {
		models = append(models, v.Model)
		if _, err := os.Stat(v.Page); err != nil {
			t.Errorf("no page is drawn: %v", err)
		}
		if !strings.Contains(v.Text(), v.Part) {
			t.Errorf("%q does not name %s", v.Text(), v.Part)
		}
	}
	return models
}

// history is one hand-made history and the models that it breaks.
type history struct {
	name     string
	ops      []*linear.Op
	launched []offers.TaskID
	breaks   []string
}

func try(t *testing.T, histories []history) {
	t.Helper()
	for _, h := range histories {
		t.Run(h.name, func(t *testing.T) {
			if got := wrong(t, h.ops, h.launched...); !slices.Equal(got, h.breaks) {
				t.Errorf("it breaks %v, want %v", got, h.breaks)
			}
		})
	}
}

func TestTallies(t *testing.T) {
	tallies, bad := linear.Judge([]*linear.Op{
		done(1, linear.Register, 0, 1),
		put(1, "g/a", "x", 2, 3, nil, 1),
		unknown(1, linear.Put, 4),
	}, linear.Config{Launched: func(offers.TaskRef) bool { return false }})
	want := []linear.Tally{{Model: "tokens"}, {Model: "sessions", Parts: 1, Ops: 2}, {Model: "store", Parts: 2, Ops: 2, Unknown: 1}}
	for i := range tallies {
		tallies[i].Took = 0
	}
	if !slices.Equal(tallies, want) || len(bad) > 0 {
		t.Errorf("%+v and %d violations, want %+v", tallies, len(bad), want)
	}
}

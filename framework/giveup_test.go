package framework

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// silent is a master that takes the connection, and says nothing on it.
func silent(context.Context) (wire.Link, error) {
	ours, _ := wire.Pipe(wire.Options{})
	return ours, nil
}

// TestWhoGivesUpLeavesNothing: when Connect has given up, nothing of it goes on; the
// bubble does not end otherwise.
func TestWhoGivesUpLeavesNothing(t *testing.T) {
	for name, masters := range map[string]wires{
		"stopped":  {"a:1": stopped, "b:1": stopped},
		"silent":   {"a:1": silent, "b:1": silent},
		"mixed":    {"a:1": stopped, "b:1": silent},
		"redirect": {"a:1": sentTo("b:1"), "b:1": sentTo("a:1")},
		"late":     {"a:1": late(3 * time.Second), "b:1": late(4 * time.Second)},
		"none":     {"a:1": none, "b:1": none},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, err := Connect(ctx, Config{Masters: []string{"a:1", "b:1"}, Dial: masters.dial, Info: wire.FrameworkInfo{Name: "n"}})
				if err == nil || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 6*time.Second {
					t.Errorf("it gave up after %v: %v", time.Since(began), err)
				}
			})
		})
	}
}

func late(after time.Duration) func(context.Context) (wire.Link, error) {
	return func(context.Context) (wire.Link, error) {
		time.Sleep(after)
		return silent(context.Background())
	}
}

func none(context.Context) (wire.Link, error) {
	return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
}

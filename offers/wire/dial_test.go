package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestDialIsGivenUp as soon as that is asked for, however far it has come with a
// master that was stopped.
func TestDialIsGivenUp(t *testing.T) {
	for name, hears := range map[string]int64{"it hears nothing": 0, "it hears the request": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				defer there.Close()
				go func() { _, _ = io.CopyN(io.Discard, there, hears) }()
				why := errors.New("it is not wanted any more")
				ctx, giveUp := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { giveUp(why) })
				began := time.Now()
				_, err := Dial(ctx, "ws://memory/", FrameworkProtocol, nil, nil, Options{Dial: func(context.Context, string, string) (net.Conn, error) { return here, nil }})
				if took := time.Since(began); took != time.Second || !errors.Is(err, why) {
					t.Errorf("it ends after %v: %v", took, err)
				}
			})
		})
	}
}

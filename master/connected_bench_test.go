package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent/simulated"
)

// inMemory is a listener of connections that are no sockets, of which a host
// allows only so many.
type inMemory struct {
	net.Listener // of which it has the address
	accepted     chan net.Conn
	once         sync.Once
	closed       chan struct{}
}

func newInMemory(l net.Listener) *inMemory {
	return &inMemory{Listener: l, accepted: make(chan net.Conn), closed: make(chan struct{})}
}

func (m *inMemory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.accepted:
		return conn, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *inMemory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return m.Listener.Close()
}

// dial is a [wire.Dialer].
func (m *inMemory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case m.accepted <- far:
		return near, nil
	case <-m.closed:
		return nil, errors.New("nobody listens")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// BenchmarkConnected reports what a durable master and so many agents that have
// nothing to do take together, over connections in memory: until all are
// registered, and then. Each is one run.
func BenchmarkConnected(b *testing.B) {
	const idle = 20 * time.Second
	for _, agents := range []int{10_000, 20_000, 50_000} {
		b.Run(fmt.Sprint(agents), func(b *testing.B) {
			for b.Loop() {
				c := masterConfig(b, "m1")
				m, err := Open(c)
				if err != nil {
					b.Fatal(err)
				}
				memory := newInMemory(m.listener)
				m.listener = memory
				ctx, end := context.WithCancel(b.Context())
				done := make(chan error, 2)
				go func() { done <- m.Run(ctx) }()
				<-m.Ready()
				f, err := simulated.Open(simulated.Config{
					Count: agents, Name: "a", Masters: []string{m.Address()}, Resources: "cpus=16,mem=64GiB,disk=1TiB",
					TaskTime: time.Hour, Version: "test", Door: c.Door, Logger: hclog.NewNullLogger(), Dial: memory.dial,
				})
				if err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				go func() { done <- f.Run(ctx) }()
				<-f.Registered()
				b.ReportMetric(time.Since(began).Seconds(), "s/registered")
				before, at := processorTime(b), time.Now()
				select { // agents that have nothing to do are what is measured
				case <-time.After(idle):
				case err := <-done:
					b.Fatal("it ended: ", err)
				}
				b.ReportMetric(100*float64(processorTime(b)-before)/float64(time.Since(at)), "%core")
				runtime.GC()
				var held runtime.MemStats
				runtime.ReadMemStats(&held)
				b.ReportMetric(float64(held.HeapInuse+held.StackInuse)/(1<<20), "MiB")
				b.ReportMetric(float64(held.Sys-held.HeapReleased)/(1<<20), "MiB/resident")
				end()
				for range 2 {
					if err := <-done; err != nil && !errors.Is(err, http.ErrServerClosed) {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// processorTime is what this process has taken of it.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

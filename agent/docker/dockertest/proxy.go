package dockertest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy stands before a real engine. What it has taken reaches the engine even
// when the client has gone.
type Proxy struct {
	Socket string

	mu     sync.Mutex
	before func(request string)
	deaf   bool
	behind int // how many more answers about commands lag
	after  func(request string, took time.Duration)
}

// NewProxy returns a proxy of the engine.
func NewProxy(t testing.TB, r *Real) *Proxy {
	t.Helper()
	p := &Proxy{Socket: filepath.Join(t.TempDir(), "docker.sock")}
	l, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{
		FlushInterval: -1, Transport: r.http.Transport, ErrorLog: log.New(io.Discard, "", 0), // clients leave, that is what it is for
		Rewrite:        func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker" },
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ModifyResponse: p.retell,
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		before, after := p.before, p.after
		p.mu.Unlock()
		request, began := r.Method+" "+r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], time.Now()
		if before != nil && !isPing(r) {
			before(request)
		}
		through.ServeHTTP(w, r.WithContext(ctx))
		if after != nil {
			after(request, time.Since(began))
		}
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // ends with Close
	}()
	t.Cleanup(func() {
		cancel()
		_ = server.Close() // its connections go whatever it says
		<-served
	})
	return p
}

// Before sets what is called before a request, such as "POST start", is passed
// on; it may panic with http.ErrAbortHandler to drop it.
func (p *Proxy) Before(f func(request string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = f
}

// Deafen makes the engine one that never hears that a container was out of
// memory.
func (p *Proxy) Deafen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = true
}

// Lag makes the engine one that does not know yet which process a command is,
// the next so many times that it is asked.
func (p *Proxy) Lag(times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind = times
}

var (
	// unheard is no shorter than what was heard.
	unheard = strings.NewReplacer(`"OOMKilled":true`, `"OOMKilled":null`, `"Action":"oom"`, `"Action":"-"  `)
	pid     = regexp.MustCompile(`"Pid":(\d+)`)
)

// retell takes out of the answers what the engine is not to know.
func (p *Proxy) retell(answer *http.Response) error {
	path := answer.Request.URL.Path
	aboutCommand := strings.Contains(path, "/exec/") && strings.HasSuffix(path, "/json")
	p.mu.Lock()
	deaf := p.deaf && (strings.HasSuffix(path, "/json") || strings.HasSuffix(path, "/events"))
	behind := aboutCommand && p.behind > 0
	if behind {
		p.behind--
	}
	p.mu.Unlock()
	if !deaf && !behind {
		return nil
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	text := string(data)
	if deaf {
		text = unheard.Replace(text)
	}
	if behind {
		text = pid.ReplaceAllStringFunc(text, func(s string) string {
			return `"Pid":0` + strings.Repeat(" ", len(s)-len(`"Pid":0`))
		})
	}
	answer.Body = io.NopCloser(strings.NewReader(text))
	return nil
}

// After sets what is told how long the engine took for a request.
func (p *Proxy) After(f func(request string, took time.Duration)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = f
}

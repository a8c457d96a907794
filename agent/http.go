package agent

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/sandbox"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// listen opens the agent's own door.
func (a *Agent) listen() error {
	if err := a.config.Door.MayServe(a.config.HTTP); err != nil {
		return fmt.Errorf("http: %w", err)
	}
	l, err := net.Listen("tcp", a.config.HTTP)
	if err != nil {
		return fmt.Errorf("http: %w", err)
	}
	if conf := a.config.Door.ServerTLS(); conf != nil {
		l = tls.NewListener(l, conf)
	}
	a.listener = l
	return nil
}

// serve serves until the returned server is closed.
func (a *Agent) serve() *http.Server {
	server := &http.Server{
		Handler: door.Patient(a.handler()), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: a.log.StandardLogger(nil),
	}
	a.work.Go(func() {
		if err := server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("sandboxes can't be read any more", "error", err)
		}
	})
	return server
}

func (a *Agent) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /metrics", a.metrics())
	mux.HandleFunc("GET /v1/sandbox/{framework}/{task}/logs", a.guarded(door.Sandbox, a.serveLog))
	mux.HandleFunc("GET /v1/sandbox/{framework}/{task}/files", a.guarded(door.Sandbox, a.serveFile))
	mux.HandleFunc("GET /v1/sandbox/{framework}/{task}/files/{path...}", a.guarded(door.Sandbox, a.serveFile))
	mux.HandleFunc("GET /v1/sandbox/{framework}/{task}/exec", a.guarded(door.Exec, a.serveExec))
	mux.HandleFunc("POST "+wire.LeaderPath, a.hearLeader)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, offers.Errorf(offers.BadMessage, "an agent serves no %s %.200q", r.Method, r.URL.Path))
	})
	return mux
}

// guarded lets in whom the door admits, to a task whose ids can name folders.
func (a *Agent) guarded(action door.Action, serve func(http.ResponseWriter, *http.Request, offers.TaskRef) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
		ref := offers.TaskRef{Framework: offers.FrameworkID(r.PathValue("framework")), Task: offers.TaskID(r.PathValue("task"))}
		err := door.SameOrigin(r)
		if err == nil {
			err = a.config.Door.Admit(a.config.Door.Who(r), action, ref.String())
		}
		if err == nil && (ref.Task.Validate() != nil || offers.TaskID(ref.Framework).Validate() != nil) {
			err = offers.Errorf(offers.BadMessage, "%.300q names no task", ref.String())
		}
		if err == nil {
			err = serve(w, r, ref)
		}
		if err != nil {
			a.answer(w, err)
		}
	}
}

// hearLeader takes the call of a master that leads.
func (a *Agent) hearLeader(w http.ResponseWriter, r *http.Request) {
	err := door.SameOrigin(r)
	if err == nil {
		err = a.config.Door.Admit(a.config.Door.Who(r), door.Peer, "")
	}
	var m wire.MasterInfo
	if err == nil {
		err = json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCall)).Decode(&m)
		if err != nil && !errors.Is(err, door.ErrStill) {
			err = offers.Errorf(offers.BadMessage, "a call of a leader is JSON with its name, address and term, of at most %d bytes", maxCall)
		}
	}
	if _, _, malformed := net.SplitHostPort(m.Address); err == nil && malformed != nil {
		err = offers.Errorf(offers.BadMessage, "address is %.100q; it is the host:port of the master that leads", m.Address)
	}
	if err != nil {
		a.answer(w, err)
		return
	}
	a.post(func() { a.called(m) })
	w.WriteHeader(http.StatusNoContent)
}

// maxCall is how many bytes the call of a leader may have.
const maxCall = 4096

func (a *Agent) serveLog(w http.ResponseWriter, r *http.Request, ref offers.TaskRef) error {
	query := r.URL.Query()
	stream := query.Get("stream")
	if stream == "" {
		stream = "stdout"
	}
	if stream != "stdout" && stream != "stderr" {
		return offers.Errorf(offers.BadMessage, "stream is %.60q; it is stdout or stderr", stream)
	}
	var offset int64
	if text := query.Get("offset"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return offers.Errorf(offers.BadMessage, "offset is %.60q; it is a number of bytes", text)
		}
		offset = n
	}
	follow := false
	if text := query.Get("follow"); text != "" {
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return offers.Errorf(offers.BadMessage, "follow is %.60q; it is true or false", text)
		}
		follow = yes
	}
	return a.sandboxes.ServeLog(w, r, ref, stream, offset, a.more(ref, follow))
}

// more returns a channel that is closed when no more will come.
func (a *Agent) more(ref offers.TaskRef, follow bool) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if done, living := a.ended[ref]; living && follow {
		return done
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

func (a *Agent) serveFile(w http.ResponseWriter, r *http.Request, ref offers.TaskRef) error {
	ranged := &ranged{ResponseWriter: w, asked: r.Header.Get("Range")}
	return a.sandboxes.ServeFile(ranged, r, ref, r.PathValue("path"), func(files []sandbox.Entry) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"files": files}) // a reader that left
	})
}

// ranged answers a range that a file has not as every other error is answered,
// in place of what the standard library says.
type ranged struct {
	http.ResponseWriter
	asked   string
	refused bool
}

func (w *ranged) WriteHeader(status int) {
	if status != http.StatusRequestedRangeNotSatisfiable {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.refused = true
	refuse(w.ResponseWriter, status, offers.Errorf(offers.BadMessage, "range is %.60q; it is bytes=FIRST-LAST, and begins within the file", w.asked))
}

func (w *ranged) Write(data []byte) (int, error) {
	if w.refused {
		return len(data), nil
	}
	return w.ResponseWriter.Write(data)
}

// ReadFrom lets the kernel send a file itself.
func (w *ranged) ReadFrom(from io.Reader) (int64, error) { return io.Copy(w.ResponseWriter, from) }

// answer turns an error into its status.
func (a *Agent) answer(w http.ResponseWriter, err error) {
	var known *offers.Error
	if !errors.As(err, &known) {
		a.log.Error("a sandbox can't be read", "error", err)
		known = offers.Errorf(offers.Internal, "the sandbox can't be read; the agent's log says why")
	}
	refuse(w, door.StatusOf(known), known)
}

func refuse(w http.ResponseWriter, status int, err *offers.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": err}) // a reader that left
}

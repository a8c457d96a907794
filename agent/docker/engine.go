package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DefaultSocket is where an engine listens when nobody says otherwise.
const DefaultSocket = "/var/run/docker.sock"

// ErrAway says that the engine does not answer; what was asked may have been
// done or not.
var ErrAway = errors.New("the Docker engine does not answer")

// refusal is an answer of the engine that is no success.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

func refused(err error, status int) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == status
}

// spoken is the version of the interface that this package was written to.
const spoken = "1.41"

// engine is a client of one engine. Safe for concurrent use.
type engine struct {
	socket string
	http   http.Client

	mu      sync.Mutex
	version string // that both sides speak; "" until it was asked
}

func newEngine(socket string) *engine {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &engine{socket: socket, http: http.Client{Transport: &http.Transport{
		DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second,
	}}}
}

// speak returns the version to speak: ours, or the oldest that the engine
// still does.
func (e *engine) speak(ctx context.Context) (string, error) {
	e.mu.Lock()
	known := e.version
	e.mu.Unlock()
	if known != "" {
		return known, nil
	}
	answer, err := e.send(ctx, http.MethodGet, "/version", nil, nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var theirs struct{ ApiVersion, MinAPIVersion string } //nolint:revive // the engine's spelling
	if err := json.NewDecoder(answer.Body).Decode(&theirs); err != nil {
		return "", e.away(ctx, err)
	}
	version := spoken
	if older(spoken, theirs.MinAPIVersion) {
		version = theirs.MinAPIVersion
	}
	if older(theirs.ApiVersion, version) {
		return "", fmt.Errorf("the Docker engine speaks version %s of its interface, and at least %s is needed", theirs.ApiVersion, version)
	}
	e.mu.Lock()
	e.version = version
	e.mu.Unlock()
	return version, nil
}

// older compares two versions such as 1.9 and 1.41.
func older(a, b string) bool {
	number := func(v string) int {
		major, minor, _ := strings.Cut(v, ".")
		x, _ := strconv.Atoi(major) // what is no number counts as 0
		y, _ := strconv.Atoi(minor)
		return x*1000 + y
	}
	return number(a) < number(b)
}

// open makes one request and returns an answer that is a success; its body is
// the caller's to close.
func (e *engine) open(ctx context.Context, method, path string, query url.Values, in any) (*http.Response, error) {
	version, err := e.speak(ctx)
	if err != nil {
		return nil, err
	}
	return e.send(ctx, method, "/v"+version+path, query, in)
}

func (e *engine) send(ctx context.Context, method, path string, query url.Values, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("ask the Docker engine: %w", err)
		}
		body = bytes.NewReader(data)
	}
	u := url.URL{Scheme: "http", Host: "docker", Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("ask the Docker engine: %w", err)
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := e.http.Do(request)
	if err != nil {
		return nil, e.away(ctx, err)
	}
	if answer.StatusCode < 400 {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, e.refusal(answer)
}

const longestMessage = 16 << 10

func (e *engine) refusal(answer *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(answer.Body, longestMessage))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	var said struct{ Message string }
	if json.Unmarshal(data, &said) != nil || said.Message == "" {
		said.Message = answer.Status
	}
	return &refusal{answer.StatusCode, sentence(said.Message)}
}

// sentence keeps what an engine says within a line.
func sentence(text string) string {
	const most = 1000
	text = strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// away says that the engine is, unless it was the caller who left. An engine
// that comes back may be another one.
func (e *engine) away(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e.mu.Lock()
	e.version = ""
	e.mu.Unlock()
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return fmt.Errorf("%w at %s: %w", ErrAway, e.socket, err)
}

// answerTime bounds the calls that an engine answers at once unless its host
// is overloaded.
const answerTime = 2 * time.Minute

// call makes one request and reads the answer into out, if that is not nil.
func (e *engine) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	limited, cancel := context.WithTimeoutCause(ctx, answerTime, ErrAway)
	defer cancel()
	answer, err := e.open(limited, method, path, query, in)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if out != nil {
		err = json.NewDecoder(answer.Body).Decode(out)
	} else {
		_, err = io.Copy(io.Discard, answer.Body)
	}
	if err != nil {
		return e.away(limited, err)
	}
	return nil
}

const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// patiently does it again for as long as the engine is away.
func patiently(ctx context.Context, do func() error) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := do()
		if !errors.Is(err, ErrAway) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}

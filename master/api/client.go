package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

// patience is how long a client waits for masters that are electing a leader.
const patience = 10 * time.Second

// Client speaks HTTP with whichever master leads: it asks those it was told of in
// turn, follows to the leader, and waits a while for one to be elected. It is not
// safe for concurrent use; see [Client.Another].
type Client struct {
	// Late, where it is set, is called when a request has waited for 2 s, from a
	// goroutine of its own, which has ended before the request does.
	Late func()

	masters []string    // host:port, the one that answered last in front
	heard   string      // host:port that answered the last request
	sent    atomic.Bool // the request under way went out to who may do it
	door    *door.Door
	scheme  string
	http    *http.Client
}

// NewClient returns a client of the masters at those addresses, host:port, at
// least one. The door says who asks, and whom to trust.
func NewClient(masters []string, d *door.Door) *Client {
	cl := &Client{masters: slices.Clone(masters), door: d, scheme: "http"}
	if d.ClientTLS() != nil {
		cl.scheme = "https"
	}
	cl.http = &http.Client{
		Transport: &http.Transport{
			Proxy:                 nil,
			DialContext:           (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
			TLSClientConfig:       d.ClientTLS(),
			TLSHandshakeTimeout:   5 * time.Second,
			ResponseHeaderTimeout: 15 * time.Second,
			DisableCompression:    true,
		},
		CheckRedirect: cl.follow,
	}
	return cl
}

// follow keeps the token on the way to the leader, which the standard library
// drops between hosts, and never leaves TLS.
func (cl *Client) follow(r *http.Request, via []*http.Request) error {
	cl.sent.Store(false) // who sends it elsewhere has not done it
	if len(via) > 4 {
		return errors.New("the masters send us in circles")
	}
	if via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
		return fmt.Errorf("%s would leave TLS", r.URL.Redacted())
	}
	for k, v := range cl.door.Header() {
		r.Header[k] = v
	}
	if cl.silent(r.Context(), r.URL.Host) != nil {
		return offers.Errorf(offers.Unavailable, "the master at %s says that %s leads, which does not answer", via[len(via)-1].URL.Host, r.URL.Host)
	}
	return nil
}

// probePatience is after how long a master that does not even say that it lives is
// passed by.
const probePatience = time.Second

// silent returns an error for a master that is stopped or cut off: it takes
// connections and says nothing, which a request that may take long does not
// tell. One that answered last, or refuses to be asked, is not silent.
func (cl *Client) silent(ctx context.Context, host string) error {
	if host == cl.heard {
		return nil
	}
	return cl.probe(ctx, host)
}

// probe asks a master whether it lives; that it refuses to be asked is no
// silence. It is safe for concurrent use.
func (cl *Client) probe(ctx context.Context, host string) error {
	within, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	r, err := http.NewRequestWithContext(within, http.MethodGet, cl.scheme+"://"+host+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := cl.http.Transport.RoundTrip(r)
	if err == nil {
		return resp.Body.Close()
	}
	if within.Err() != nil {
		return err
	}
	return nil
}

// ParseMasters reads host:port,host:port.
func ParseMasters(text string) ([]string, error) {
	var out []string
	for m := range strings.SplitSeq(text, ",") {
		m = strings.TrimSpace(m)
		m = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(m, "http://"), "https://"), "/")
		if m == "" {
			continue
		}
		if _, port, err := net.SplitHostPort(m); err != nil || port == "" {
			return nil, fmt.Errorf("%q is not host:port", m)
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, errors.New("no master is named; give host:port, several with commas")
	}
	return out, nil
}

// Do asks the masters in turn until one answers with anything but 503, and waits
// up to 10 s while all that answer have no leader. A request that may do more
// when it is asked twice is repeated only where nothing was done; else the error
// is of code undecided. It returns answers of 2xx only, of which the caller
// closes the body; others are an [AnswerError].
func (cl *Client) Do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	defer cl.Waits()()
	single := once(method, path)
	deadline := time.Now().Add(patience)
	for {
		resp, err := cl.round(ctx, method, path, body, single)
		var none *offers.Error
		if !errors.As(err, &none) || none.Code != offers.Unavailable && (single || none.Code != offers.Undecided) || time.Now().After(deadline) {
			return resp, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// lateAfter is when who waits may wonder.
const lateAfter = 2 * time.Second

// Waits has Late called unless over is called before; over waits for it.
func (cl *Client) Waits() (over func()) {
	if cl.Late == nil {
		return func() {}
	}
	called := make(chan struct{})
	t := time.AfterFunc(lateAfter, func() {
		defer close(called)
		cl.Late()
	})
	return func() {
		if !t.Stop() {
			<-called
		}
	}
}

// round asks every master once.
func (cl *Client) round(ctx context.Context, method, path string, body []byte, single bool) (*http.Response, error) {
	var refusal error
	var silence error
	for i, m := range cl.masters {
		resp, err := cl.tryOne(ctx, m, method, path, body, single)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, errUndecided) {
			return nil, err
		}
		if errors.Is(err, &offers.Error{Code: offers.Unavailable}) {
			refusal = err
			continue
		}
		if err != nil {
			silence = err
			continue
		}
		if resp.StatusCode == http.StatusServiceUnavailable {
			if refusal = refused(m, resp); single && errors.Is(refusal, errUndecided) {
				return nil, refusal
			}
			continue
		}
		cl.masters[0], cl.masters[i] = cl.masters[i], cl.masters[0]
		if resp.StatusCode/100 != 2 {
			return nil, refused(m, resp)
		}
		return resp, nil
	}
	if refusal != nil {
		return nil, refusal
	}
	return nil, cl.nobody(silence)
}

// tryOne asks one master, unless it is silent and there are others to ask.
func (cl *Client) tryOne(ctx context.Context, master, method, path string, body []byte, single bool) (*http.Response, error) {
	if len(cl.masters) > 1 {
		if err := cl.silent(ctx, master); err != nil {
			return nil, err
		}
	}
	resp, err := cl.ask(ctx, master, method, path, body, single)
	cl.heard = ""
	if err == nil {
		cl.heard = resp.Request.URL.Host
	}
	return resp, err
}

func (cl *Client) ask(ctx context.Context, master, method, path string, body []byte, single bool) (*http.Response, error) {
	cl.sent.Store(false)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { cl.sent.Store(false) }, // also after a connection that was not there any more
		WroteHeaders: func() { cl.sent.Store(true) },
	})
	r, err := http.NewRequestWithContext(ctx, method, cl.scheme+"://"+master+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range cl.door.Header() {
		r.Header[k] = v
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := cl.http.Do(r)
	var u *url.Error
	if single && errors.As(err, &u) && cl.sent.Load() {
		return nil, offers.Errorf(offers.Undecided, "the master at %s was asked and gave no answer: look whether that was done before you ask again", hostOf(u.URL))
	}
	if errors.As(err, &u) && !strings.HasPrefix(u.URL, cl.scheme+"://"+master+"/") && away(err) {
		// The masters have not noticed yet, and will elect another.
		return nil, offers.Errorf(offers.Unavailable, "the master at %s says that %s leads, which does not answer", master, hostOf(u.URL))
	}
	return resp, err
}

// errUndecided is of who does not know whether an order was carried out.
var errUndecided = &offers.Error{Code: offers.Undecided}

// away reports whether nobody is there, as opposed to somebody who is not
// understood or not believed.
func away(err error) bool {
	var timeout net.Error
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

func hostOf(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Host
	}
	return text
}

// What keeps a client from the masters, beside an [AnswerError].
var (
	ErrNobody    = errors.New("no master answers")
	ErrUntrusted = errors.New("the certificate of the masters is not to be trusted")
	ErrOtherName = errors.New("the certificate of the masters is of other names")
	ErrTLS       = errors.New("the master speaks TLS")
)

// reachError is one of the above, in a sentence.
type reachError struct {
	kind error
	text string
}

func (e *reachError) Error() string { return e.text }
func (e *reachError) Unwrap() error { return e.kind }

// nobody is the error when no master answers at all.
func (cl *Client) nobody(err error) error {
	at := strings.Join(cl.masters, ",")
	var doubt *tls.CertificateVerificationError
	if errors.As(err, &doubt) {
		kind := ErrUntrusted
		if errors.As(err, new(x509.HostnameError)) {
			kind = ErrOtherName
		}
		return &reachError{kind, fmt.Sprintf("the certificate of the masters at %s is not to be trusted (%v)", at, doubt.Err)}
	}
	why := ""
	if !away(err) {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		why = fmt.Sprintf(" (%v)", err)
	}
	return &reachError{ErrNobody, fmt.Sprintf("no master answers at %s%s", at, why)}
}

// refused reads the error out of an answer and closes it.
func refused(master string, resp *http.Response) error {
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var answer struct {
		Error *offers.Error `json:"error"`
	}
	if json.Unmarshal(text, &answer) == nil && answer.Error != nil && answer.Error.Message != "" {
		return &AnswerError{resp.StatusCode, answer.Error}
	}
	if strings.Contains(string(text), "HTTP request to an HTTPS server") {
		return &reachError{ErrTLS, fmt.Sprintf("the master at %s speaks TLS", master)}
	}
	return &AnswerError{resp.StatusCode, offers.Errorf(codeOf(resp.StatusCode), "the master at %s answered %s to %s", master, resp.Status, resp.Request.URL.Path)}
}

// AnswerError is an answer that is no success.
type AnswerError struct {
	Status int // of HTTP
	Cause  *offers.Error
}

func (e *AnswerError) Error() string { return e.Cause.Message }
func (e *AnswerError) Unwrap() error { return e.Cause }

// codeOf is the code of an answer that names none.
func codeOf(status int) offers.Code {
	switch status {
	case http.StatusServiceUnavailable:
		return offers.Unavailable
	case http.StatusUnauthorized:
		return offers.Unauthenticated
	case http.StatusForbidden:
		return offers.Forbidden
	}
	return offers.Internal
}

// Another returns a client of the same masters, for use beside this one.
func (cl *Client) Another() *Client { return NewClient(cl.masters, cl.door) }

// Close ends connections that wait for the next request.
func (cl *Client) Close() { cl.http.CloseIdleConnections() }

// Carry makes the client one that sends large bodies: only to the master that
// takes them, and with so much patience for what it does with them.
func (cl *Client) Carry(limit time.Duration) {
	t, ok := cl.http.Transport.(*http.Transport)
	if !ok {
		return // it does
	}
	t = t.Clone()
	t.ResponseHeaderTimeout, t.ExpectContinueTimeout = limit, 10*time.Second
	cl.http.Transport = carrier{t}
}

// carrier asks before it sends a body, so that a master that does not lead can
// send it elsewhere.
type carrier struct{ to http.RoundTripper }

var _ http.RoundTripper = carrier{}

func (t carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Expect", "100-continue")
	r.Header.Set("Content-Type", "application/octet-stream")
	return t.to.RoundTrip(r)
}

// Masters returns the addresses, host:port, the one that answered last in front.
func (cl *Client) Masters() []string { return slices.Clone(cl.masters) }

// Heard returns the address, host:port, of the master that answered the last
// request, "" where none did: mostly the leader.
func (cl *Client) Heard() string { return cl.heard }

// Door returns who asks.
func (cl *Client) Door() *door.Door { return cl.door }

// Scheme is http or https.
func (cl *Client) Scheme() string { return cl.scheme }

// Read returns the body of the answer to a GET of a path with its query.
func (cl *Client) Read(ctx context.Context, path string) ([]byte, error) {
	return cl.Send(ctx, http.MethodGet, path, nil)
}

// Send sends a body, which is JSON or nil, and returns that of the answer.
func (cl *Client) Send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	resp, err := cl.Do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer to %s broke off: %w", path, err)
	}
	return text, nil
}

// Get reads the answer to a GET of a path with its query into one of the types
// of this package, as [Routes] say.
func (cl *Client) Get(ctx context.Context, path string, into any) error {
	text, err := cl.Read(ctx, path)
	if err != nil {
		return err
	}
	return decode(path, text, into)
}

// Act sends an order, nil for an empty one, and reads the answer into into, nil
// for nobody.
func (cl *Client) Act(ctx context.Context, method, path string, order, into any) error {
	var body []byte
	if order != nil {
		var err error
		if body, err = json.Marshal(order); err != nil {
			return fmt.Errorf("encode the order: %w", err)
		}
	}
	text, err := cl.Send(ctx, method, path, body)
	if err != nil || into == nil {
		return err
	}
	return decode(path, text, into)
}

func decode(path string, text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the master's answer to %s can't be read: %w", path, err)
	}
	return nil
}

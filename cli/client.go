package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

const defaultMasters = "127.0.0.1:5050"

// clientFlags are those of every command that talks to a master.
func clientFlags(more ...cli.Flag) []cli.Flag {
	return append(more,
		&cli.StringFlag{Name: "masters", Usage: "`HOST:PORT,...` of the masters; the leader is found among them", Value: defaultMasters, EnvVars: []string{"RINGMASTER_MASTERS"}},
		&cli.StringFlag{Name: "token", Usage: "the cluster's `TOKEN`", EnvVars: []string{"RINGMASTER_TOKEN"}, DefaultText: "none"},
		&cli.StringFlag{Name: "ca", Usage: "PEM `FILE` with who signs the masters' certificates", EnvVars: []string{"RINGMASTER_CA"}},
		&cli.StringFlag{Name: "cert", Usage: "PEM `FILE` with a certificate of ours", EnvVars: []string{"RINGMASTER_CERT"}},
		&cli.StringFlag{Name: "key", Usage: "PEM `FILE` with the key of --cert", EnvVars: []string{"RINGMASTER_KEY"}},
	)
}

// patience is how long a client waits for masters that are electing a leader.
const patience = 10 * time.Second

// client speaks HTTP with whichever master leads. It is not safe for
// concurrent use.
type client struct {
	masters []string // host:port, the one that answered last in front
	heard   string   // host:port that answered the last request
	door    *door.Door
	scheme  string
	http    *http.Client
}

func newClient(c *cli.Context) (*client, error) {
	text := c.String("masters")
	if text == "" {
		text = defaultMasters // an empty variable says nothing
	}
	masters, err := masterList(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("--masters: %w", err)}
	}
	d, err := door.Open(door.Config{Token: c.String("token"), CertFile: c.String("cert"), KeyFile: c.String("key"), CAFile: c.String("ca")})
	if err != nil {
		return nil, err
	}
	return openClient(masters, d), nil
}

func openClient(masters []string, d *door.Door) *client {
	cl := &client{masters: masters, door: d, scheme: "http"}
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
func (cl *client) follow(r *http.Request, via []*http.Request) error {
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
func (cl *client) silent(ctx context.Context, host string) error {
	if host == cl.heard {
		return nil
	}
	return cl.probe(ctx, host)
}

// probe asks a master whether it lives; that it refuses to be asked is no
// silence. It is safe for concurrent use.
func (cl *client) probe(ctx context.Context, host string) error {
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

// masterList reads host:port,host:port.
func masterList(text string) ([]string, error) {
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

// do asks the masters in turn until one answers with anything but 503, and
// waits a while when all that answer have no leader. It returns answers of
// 2xx only; the caller closes their body.
func (cl *client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	deadline := time.Now().Add(patience)
	for {
		resp, err := cl.round(ctx, method, path, body)
		var none *offers.Error
		if !errors.As(err, &none) || none.Code != offers.Unavailable || time.Now().After(deadline) {
			return resp, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// round asks every master once.
func (cl *client) round(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	var refusal error
	var silence error
	for i, m := range cl.masters {
		resp, err := cl.tryOne(ctx, m, method, path, body)
		if ctx.Err() != nil {
			return nil, ctx.Err()
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
			refusal = refused(m, resp)
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
func (cl *client) tryOne(ctx context.Context, master, method, path string, body []byte) (*http.Response, error) {
	if len(cl.masters) > 1 {
		if err := cl.silent(ctx, master); err != nil {
			return nil, err
		}
	}
	resp, err := cl.ask(ctx, master, method, path, body)
	cl.heard = ""
	if err == nil {
		cl.heard = resp.Request.URL.Host
	}
	return resp, err
}

func (cl *client) ask(ctx context.Context, master, method, path string, body []byte) (*http.Response, error) {
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
	if errors.As(err, &u) && !strings.HasPrefix(u.URL, cl.scheme+"://"+master+"/") && away(err) {
		// The masters have not noticed yet, and will elect another.
		return nil, offers.Errorf(offers.Unavailable, "the master at %s says that %s leads, which does not answer", master, hostOf(u.URL))
	}
	return resp, err
}

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

// nobody is the error when no master answers at all.
func (cl *client) nobody(err error) error {
	why := ""
	var doubt *tls.CertificateVerificationError
	if errors.As(err, &doubt) {
		return fmt.Errorf("the certificate of the masters at %s is not to be trusted (%v): check --ca", strings.Join(cl.masters, ","), doubt.Err)
	}
	if !away(err) {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		why = fmt.Sprintf(" (%v)", err)
	}
	return fmt.Errorf("no master answers at %s%s: start one with ringmaster dev, or give --masters", strings.Join(cl.masters, ","), why)
}

// refused reads the error out of an answer and closes it.
func refused(master string, resp *http.Response) error {
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var answer struct {
		Error *offers.Error `json:"error"`
	}
	if json.Unmarshal(text, &answer) == nil && answer.Error != nil && answer.Error.Message != "" {
		return &answerError{resp.StatusCode, answer.Error}
	}
	if strings.Contains(string(text), "HTTP request to an HTTPS server") {
		return fmt.Errorf("the master at %s speaks TLS: give --ca", master)
	}
	return &answerError{resp.StatusCode, offers.Errorf(codeOf(resp.StatusCode), "the master at %s answered %s to %s", master, resp.Status, resp.Request.URL.Path)}
}

// answerError is a refusal with its HTTP status.
type answerError struct {
	status int
	cause  *offers.Error
}

func (e *answerError) Error() string { return e.cause.Message }
func (e *answerError) Unwrap() error { return e.cause }

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

// get returns the body of an answer.
func (cl *client) get(ctx context.Context, path string) ([]byte, error) {
	return cl.send(ctx, http.MethodGet, path, nil)
}

func (cl *client) send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	resp, err := cl.do(ctx, method, path, body)
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

// list returns all pages of a list as one answer of the same shape.
func (cl *client) list(ctx context.Context, path, key string, query url.Values) ([]byte, error) {
	query = cloneValues(query)
	first, err := cl.get(ctx, path+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	next, items, err := readPage(first, key, &whole)
	if err != nil || next == "" || query.Has("limit") {
		return first, err
	}
	for next != "" {
		query.Set("next", next)
		text, err := cl.get(ctx, path+"?"+query.Encode())
		if err != nil {
			return nil, err
		}
		var page map[string]json.RawMessage
		var more []json.RawMessage
		if next, more, err = readPage(text, key, &page); err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	delete(whole, "next")
	if whole[key], err = json.Marshal(items); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

func cloneValues(v url.Values) url.Values {
	out := url.Values{}
	for k, list := range v {
		out[k] = append([]string(nil), list...)
	}
	return out
}

func readPage(text []byte, key string, into *map[string]json.RawMessage) (next string, items []json.RawMessage, err error) {
	if err = json.Unmarshal(text, into); err == nil {
		err = json.Unmarshal((*into)[key], &items)
	}
	if raw, ok := (*into)["next"]; ok && err == nil && string(raw) != "null" {
		err = json.Unmarshal(raw, &next)
	}
	if err != nil {
		return "", nil, fmt.Errorf("the master's answer is not a list of %s: %w", key, err)
	}
	return next, items, nil
}

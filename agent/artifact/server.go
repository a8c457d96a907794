package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// server is a file on an http or https server.
type server struct {
	uri    *url.URL
	client *http.Client
}

var _ source = (*server)(nil)

// forbidden are the addresses of the metadata services of clouds, which hand
// the host's own credentials to whoever asks, and of link-local networks,
// where they live.
var forbidden = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fd00:ec2::254/128"),
	netip.MustParsePrefix("fd20:ce::254/128"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
}

var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	sixToIV = netip.MustParsePrefix("2002::/16")
	oldIV   = netip.MustParsePrefix("::/96")
)

var (
	errMetadata   = errors.New("its address belongs to a metadata service or a link-local network, where no artifact may come from")
	errDowngrade  = errors.New("it redirects from https to http, which would give up what https proves")
	errElsewhere  = errors.New("it redirects to something that is neither http nor https")
	errTooFar     = errors.New("it redirects more than 10 times")
	errStalled    = errors.New("its server has stopped sending")
	errUnreadable = errors.New("it redirects to something that is not a URI")
)

// allowed is asked about every address that is dialled, after names were
// resolved, so that what a name meant a moment ago is of no importance.
func allowed(network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s address %q: %w", network, address, err)
	}
	if barred(at.Addr()) {
		return errMetadata
	}
	return nil
}

func barred(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	for _, p := range forbidden {
		if p.Contains(ip) {
			return true
		}
	}
	if !ip.Is6() {
		return false
	}
	b := ip.As16()
	switch {
	case nat64.Contains(ip), oldIV.Contains(ip):
		return barred(netip.AddrFrom4([4]byte(b[12:])))
	case sixToIV.Contains(ip):
		return barred(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return false
}

// newClient returns a client that knows no proxy, since the address that is
// dialled would be the proxy's, keeps no cookies, and unpacks nothing.
func newClient(stall time.Duration) *http.Client {
	dialer := &net.Dialer{Timeout: min(stall, 15*time.Second), Control: allowed}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableCompression: true, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: min(stall, 15*time.Second), ResponseHeaderTimeout: stall,
			MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: 30 * time.Second, MaxIdleConns: 2 * maxFlights,
		},
		CheckRedirect: redirect,
	}
}

func redirect(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case len(via) >= 10:
		return errTooFar
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return errElsewhere
	case last.URL.Scheme == "https" && next.URL.Scheme == "http":
		return errDowngrade
	}
	next.Header.Del("Referer") // its query may hold what only the first server should see
	return nil
}

func (s *server) key() string { return hashed(s.uri.String()) }

func (s *server) open(ctx context.Context, mark string) (*content, error) {
	// The header's timeout is the transport's; later the body's watch cancels.
	ctx, cancel := context.WithCancelCause(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.uri.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, errors.New("it is not a URI")
	}
	request.Header.Set("User-Agent", "ringmaster")
	condition(request.Header, mark)
	response, err := s.client.Do(request)
	if err != nil {
		err = told(ctx, err)
		cancel(nil)
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		body := &body{ReadCloser: response.Body, cancel: cancel, stall: s.client.Transport.(*http.Transport).ResponseHeaderTimeout}
		body.timer = time.AfterFunc(body.stall, func() { cancel(fault{errStalled}) })
		body.ctx = ctx
		return &content{ReadCloser: body, size: response.ContentLength, mark: markOf(response.Header)}, nil
	}
	err = response.Body.Close()
	cancel(nil)
	if response.StatusCode == http.StatusNotModified && mark != "" {
		return nil, err
	}
	err = fmt.Errorf("its server answered %s", oneLine(response.Status))
	if slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooManyRequests}, response.StatusCode) || response.StatusCode >= 500 {
		err = fault{err}
	}
	return nil, err
}

// markOf returns what the server will know this version by: its ETag, or the
// time of its last change.
func markOf(h http.Header) string {
	if strings.Contains(strings.ToLower(h.Get("Cache-Control")), "no-store") {
		return ""
	}
	if tag := h.Get("ETag"); tag != "" {
		return "E" + tag
	}
	if changed := h.Get("Last-Modified"); changed != "" {
		return "M" + changed
	}
	return ""
}

func condition(h http.Header, mark string) {
	switch {
	case strings.HasPrefix(mark, "E"):
		h.Set("If-None-Match", mark[1:])
	case strings.HasPrefix(mark, "M"):
		h.Set("If-Modified-Since", mark[1:])
	}
}

// told takes out of the client's error what may show credentials, and says
// whether another try may help.
func told(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, ours := range []error{errMetadata, errDowngrade, errElsewhere, errTooFar} {
		if errors.Is(err, ours) {
			return ours
		}
	}
	if strings.Contains(err.Error(), "Location") {
		return errUnreadable
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fault{errors.New(oneLine(err.Error()))}
}

// body gives a server up that stops sending.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	stall  time.Duration
}

func (b *body) Read(p []byte) (int, error) {
	b.timer.Reset(b.stall)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop() // what the reader does with it takes its own time
	if err != nil && err != io.EOF {
		if b.ctx.Err() != nil {
			err = context.Cause(b.ctx)
		} else {
			err = fault{errors.New("the connection to its server broke: " + oneLine(err.Error()))}
		}
	}
	return n, err
}

func (b *body) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

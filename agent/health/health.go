package health

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

const host = "127.0.0.1"

// client keeps no connection: a check that used an old one would not see that
// a server takes no new ones. Certificates are not verified, since they are
// for other names than this host's loopback.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxResponseHeaderBytes: 64 << 10},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// HTTP asks a server; first is the port where the check names none. The error
// is one sentence.
func HTTP(ctx context.Context, p *offers.HTTPPing, first int) error {
	scheme, path := p.Scheme, p.Path
	if scheme == "" {
		scheme = "http"
	}
	if path == "" {
		path = "/"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address(p.Port, first)+path, nil)
	if err != nil {
		return errors.New("health.http.path can't stand in a request")
	}
	request.Header.Set("User-Agent", "ringmaster")
	response, err := client.Do(request)
	if err != nil {
		return plainly(ctx, err)
	}
	_ = response.Body.Close() // the status is all that counts
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("it answered %d", response.StatusCode)
	}
	return nil
}

// TCP connects to a port.
func TCP(ctx context.Context, p *offers.TCPPing, first int) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address(p.Port, first))
	if err != nil {
		return plainly(ctx, err)
	}
	_ = conn.Close() // it was there
	return nil
}

func address(port, first int) string {
	if port == 0 {
		port = first
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// plainly says an error in few words.
func plainly(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

package door_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

func open(t testing.TB, c door.Config) *door.Door {
	t.Helper()
	d, err := door.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestMayServe(t *testing.T) {
	ca := newCA(t)
	cert, key := ca.sign(t, "both")
	full := door.Config{Token: "s", CertFile: cert, KeyFile: key, CAFile: ca.file}
	without := func(change func(*door.Config)) door.Config {
		c := full
		change(&c)
		return c
	}
	here := []string{"127.0.0.1:5050", "127.9.8.7:0", "localhost:5050", "LOCALHOST:1", "[::1]:5050", "::1", "127.0.0.1", "[::ffff:127.0.0.1]:1"}
	outside := []string{"0.0.0.0:5050", ":5050", "[::]:5050", "10.0.0.1:5050", "192.168.1.1", "example.com:5050", "localhost.example.com:1", "127.0.0.1.example.com:1", "", "[fe80::1%lo]:1", "1270.0.0.1:1"}
	for name, row := range map[string]struct {
		config  door.Config
		outside bool
	}{
		"nothing":        {door.Config{}, false},
		"token only":     {door.Config{Token: "s"}, false},
		"no token":       {without(func(c *door.Config) { c.Token = "" }), false},
		"no ca":          {without(func(c *door.Config) { c.CAFile = "" }), false},
		"no certificate": {without(func(c *door.Config) { c.CertFile, c.KeyFile = "", "" }), false},
		"all":            {full, true},
		"insecure":       {door.Config{Insecure: true}, true},
	} {
		d := open(t, row.config)
		for _, address := range here {
			if err := d.MayServe(address); err != nil || !door.Loopback(address) {
				t.Errorf("%s: %s: %v", name, address, err)
			}
		}
		for _, address := range outside {
			err := d.MayServe(address)
			if (err == nil) != row.outside || door.Loopback(address) {
				t.Errorf("%s: %s: %v, want it allowed %v", name, address, err, row.outside)
			}
			if err != nil && (!strings.Contains(err.Error(), "--insecure") || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("the message does not say what to do: %v", err)
			}
		}
	}
}

func TestAdmit(t *testing.T) {
	locked, unlocked := open(t, door.Config{Token: "s3cret"}), open(t, door.Config{})
	actions := []door.Action{door.Read, door.Operate, door.Framework + "accept", door.Agent + "register", door.Peer, door.Sandbox}
	for header, known := range map[string]bool{
		"Bearer s3cret": true, "bearer s3cret": true,
		"": false, "Bearer": false, "Bearer ": false, "Bearer s3cre": false, "Bearer s3cret2": false, "Bearer S3CRET": false, "Bearer  s3cret": false,
		"s3cret": false, "Basic s3cret": false, "Bearer s3cret s3cret": false, "Bearer \x00": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", header)
		for _, action := range actions {
			err := locked.Admit(locked.Who(r), action, "t1")
			if (err == nil) != known {
				t.Errorf("%q, %s: %v, want it admitted %v", header, action, err, known)
			}
			if err != nil && (!errors.Is(err, &offers.Error{Code: offers.Unauthenticated}) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("%q, %s: %v", header, action, err)
			}
			other := len(header) > len("Bearer ") && strings.HasPrefix(header, "Bearer ")
			if err != nil && strings.HasSuffix(err.Error(), "the one that was given is another") != other {
				t.Errorf("%q, %s: %v, want it to say that the token is another: %v", header, action, err, other)
			}
			if err := unlocked.Admit(unlocked.Who(r), action, ""); err != nil {
				t.Errorf("no token configured, %q, %s: %v", header, action, err)
			}
		}
	}
	for token, known := range map[string]bool{"s3cret": true, "": false, "s3cret\n": false, strings.Repeat("x", 1<<20): false} {
		if err := locked.Admit(locked.Bearer(token), door.Peer, ""); (err == nil) != known {
			t.Errorf("the token %.10q: %v", token, err)
		}
	}
	if (locked.Bearer("s3cret")) == (door.Principal{}) || unlocked.Bearer("") != (door.Principal{}) {
		t.Error("the principal of a token is wrong")
	}
}

// What a client sends is what Who reads.
func TestHeader(t *testing.T) {
	d := open(t, door.Config{Token: "s3cret"})
	r := &http.Request{Header: d.Header()}
	if err := d.Admit(d.Who(r), door.Read, ""); err != nil || d.Token() != "s3cret" {
		t.Errorf("its own header is refused: %v", err)
	}
	if h := open(t, door.Config{}).Header(); len(h) != 0 {
		t.Errorf("without a token %v is sent", h)
	}
}

func TestSameOrigin(t *testing.T) {
	const local, remote = "127.0.0.1:5050", "10.0.0.1:5050"
	for _, row := range []struct {
		listens, host, origin string
		ok                    bool
	}{
		{local, "127.0.0.1:5050", "", true},
		{local, "localhost:5050", "", true},
		{local, "LocalHost:5050", "", true},
		{local, "[::1]:5050", "", true},
		{"[::1]:5050", "[::1]:5050", "", true},
		{"[::1]:5050", "[::1]", "", true},
		{local, "evil.example:5050", "", false}, // a name that was rebound to loopback
		{local, "127.0.0.1.evil.example:5050", "", false},
		{local, "localhost.evil.example", "", false},
		{local, "", "", false},
		{"[::1]:5050", "evil.example", "", false},
		{local, "127.0.0.1:5050", "http://127.0.0.1:5050", true},
		{local, "localhost:5050", "http://localhost:5050", true},
		{local, "[::1]:5050", "http://[::1]:5050", true},
		{local, "127.0.0.1:5050", "http://localhost:5050", false},
		{local, "127.0.0.1:5050", "http://127.0.0.1:8080", false},
		{local, "127.0.0.1:5050", "http://127.0.0.1", false},
		{local, "127.0.0.1:5050", "http://evil.example", false},
		{local, "127.0.0.1:5050", "http://evil.example:5050", false},
		{local, "evil.example:5050", "http://evil.example:5050", false}, // rebound, and consistent
		{local, "127.0.0.1:5050", "null", false},
		{local, "127.0.0.1:5050", "file://", false},
		{local, "127.0.0.1:5050", "http://user@127.0.0.1:5050", true},
		{local, "127.0.0.1:5050", "http://127.0.0.1:5050@evil.example", false},
		{local, "127.0.0.1:5050", "http://[", false},
		{remote, "m1.example:5050", "", true},
		{remote, "m1.example:5050", "https://m1.example:5050", true},
		{remote, "m1.example:5050", "https://M1.Example:5050", true},
		{remote, "m1.example:5050", "https://evil.example", false},
		{remote, "m1.example:5050", "https://evil.example/m1.example:5050", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = row.host
		if row.origin != "" {
			r.Header.Set("Origin", row.origin)
		}
		listens, err := net.ResolveTCPAddr("tcp", row.listens)
		if err != nil {
			t.Fatal(err)
		}
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(listens)))
		err = door.SameOrigin(r)
		if (err == nil) != row.ok || err != nil && !errors.Is(err, &offers.Error{Code: offers.Forbidden}) {
			t.Errorf("host %q, origin %q on %s: %v, want it allowed %v", row.host, row.origin, row.listens, err, row.ok)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	ca := newCA(t)
	cert, key := ca.sign(t, "both")
	_, otherKey := ca.sign(t, "both")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		config door.Config
		names  string
	}{
		{door.Config{CertFile: cert}, "key"},
		{door.Config{KeyFile: key}, "cert"},
		{door.Config{CertFile: cert, KeyFile: otherKey}, "key"},
		{door.Config{CertFile: "/nowhere", KeyFile: key}, "/nowhere"},
		{door.Config{CertFile: key, KeyFile: key}, "cert"},
		{door.Config{CAFile: "/nowhere"}, "ca"},
		{door.Config{CAFile: empty}, empty},
		{door.Config{CAFile: key}, key},
	} {
		if _, err := door.Open(row.config); err == nil || !strings.Contains(err.Error(), row.names) {
			t.Errorf("%+v: %v, want it refused for %q", row.config, err, row.names)
		}
	}
}

func TestPlain(t *testing.T) {
	d := open(t, door.Config{Token: "s"})
	if d.Secure() || d.Scheme() != "http" || d.ServerTLS() != nil || d.ClientTLS() != nil {
		t.Error("a door without files speaks TLS")
	}
}

// Who trusts whom, over real handshakes.
func TestHandshakes(t *testing.T) {
	ours, theirs := newCA(t), newCA(t)
	with := func(ca authority, use string) door.Config {
		cert, key := ca.sign(t, use)
		return door.Config{CertFile: cert, KeyFile: key, CAFile: ca.file}
	}
	for _, row := range []struct {
		name           string
		server, client door.Config
		ok, shown      bool // shown: the server saw a verified client certificate
	}{
		{"both of one authority", with(ours, "both"), with(ours, "both"), true, true},
		{"a client that only trusts", with(ours, "both"), door.Config{CAFile: ours.file}, true, false},
		{"a client of another authority", with(ours, "both"), with(theirs, "both"), false, false},
		{"a stranger's certificate, our authority trusted", with(ours, "both"), func() door.Config {
			c := with(theirs, "both")
			c.CAFile = ours.file
			return c
		}(), false, false},
		{"a server of another authority", with(theirs, "both"), with(ours, "both"), false, false},
		{"a certificate that is not for clients", with(ours, "both"), with(ours, "server"), false, false},
		{"a certificate that is not for servers", with(ours, "client"), with(ours, "both"), false, false},
		{"a client without TLS", with(ours, "both"), door.Config{}, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			server, client := open(t, row.server), open(t, row.client)
			if !server.Secure() || server.Scheme() != "https" {
				t.Error("the server's door is not secure")
			}
			shown, err := exchange(t, server.ServerTLS(), client.ClientTLS())
			if (err == nil) != row.ok || shown != row.shown {
				t.Errorf("%v, certificate shown %v; want it to work %v, shown %v", err, shown, row.ok, row.shown)
			}
		})
	}
}

// exchange sends one request over TLS and reports whether the server saw a
// verified client certificate.
func exchange(t *testing.T, server, client *tls.Config) (shown bool, err error) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, len(r.TLS.VerifiedChains))
	}))
	s.Config.ErrorLog = quiet()
	s.TLS = server
	s.StartTLS()
	defer s.Close()
	transport := &http.Transport{TLSClientConfig: client}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(s.URL)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	var chains int
	if _, err := fmt.Fscan(resp.Body, &chains); err != nil {
		return false, err
	}
	return chains > 0, nil
}

func TestOldTLSIsRefused(t *testing.T) {
	ca := newCA(t)
	cert, key := ca.sign(t, "both")
	d := open(t, door.Config{CertFile: cert, KeyFile: key, CAFile: ca.file})
	old := d.ClientTLS()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, err := exchange(t, d.ServerTLS(), old); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
}

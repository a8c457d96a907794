// Package door decides who may do what. Every message of a framework or an
// agent, every HTTP request and every Raft connection passes [Door.Admit];
// nothing else in the program knows tokens or decides about access.
//
// Today it knows two answers. On loopback, with no token configured, the door
// is open. Everywhere else TLS files and one cluster token are required; a
// daemon that would listen without them refuses to start ([Door.MayServe])
// unless it was told to be insecure. The package imports the standard library
// and the vocabulary only, starts no goroutine, and a Door never changes
// after [Open].
package door

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Config says how the door is locked.
type Config struct {
	Token    string // the cluster's token; empty: none is asked for
	CertFile string // PEM, goes with KeyFile
	KeyFile  string
	CAFile   string // PEM, who signs the others' certificates
	Insecure bool   // serve off loopback without TLS or token
}

// Door is safe for concurrent use.
type Door struct {
	config Config
	token  [sha256.Size]byte
	cert   *tls.Certificate
	roots  *x509.CertPool
}

// Action is what somebody wants to do.
type Action string

// The actions that the door tells apart. A message of a framework or agent is
// the action of its prefix followed by its type ("framework.accept").
const (
	Read      Action = "read"       // look at the cluster over HTTP
	Operate   Action = "operate"    // change something over HTTP
	Framework Action = "framework." // prefix, see above
	Agent     Action = "agent."     // prefix, see above
	Peer      Action = "peer"       // speak as a master of this cluster
	Sandbox   Action = "sandbox"    // read a task's files from its agent
	Exec      Action = "exec"       // run a command beside a task
)

// Principal is who asks. The zero value is somebody unknown.
type Principal struct {
	Name  string // "token" for a holder of the cluster's token, "" for anybody
	known bool
	other bool // shows a token, which is not the cluster's
}

// Open reads the TLS files and returns the door.
func Open(c Config) (*Door, error) {
	d := &Door{config: c, token: sha256.Sum256([]byte(c.Token))}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, errors.New("tls: cert and key go together; one of them is missing")
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls: cert and key: %w", err)
		}
		d.cert = &pair
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls: ca: %w", err)
		}
		d.roots = x509.NewCertPool()
		if !d.roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls: ca: %s holds no certificate in PEM form", c.CAFile)
		}
	}
	return d, nil
}

// MayServe refuses to listen on address where the door would stand open to
// others: off loopback it asks for TLS files and a token, or for Insecure.
func (d *Door) MayServe(address string) error {
	if d.config.Insecure || Loopback(address) {
		return nil
	}
	if d.cert == nil || d.roots == nil || d.config.Token == "" {
		return fmt.Errorf("%s is reachable by others: give --cert, --key, --ca and --token, or --insecure to serve without them", address)
	}
	return nil
}

// Secure reports whether the door speaks TLS.
func (d *Door) Secure() bool { return d.cert != nil }

// Scheme returns "https" or "http".
func (d *Door) Scheme() string {
	if d.Secure() {
		return "https"
	}
	return "http"
}

// ServerTLS returns the settings to listen with, or nil for plain TCP.
func (d *Door) ServerTLS() *tls.Config {
	if d.cert == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{*d.cert},
		ClientCAs:    d.roots,
		ClientAuth:   tls.VerifyClientCertIfGiven,
	}
}

// ClientTLS returns the settings to dial with, or nil for plain TCP. A client
// that only trusts (has a CA and no certificate of its own) gets them too.
func (d *Door) ClientTLS() *tls.Config {
	if d.cert == nil && d.roots == nil {
		return nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: d.roots}
	if d.cert != nil {
		conf.Certificates = []tls.Certificate{*d.cert}
	}
	return conf
}

// Header returns what a client sends with every request.
func (d *Door) Header() http.Header {
	h := http.Header{}
	if d.config.Token != "" {
		h.Set("Authorization", "Bearer "+d.config.Token)
	}
	return h
}

// Token returns the cluster's token for transports without headers.
func (d *Door) Token() string { return d.config.Token }

// Who returns the principal of an HTTP request.
func (d *Door) Who(r *http.Request) Principal {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return Principal{}
	}
	return d.Bearer(token)
}

// Bearer returns the principal that shows token.
func (d *Door) Bearer(token string) Principal {
	sum := sha256.Sum256([]byte(token))
	if d.config.Token != "" && subtle.ConstantTimeCompare(sum[:], d.token[:]) == 1 {
		return Principal{Name: "token", known: true}
	}
	return Principal{other: token != ""}
}

// Admit decides whether p may do action to target (an id, or "" for the
// whole). The error is an *offers.Error of code unauthenticated or forbidden.
func (d *Door) Admit(p Principal, action Action, target string) error {
	if d.config.Token == "" || p.known {
		return nil
	}
	what := strings.TrimSpace(string(action) + " " + target)
	if p.other {
		return offers.Errorf(offers.Unauthenticated, "%s needs the cluster's token, and the one that was given is another", what)
	}
	return offers.Errorf(offers.Unauthenticated, "%s needs the cluster's token: give it with --token, RINGMASTER_TOKEN or an Authorization: Bearer header", what)
}

// SameOrigin refuses requests that a browser sends on behalf of another site:
// a foreign Origin, or on loopback a Host that is not loopback.
func SameOrigin(r *http.Request) error {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return offers.Errorf(offers.Forbidden, "requests from the origin %.100q are refused", origin)
		}
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if ok && Loopback(local.String()) && !Loopback(r.Host) {
		return offers.Errorf(offers.Forbidden, "the host %.100q is not this machine", r.Host)
	}
	return nil
}

// Loopback reports whether a host:port (or a host alone) is of this machine.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

package replica

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/offers/door"
)

func greeting(t testing.TB, h hello) string {
	t.Helper()
	var b bytes.Buffer
	if err := h.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHostileBytesCloseOnlyTheirConnection(t *testing.T) {
	c := config(t, "m1")
	c.Door, _ = door.Open(door.Config{Token: "secret"})
	r := start(t, c)
	<-r.LeadershipChanges()
	call := greeting(t, hello{Purpose: purposeCall, Token: "secret"})
	for what, sent := range map[string]string{
		"http":           "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"nothing":        "",
		"version":        "RING\x09c\x00\x00\x00",
		"purpose":        "RING\x01x\x00\x00\x00",
		"huge token":     "RING\x01c\xff\xff" + strings.Repeat("x", 70000),
		"no token":       greeting(t, hello{Purpose: purposeCall}),
		"wrong token":    greeting(t, hello{Purpose: purposeRaft, Token: "guess", To: r.self.ID}),
		"another master": greeting(t, hello{Purpose: purposeRaft, Token: "secret", To: "m9@1"}),
		"raft to nobody": greeting(t, hello{Purpose: purposeRaft, Token: "secret"}),
		"no call":        call,
		"huge call":      call + "\xff\xff\xff\xff",
		"no JSON":        call + "\x00\x00\x00\x02[[",
	} {
		conn, err := net.Dial("tcp", r.self.Raft)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		_, _ = io.WriteString(conn, sent)
		_ = conn.(*net.TCPConn).CloseWrite()
		answer, err := io.ReadAll(conn)
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Errorf("%s: still open, answered %q", what, answer)
		}
		conn.Close()
	}
	seen, err := r.port.call(context.Background(), r.self.Raft, request{Call: "info", From: r.self}, callTimeout)
	if err != nil || seen.ID != r.self.ID || !seen.HasState || seen.Leader.ID != r.self.ID {
		t.Errorf("info after the attacks: %+v, %v", seen, err)
	}
	if _, err := r.port.call(context.Background(), r.self.Raft, request{Call: "obey"}, callTimeout); err == nil {
		t.Error("an unknown call was answered")
	}
	apply(t, r, setRole("eng", 2))
}

func TestWrongTokenIsToldWhy(t *testing.T) {
	c := config(t, "m1")
	c.Door, _ = door.Open(door.Config{Token: "secret"})
	r := start(t, c)
	other := config(t, "m2")
	other.Join = []string{r.self.Raft}
	guest := start(t, other)
	_, err := guest.port.call(context.Background(), r.self.Raft, request{Call: "info"}, callTimeout)
	if err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("without the token: %v", err)
	}
}

func TestClusterOverTLS(t *testing.T) {
	good := newCA(t).door(t)
	rs := three(t, func(c *Config) { c.Door = good })
	leader := leaderOf(t, rs...)
	apply(t, leader, setRole("eng", 2))
	weigh(t, "eng", 2, rs...)

	foreign := newCA(t).door(t)
	for what, conf := range map[string]*tls.Config{
		"no certificate":      {InsecureSkipVerify: true},
		"foreign certificate": {InsecureSkipVerify: true, Certificates: foreign.ClientTLS().Certificates},
	} {
		conn, err := tls.Dial("tcp", leader.self.Raft, conf)
		if err != nil {
			continue // refused in the handshake
		}
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		_, _ = io.WriteString(conn, greeting(t, hello{Purpose: purposeCall, Token: "secret"}))
		if err := readAnswer(conn); err == nil {
			t.Errorf("%s: welcome", what)
		}
		conn.Close()
	}
	if conn, err := net.Dial("tcp", leader.self.Raft); err == nil {
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		_, _ = io.WriteString(conn, greeting(t, hello{Purpose: purposeCall, Token: "secret"}))
		if readAnswer(conn) == nil {
			t.Error("plain TCP: welcome")
		}
		conn.Close()
	}
}

// authority signs certificates for one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key}
}

// door returns the door of a master whose certificate a signed.
func (a authority) door(t *testing.T) *door.Door {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	d, err := door.Open(door.Config{
		Token:    "secret",
		CertFile: write("cert.pem", "CERTIFICATE", der), KeyFile: write("key.pem", "PRIVATE KEY", raw),
		CAFile: write("ca.pem", "CERTIFICATE", a.cert.Raw),
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestNoPipelines: see newTransport for what they would do. It takes a leader
// that is deposed under load to see it, which cli/chaos does.
func TestNoPipelines(t *testing.T) {
	c := config(t, "m1")
	p, err := openPort(c, "m1@1")
	if err != nil {
		t.Fatal(err)
	}
	transport := newTransport(p, c.Pace, c.Logger)
	defer transport.Close()
	if _, err := transport.AppendEntriesPipeline("m2@1", nobody); !errors.Is(err, raft.ErrPipelineReplicationNotSupported) {
		t.Errorf("a pipeline: %v", err)
	}
}

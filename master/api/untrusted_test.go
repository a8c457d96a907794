package api

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers/door"
)

// TestUntrustedMasters: who signed a certificate and whose it is are two faults,
// and each is told as what it is.
func TestUntrustedMasters(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS() // with a certificate that signs itself
	defer server.Close()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	other, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at    string
		trust []byte
		want  error
	}{
		{"m1.test:5050", server.Certificate().Raw, ErrOtherName},
		{"127.0.0.1:5050", other, ErrUntrusted},
	} {
		file := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.trust}), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := door.Open(door.Config{CAFile: file})
		if err != nil {
			t.Fatal(err)
		}
		cl := NewClient([]string{c.at}, d)
		cl.http.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("tcp", server.Listener.Addr().String())
		}
		if _, err := cl.Read(t.Context(), "/v1/status"); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.at, err, c.want)
		}
	}
}

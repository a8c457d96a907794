package artifact

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestBarredAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"169.254.169.254": true, "169.254.0.1": true, "169.253.0.1": false, "169.255.0.1": false,
		"::ffff:169.254.169.254": true, "fd00:ec2::254": true, "fd00:ec2::253": false, "fd20:ce::254": true,
		"fe80::1%eth0": true, "64:ff9b::a9fe:a9fe": true, "64:ff9b::808:808": false, "2002:a9fe:a9fe::1": true, "2002:808:808::1": false,
		"::169.254.169.254": true, "100.100.100.200": true, "192.0.0.192": true,
		"127.0.0.1": false, "::1": false, "10.0.0.1": false, "8.8.8.8": false, "2001:db8::1": false,
	} {
		if got := barred(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: barred is %v, want %v", text, got, want)
		}
		if err := allowed("tcp", netip.AddrPortFrom(netip.MustParseAddr(text), 80).String(), nil); (err != nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if allowed("tcp", "nonsense", nil) == nil {
		t.Error("an address that can't be read is dialled")
	}
}

func TestRedirects(t *testing.T) {
	for _, row := range []struct {
		from, to string
		hops     int
		want     error
	}{
		{"http://a/", "http://b/", 1, nil}, {"http://a/", "https://b/", 1, nil}, {"https://a/", "https://b/", 9, nil},
		{"https://a/", "http://a/", 1, errDowngrade}, {"https://a/", "file:///etc/passwd", 1, errElsewhere}, {"http://a/", "ftp://a/", 1, errElsewhere},
		{"http://a/", "http://b/", 10, errTooFar},
	} {
		from, to := parse(t, row.from), parse(t, row.to)
		to.Header.Set("Referer", "http://a/?secret")
		via := make([]*http.Request, row.hops)
		for i := range via {
			via[i] = from
		}
		if err := redirect(to, via); err != row.want {
			t.Errorf("%s to %s after %d: %v", row.from, row.to, row.hops, err)
		}
		if row.want == nil && to.Header.Get("Referer") != "" {
			t.Error("a redirect tells the next server where it comes from")
		}
	}
}

func parse(t *testing.T, uri string) *http.Request {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Request{URL: u, Header: http.Header{}}
}

// TestKeyHidesTheURI holds that nothing of a URI is written into the cache's folder.
func TestKeyHidesTheURI(t *testing.T) {
	a := (&server{uri: parse(t, "https://u:secret@h/x?token=secret").URL}).key()
	b := (&server{uri: parse(t, "https://u:other@h/x?token=secret").URL}).key()
	if strings.Contains(a, "secret") || a == b {
		t.Errorf("%s, %s", a, b)
	}
}

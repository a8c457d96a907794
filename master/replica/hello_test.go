package replica

import (
	"bytes"
	"strings"
	"testing"
)

func TestHelloRoundTrip(t *testing.T) {
	for _, h := range []hello{
		{Purpose: purposeRaft, Token: "secret", To: "m1@00ff"},
		{Purpose: purposeCall},
		{Purpose: purposeCall, Token: strings.Repeat("t", maxToken), To: strings.Repeat("i", 255)},
	} {
		in := bytes.NewBufferString(greeting(t, h) + "rest")
		got, err := readHello(in)
		if err != nil || got != h || in.String() != "rest" {
			t.Errorf("%+v came back as %+v, %v, leaving %q", h, got, err, in)
		}
	}
	if err := (hello{Token: strings.Repeat("t", maxToken+1)}).write(&bytes.Buffer{}); err == nil {
		t.Error("a token that is too long was written")
	}
}

func TestAnswerRoundTrip(t *testing.T) {
	var b bytes.Buffer
	if err := writeWelcome(&b); err != nil || readAnswer(&b) != nil {
		t.Error("a welcome is none")
	}
	if err := writeRefusal(&b, strings.Repeat("no ", 1000)); err != nil {
		t.Fatal(err)
	}
	if err := readAnswer(&b); err == nil || !strings.Contains(err.Error(), "no no") || b.Len() != 0 {
		t.Errorf("refusal: %v, %d bytes left", err, b.Len())
	}
}

// What any peer may send never panics, never reads past itself, and comes
// back as it was written.
func FuzzHello(f *testing.F) {
	f.Add([]byte("RING\x01r\x00\x02ab\x01x"))
	f.Add([]byte("RING\x01c\xff\xff\x00"))
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bytes.NewReader(data)
		h, err := readHello(in)
		if err == nil {
			if said := greeting(t, h); said != string(data[:len(data)-in.Len()]) {
				t.Errorf("%q was read as %q", data, said)
			}
		}
		_ = readAnswer(bytes.NewReader(data))
	})
}

func FuzzPeerCall(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x0f{\"call\":\"info\"}"))
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var q request
		if err := readFrame(bytes.NewReader(data), &q); err == nil {
			_ = q.From.validate()
			var again request
			var b bytes.Buffer
			if err := writeFrame(&b, q); err != nil {
				return // longer than a frame once it is escaped
			}
			if err := readFrame(&b, &again); err != nil {
				t.Errorf("%+v can't be read again: %v", q, err)
			}
		}
		var r response
		_ = readFrame(bytes.NewReader(data), &r)
	})
}

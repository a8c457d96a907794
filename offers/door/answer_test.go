package door

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const asks = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

// large is an answer of many pieces.
var large = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)

// TestAnswerThatNobodyTakes ends, however it is written.
func TestAnswerThatNobodyTakes(t *testing.T) {
	for what, serve := range map[string]http.HandlerFunc{
		"small":     func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") },
		"large":     func(w http.ResponseWriter, _ *http.Request) { w.Write(large) },
		"in chunks": func(w http.ResponseWriter, _ *http.Request) { io.Copy(w, struct{ io.Reader }{bytes.NewReader(large)}) },
		"of a file": func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "f", time.Time{}, bytes.NewReader(large))
		},
		"only flushed": func(w http.ResponseWriter, _ *http.Request) { http.NewResponseController(w).Flush() },
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				w.Write(large[:100])
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left, began := make(chan time.Duration, 1), time.Now()
				call := called(t, func(w http.ResponseWriter, r *http.Request) {
					serve(w, r)
					left <- time.Since(began)
				})
				call.say(asks)
				time.Sleep(AnswerPatience + answerGrain)
				if held := <-left; held > AnswerPatience {
					t.Errorf("it is held for %v", held)
				}
				rest, err := io.ReadAll(call.answers)
				if err != nil || len(rest) > 0 {
					t.Errorf("the connection goes on: %d bytes, %v", len(rest), err)
				}
			})
		})
	}
}

// TestAnswerThatIsTakenSlowly comes whole, and the connection serves on.
func TestAnswerThatIsTakenSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := called(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(large) })
		for range 2 {
			call.say(asks)
			resp, err := http.ReadResponse(call.answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for err == nil {
				time.Sleep(AnswerPatience - 2*answerGrain)
				_, err = io.CopyN(&got, resp.Body, answerPiece)
			}
			if err != io.EOF || !bytes.Equal(got.Bytes(), large) {
				t.Errorf("%d of %d bytes came: %v", got.Len(), len(large), err)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestAnswerMayBeLongInComing, with its first byte and with every other one.
func TestAnswerMayBeLongInComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pause := 10 * AnswerPatience
		call := called(t, func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			time.Sleep(pause)
			readAll(w, r)
			for range 3 {
				time.Sleep(pause)
				control.Flush()
				time.Sleep(pause)
				io.WriteString(w, ".")
			}
			time.Sleep(pause)
		})
		for range 2 {
			call.say(asks)
			if status, body, _ := call.answer(); status != http.StatusOK || body != "0, <nil>..." {
				t.Errorf("the answer is %d %q", status, body)
			}
			call.say(strings.Replace(head, "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1))
			if line, err := call.answers.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
				t.Fatalf("it is told %q: %v", line, err)
			}
			call.answers.ReadString('\n')
			call.say("0123456789")
			if status, body, _ := call.answer(); status != http.StatusOK || body != "10, <nil>..." {
				t.Errorf("the answer is %d %q", status, body)
			}
		}
	})
}

// TestAnswerOfAShorterTime: who says how long writes may take is heard.
func TestAnswerOfAShorterTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := make(chan time.Duration, 1)
		call := called(t, func(w http.ResponseWriter, _ *http.Request) {
			began, control := time.Now(), http.NewResponseController(w)
			control.SetWriteDeadline(began.Add(5 * time.Second))
			w.Write(large)
			took <- time.Since(began)
			control.SetWriteDeadline(time.Time{})
		})
		call.say(asks)
		if after := <-took; after != 5*time.Second {
			t.Errorf("the write ended after %v", after)
		}
		call.ended()
	})
}

// TestConnectionThatIsTakenOver has no limit, be it by whoever serves or by somebody
// to whom it was passed on.
func TestConnectionThatIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := make(chan struct{})
		upgraded := func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			go func() {
				defer conn.Close()
				io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
				<-quiet
				conn.Write(large)
			}()
		}
		behind := called(t, upgraded)
		passed := called(t, func(w http.ResponseWriter, r *http.Request) {
			(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: over{behind}}).ServeHTTP(w, r)
		})
		for _, call := range []*caller{called(t, upgraded), passed} {
			call.say(strings.Replace(asks, "\r\n\r\n", "\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", 1))
			resp, err := http.ReadResponse(call.answers, nil)
			if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
				t.Fatal(resp, err)
			}
			defer func() {
				time.Sleep(10 * AnswerPatience)
				if got, err := io.ReadAll(call.answers); err != nil || !bytes.Equal(got, large) {
					t.Errorf("%d of %d bytes came: %v", len(got), len(large), err)
				}
			}()
		}
		time.Sleep(10 * AnswerPatience)
		close(quiet)
	})
}

// over is a connection that is dialled.
type over struct{ to *caller }

func (o over) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Write(o.to); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(o.to.answers, r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.WriteCloser
		}{o.to.answers, o.to}
	}
	return resp, err
}

// TestRefusalOfALaterRequest: what is no request is told so however long after the
// last answer it comes. The time of that answer is over by then.
func TestRefusalOfALaterRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := called(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
		call.say(asks)
		call.answer()
		time.Sleep(AnswerPatience + time.Second)
		call.say("no request\r\n\r\n")
		if status, _, _ := call.answer(); status != http.StatusBadRequest {
			t.Errorf("the answer is %d", status)
		}
	})
}

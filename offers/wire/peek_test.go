package wire

import (
	"reflect"
	"testing"
	"unicode/utf8"
)

// strange frames have their envelope in unusual places, or none.
var strange = []string{
	`{"type":"kill","task_id":"t","request_id":"r"}`,
	` { "task_id" : "t" , "type" : "kill" } `,
	`{"TYPE":"kill","task_id":"t"}`,
	`{"type":"kill","type":"acknowledge","task_id":"t"}`,
	`{"type":"kill","ty\u0070e":"acknowledge"}`,
	`{"type":"\u006bill"}`,
	`{"type":"kill","request_id":"a\"b"}`,
	`{"type":"kill","request_id":null}`,
	`{"type":null,"type":"kill"}`,
	`{"type":"kill","task_id":"\"type\":\"accept\""}`,
	`{"type":"accept","tasks":[{"type":"kill","a":["]","}",{}]}],"offer_ids":["x"]}`,
	`{"type":"accept","tasks":[{"name":"\\"}],"request_id":"r"}`,
	`{"type":"kill"}{}`, `{"type":"kill"},`, `{"type":"kill",}`, `{"type":"kill"`, `{"type":"kill}`, `{,"type":"kill"}`,
	`{"type":"kill","a":}`, `{"type":"kill","a":]}`, `{"type":"kill","a":[}]}`, `{"a":"\`, `{}`, `[]`, ``, `{"type":""}`,
	"{\"type\":\"kill\",\"request_id\":\"a\tb\"}",
	`{"reque\u017ft_id":"x","reque` + "ſ" + `t_id":"y","type":"kill"}`,
	`{"type":"none"}`,
}

// TestPeekedIsRead: a frame whose envelope was only looked at is read as one
// whose envelope was read by encoding/json.
func TestPeekedIsRead(t *testing.T) {
	for _, frame := range strange {
		alike(t, []byte(frame))
	}
	if env, ok := peek([]byte(strange[0])); !ok || env.Type != "kill" || env.RequestID != "r" {
		t.Errorf("of the plainest frame %+v is seen (%v)", env, ok)
	}
}

func FuzzPeek(f *testing.F) {
	for _, frame := range strange {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, frame []byte) { alike(t, frame) })
}

func alike(t *testing.T, frame []byte) {
	t.Helper()
	if !utf8.Valid(frame) {
		return
	}
	for _, v := range []Vocabulary{FromFramework, ToFramework, FromAgent, ToAgent} {
		m, env, err := Decode(v, frame)
		want, wantEnv, wantErr := decodeTwice(v, frame)
		if !reflect.DeepEqual(m, want) || env != wantEnv || !reflect.DeepEqual(err, wantErr) {
			t.Fatalf("%s is read as %+v %+v %v; want %+v %+v %v", frame, m, env, err, want, wantEnv, wantErr)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	frame := []byte(`{"type":"update","status":{"task_id":"t123","agent_id":"3922-17","state":"running","update_id":"dg2k1x8v3q1p.1","address":"simulated","started":"2026-01-02T03:04:05.678901234Z","time":"2026-01-02T03:04:05.678901234Z"}}`)
	for name, decode := range map[string]func(Vocabulary, []byte) (Message, Envelope, error){"once": Decode, "twice": decodeTwice} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := decode(ToFramework, frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

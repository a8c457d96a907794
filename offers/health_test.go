package offers_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestHealth(t *testing.T) {
	for _, row := range []struct{ ports, health, names string }{
		{``, `{"command":{"shell":"true"}}`, ""},
		{``, `{"command":{"argv":["true"],"env":{"A":"b"}},"delay":"1s","interval":"100ms","timeout":1,"failures":1,"grace":"1m"}`, ""},
		{``, `{"http":{"port":80}}`, ""},
		{`31000`, `{"http":{"path":"/healthz?x=y","scheme":"https"}}`, ""},
		{`31000`, `{"tcp":{}}`, ""},
		{``, `null`, ""},
		{``, `{}`, "health: give exactly one"},
		{``, `{"tcp":{"port":1},"http":{"port":1}}`, "health: give exactly one"},
		{``, `{"tcp":{}}`, "health.tcp.port"},
		{``, `{"tcp":{"port":65536}}`, "health.tcp.port"},
		{``, `{"tcp":{"port":"80"}}`, "health.tcp.port"},
		{``, `{"http":{}}`, "health.http.port"},
		{``, `{"http":{"port":-1}}`, "health.http.port"},
		{``, `{"http":{"port":80,"path":"x"}}`, "health.http.path"},
		{``, `{"http":{"port":80,"path":"/a b"}}`, "health.http.path"},
		{``, `{"http":{"port":80,"scheme":"ftp"}}`, "health.http.scheme"},
		{``, `{"command":{}}`, "health.command.argv"},
		{``, `{"command":{"shell":"true","user":"root"}}`, "health.command"},
		{``, `{"command":{"shell":"true","dir":"x"}}`, "health.command"},
		{``, `{"command":{"shell":"true"},"interval":"99ms"}`, "health.interval"},
		{``, `{"command":{"shell":"true"},"interval":"soon"}`, "health"},
		{``, `{"command":{"shell":"true"},"delay":-1}`, "health"},
		{``, `{"command":{"shell":"true"},"failures":-1}`, "health.failures"},
		{``, `{"command":{"shell":"true"},"failures":1001}`, "health.failures"},
		{``, `{"command":"true"}`, "health.command"},
		{``, `[]`, "health"},
	} {
		var task offers.Task
		err := json.Unmarshal([]byte(`{"id":"t7","command":{"shell":"true"},"resources":{"ports":[`+row.ports+`]},"health":`+row.health+`}`), &task)
		if err == nil {
			err = task.Validate()
		}
		wantNamed(t, err, row.names, row.health)
		if row.names != "" {
			wantNamed(t, err, "t7", row.health)
		}
	}
	var zero offers.Health
	if zero.Every() != 10*time.Second || zero.Patience() != 5*time.Second || zero.Most() != 3 {
		t.Error("the defaults are others")
	}
}

package isolation_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/isolation"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]isolation.Parts{
		"none": isolation.None, "all": isolation.All, "namespaces": isolation.Mount | isolation.IPC | isolation.PID,
		"cgroups privileges mount": isolation.Default, "ipc": isolation.IPC, "pid mount": isolation.PID | isolation.Mount,
	} {
		got, err := isolation.Parse(strings.Fields(text))
		if err != nil || got != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
		if again, err := isolation.Parse(strings.Split(got.String(), ",")); err != nil || again != got {
			t.Errorf("%s comes back as %s, %v", got, again, err)
		}
	}
	for text, want := range map[string]string{
		"": "it is empty", "docker": "\"docker\" is not", "none pid": "none stands alone", "pid": "pid needs mount",
	} {
		if _, err := isolation.Parse(strings.Fields(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestParseCapabilities(t *testing.T) {
	keep, err := isolation.ParseCapabilities([]string{"chown", "CAP_NET_BIND_SERVICE", "checkpoint_restore"})
	if want := uint64(1<<unix.CAP_CHOWN | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_CHECKPOINT_RESTORE); err != nil || keep != want {
		t.Errorf("%#x, want %#x, %v", keep, want, err)
	}
	if _, err := isolation.ParseCapabilities([]string{"root"}); err == nil || !strings.Contains(err.Error(), "\"root\" is no capability") {
		t.Error(err)
	}
}

func TestParseRlimits(t *testing.T) {
	got, err := isolation.ParseRlimits(map[string]string{"nofile": "10:20", "memlock": "unlimited", "core": "0:unlimited"})
	want := []record.Rlimit{{Resource: unix.RLIMIT_CORE, Hard: math.MaxUint64}, {Resource: unix.RLIMIT_MEMLOCK, Soft: math.MaxUint64, Hard: math.MaxUint64}, {Resource: unix.RLIMIT_NOFILE, Soft: 10, Hard: 20}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if all := isolation.WithDefaults(got); !slices.Equal(all, want) {
		t.Errorf("with defaults %+v", all)
	}
	if all := isolation.WithDefaults(want[1:2]); len(all) != 3 {
		t.Errorf("with defaults %+v", all)
	}
	for name, value := range map[string]string{"nofile": "20:10", "core": "-1", "stack": "", "as": "1", "nice": "x"} {
		if _, err := isolation.ParseRlimits(map[string]string{name: value}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
	if err := isolation.CheckRlimits(want[2:]); err != nil {
		t.Error(err)
	}
}

package spec_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
)

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec.SchemaText()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("job.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("job.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asEditor reads YAML as an editor does that knows the schema.
func asEditor(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestSchemaAgreesWithParse holds that the schema takes what Parse takes, and
// refuses the mistakes of form that Parse refuses.
func TestSchemaAgreesWithParse(t *testing.T) {
	s := compile(t)
	good := []string{
		whole, contained, "name: a\ncommand: x\n", "name: a\ncommand: [sleep, 10]\nresources: {gpu: 2, devices: {npu: {share: 0.5}}}\n",
		"name: a\ncommand: x\nresources: {ports: 2}\n", "name: a\ncommand: x\nresources: {ports: [http, admin]}\n",
		"name: a\ntype: service\ncommand: x\nrestart: never\nupdate: {max_unavailable: 2, deadline: 90}\n",
		"name: a\ntype: cron\ncron: {schedule: '@daily', missed: one}\nsteps:\n- {name: a, command: x}\n- {name: b, after: [a], command: y}\n",
	}
	files, err := filepath.Glob("../../../cli/testdata/jobs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no job files: %v", err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, string(text))
	}
	for _, text := range good {
		if _, err := spec.Parse([]byte(text), t.TempDir()); err != nil {
			t.Errorf("%q is refused: %v", text, err)
		}
		if err := s.Validate(asEditor(t, text)); err != nil {
			t.Errorf("the schema refuses %q: %v", text, err)
		}
	}
	const ok = "name: a\ncommand: x\n"
	for _, text := range []string{
		"command: x\n", "name: a\ncommnd: x\n", "name: a\ncommand: {argv: [x]}\n",
		ok + "type: bach\n", ok + "count: many\n", ok + "count: 1.5\n", ok + "each: {line: x}\n", ok + "each: 5\n", ok + "backoff: {frist: 1m}\n",
		ok + "backoff: 5s\n", ok + "resources: {cpu: 1}\n", ok + "resources: {gpu: {mem: 1GiB}}\n", ok + "env: [A]\n", ok + "constraints: rack==r1\n",
		ok + "health: {http: {prot: 80}}\n", ok + "artifacts: [{url: x}]\n", ok + "steps: [{command: x}]\n", ok + "update: {on_failure: roll}\n",
		ok + "cron: {schedul: x}\n", ok + "gang: [1s]\n", ok + "deadline: {a: 1}\n", ok + "price: much\n", ok + "resources: {ports: http}\n", ok + "container: {}\n", ok + "container: {image: x, pull: often}\n", ok + "container: {image: x, ports: [{}]}\n", ok + "env: {A: [1]}\n",
	} {
		if _, err := spec.Parse([]byte(text), t.TempDir()); err == nil {
			t.Errorf("%q is taken", text)
		}
		if err := s.Validate(asEditor(t, text)); err == nil {
			t.Errorf("the schema takes %q", text)
		}
	}
}

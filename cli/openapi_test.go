package cli_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/ringmaster-project/ringmaster/framework/jobs"
	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/master"
	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestOpenAPI holds the description that masters serve to the routes and types
// of package api; `make reference` writes it anew.
func TestOpenAPI(t *testing.T) {
	text, err := json.MarshalIndent(describe(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile("master/openapi.json", text, 0o644); err != nil { //nolint:gosec // it is source
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, master.OpenAPI()) {
		t.Error("master/openapi.json is not what package api says: run make reference")
	}
}

// elsewhere is what others than masters answer, through them.
var elsewhere = map[string]any{
	"GET /v1/jobs": struct {
		Jobs []scheduler.View `json:"jobs"`
	}{},
	"GET /v1/jobs/{name}": jobs.Detail{},
	"PUT /v1/jobs/{name}": scheduler.View{},
	"GET /v1/tasks/{id}/files": struct {
		Files []shownFile `json:"files"`
	}{},
}

// shownFile is one of a task's sandbox, as its agent tells of it.
type shownFile struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"` // bytes
	Mode     string    `json:"mode"`
	Modified time.Time `json:"modified"`
	Dir      bool      `json:"dir,omitempty"`
}

type object = map[string]any

// describer makes the description out of the routes.
type describer struct {
	*jsonschema.Reflector
	t       *testing.T
	schemas object
	seen    map[reflect.Type]bool // by nullable
}

func describe(t *testing.T) object {
	d := &describer{t: t, schemas: object{}, seen: map[reflect.Type]bool{}}
	d.Reflector = &jsonschema.Reflector{Anonymous: true, Namer: named, Mapper: d.mapped}
	t.Chdir("..") // comments are looked up by the package's path
	for _, dir := range []string{"master/api", "master/events", "framework/jobs", "offers"} {
		if err := d.AddGoComments(module, "./"+dir); err != nil {
			t.Fatal(err)
		}
	}
	for key, text := range d.CommentMap {
		d.CommentMap[key] = strings.Join(strings.Fields(text), " ")
	}
	paths := object{}
	for i := range api.Routes {
		r := &api.Routes[i]
		path := strings.NewReplacer("...}", "}", "{$}", "").Replace(r.Path)
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path].(object)[strings.ToLower(r.Method)] = d.operation(r)
	}
	d.schema(api.Problem{})
	d.schema(wire.OfferedDevices{}) // of offers, which say themselves how they are written
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Ringmaster", "version": "1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "The HTTP interface of a Ringmaster master. Reads are consistent unless stale=true; a master that does not lead answers 307 with the leader's address, and 503 when there is no leader or no majority. Sizes are bytes, cpus cores with at most three decimals, times RFC 3339 in UTC. With Prefer: pass-on a master that does not lead has the leader answer instead. A value of a query that an endpoint does not know is refused.",
		},
		"security": []any{object{}, object{"bearer": []any{}}},
		"paths":    paths,
		"components": object{
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer", "description": "the cluster's token, where one is required"}},
			"responses":       object{"Error": object{"description": "An error: the code is stable, the message one sentence for people", "content": jsonOf(ref("Problem"))}},
			"schemas":         d.schemas,
		},
	}
}

func ref(name string) object      { return object{"$ref": "#/components/schemas/" + name} }
func jsonOf(schema object) object { return object{"application/json": object{"schema": schema}} }

func (d *describer) operation(r *api.Route) object {
	out := object{"summary": r.Does}
	if params := d.params(r); len(params) > 0 {
		out["parameters"] = params
	}
	if r.Takes != nil {
		body := object{"required": r.Requires, "content": jsonOf(d.schema(r.Takes))}
		if r.Takes == (api.Bytes{}) {
			body["content"] = object{"application/octet-stream": object{"schema": d.schema(r.Takes)}}
		}
		out["requestBody"] = body
	}
	answers := object{"default": object{"$ref": "#/components/responses/Error"}}
	gives := r.Gives
	if other, known := elsewhere[r.Pattern()]; known {
		gives = other
	}
	switch {
	case r.Upgrades != "":
		answers["101"] = object{"description": "Switching protocols, to " + r.Upgrades}
		answers["307"] = object{"description": "Another master leads; see Location"}
		answers["503"] = object{"description": "No master leads; see Retry-After"}
	case r.Media != "":
		answers["200"] = object{"description": "OK", "content": object{r.Media: object{"schema": d.schema(gives)}}}
	default:
		answers["200"] = object{"description": "OK", "content": jsonOf(d.schema(gives))}
	}
	for status, why := range r.Refuses {
		answers[fmt.Sprint(status)] = object{"description": why}
	}
	out["responses"] = answers
	return out
}

var inPath = regexp.MustCompile(`\{(\w+)(\.\.\.)?\}`)

func (d *describer) params(r *api.Route) []object {
	var out []object
	for _, m := range inPath.FindAllStringSubmatch(r.Path, -1) {
		p := api.Param{Name: m[1], In: "path"}
		for _, told := range r.In {
			if told.Name == m[1] {
				p = told
			}
		}
		out = append(out, param(p))
	}
	for _, p := range r.In {
		if p.In == "header" {
			out = append(out, param(p))
		}
	}
	for _, p := range r.Query {
		p.In = "query"
		out = append(out, param(p))
	}
	return out
}

func param(p api.Param) object {
	schema := object{"type": "string"}
	set := func(name string, v any, given bool) {
		if given {
			schema[name] = v
		}
	}
	set("type", p.Kind, p.Kind != "")
	set("enum", p.One, p.One != nil)
	set("minimum", p.Least, p.Least != nil)
	set("maximum", p.Most, p.Most != nil)
	set("default", p.Default, p.Default != nil)
	out := object{"name": p.Name, "in": p.In, "schema": schema}
	if p.In == "path" {
		out["required"] = true
	}
	if p.About != "" {
		out["description"] = p.About
	}
	return out
}

// schema returns the schema of a value's type; those with a name are told of
// once and referred to.
func (d *describer) schema(v any) object {
	switch v := v.(type) {
	case api.Bytes:
		return object{"type": "string", "format": "binary"}
	case api.Object:
		return object{"type": "object"}
	case api.Either:
		var one []any
		for _, v := range v {
			one = append(one, d.schema(v))
		}
		return object{"oneOf": one}
	}
	text, err := json.Marshal(d.Reflect(v))
	if err != nil {
		d.t.Fatal(err)
	}
	var out object
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("#/$defs/"), []byte("#/components/schemas/")), &out); err != nil {
		d.t.Fatal(err)
	}
	defs, _ := out["$defs"].(object)
	for name, schema := range defs {
		if _, told := d.schemas[name]; !told {
			d.schemas[name] = schema
		}
	}
	delete(out, "$defs")
	delete(out, "$schema")
	d.nullable(reflect.TypeOf(v), out)
	return out
}

// nullable says of pointers that are written also when they are nil that they
// can be null, in every struct of t.
func (d *describer) nullable(t reflect.Type, schema object) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		d.nullable(t.Elem(), schema)
		return
	case reflect.Struct:
	default:
		return
	}
	if described, own := d.schemas[named(t)].(object); own {
		schema = described
	}
	properties, _ := schema["properties"].(object)
	if properties == nil || d.seen[t] {
		return
	}
	d.seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		d.nullable(f.Type, object{})
		if was, ok := properties[name].(object); ok && f.Type.Kind() == reflect.Pointer && options == "" {
			about := was["description"]
			delete(was, "description")
			one := object{"oneOf": []any{was, object{"type": "null"}}}
			if about != nil {
				one["description"] = about
			}
			properties[name] = one
		}
	}
}

// named keeps types of one name in several packages apart.
func named(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[events.Type](), reflect.TypeFor[events.ID]():
		return "Event" + t.Name()
	case reflect.TypeFor[offers.State]():
		return "TaskState"
	case reflect.TypeFor[offers.Role]():
		return "RoleName"
	case reflect.TypeFor[shownFile]():
		return "File"
	}
	if strings.HasPrefix(t.PkgPath(), module+"/framework/jobs") && t != reflect.TypeFor[spec.Job]() {
		return "Job" + t.Name()
	}
	return t.Name()
}

// written describes the types that write themselves as JSON.
var written = map[reflect.Type]string{
	reflect.TypeFor[json.Number]():       `{"type": "number"}`,
	reflect.TypeFor[json.RawMessage]():   `true`,
	reflect.TypeFor[events.ID]():         `{"type": "string"}`,
	reflect.TypeFor[offers.Duration]():   `{"type": ["string", "number"], "description": "\"5s\", \"1h30m\"; a number means seconds"}`,
	reflect.TypeFor[offers.Placement]():  `{"type": "string", "description": "the strategy that chooses agents", "enum": ["", "rings", "waste", "least-requested", "most-balanced", "balance", "match"]}`,
	reflect.TypeFor[offers.Constraint](): `{"type": "string", "description": "such as \"rack==r1\""}`,
	reflect.TypeFor[offers.Ports]():      `{"type": "array", "description": "ports and ranges of them", "items": {"type": ["integer", "string"]}}`,
	reflect.TypeFor[spec.Job]():          `{"type": "object", "description": "the job's file; ringmaster job schema describes it"}`,
	reflect.TypeFor[offers.DeviceAsk](): `{"type": "object", "additionalProperties": false, "properties": {
		"count": {"type": "integer", "description": "devices"},
		"memory": {"type": "integer", "description": "bytes on each"},
		"share": {"type": "number", "description": "of the compute of each"}}}`,
	reflect.TypeFor[offers.Grant](): `{"type": "object", "additionalProperties": false, "required": ["id", "index"], "properties": {
		"id": {"type": "string"},
		"index": {"type": "integer", "description": "of the device on its agent"},
		"memory": {"type": "integer", "description": "bytes of it"},
		"share": {"type": "number", "description": "of its compute"}}}`,
	reflect.TypeFor[events.Room](): `{"type": "object", "additionalProperties": false, "required": ["cpus", "mem", "disk", "bandwidth"], "properties": {` + scalars + `}}`,
	reflect.TypeFor[wire.Offered](): `{"type": "object", "additionalProperties": false, "description": "of a counted offer the units added up, of a whole-agent offer all that is free", "properties": {` + scalars + `,
		"ports": {"$ref": "#/components/schemas/Ports"},
		"devices": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/OfferedDevices"}}}}`,
	reflect.TypeFor[offers.Resources](): `{"type": "object", "additionalProperties": false, "properties": {` + scalars + `,
		"ports": {"type": ["array", "integer"], "description": "ports and ranges of them; of a demand that leaves them to the master, how many", "items": {"type": ["integer", "string"]}},
		"devices": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/DeviceAsk"}}}}`,
	reflect.TypeFor[offers.State]():      `{"type": "string", "enum": ["staging", "starting", "running", "killing", "unreachable", "finished", "failed", "killed", "rejected", "dropped", "gone"]}`,
	reflect.TypeFor[offers.AgentState](): `{"type": "string", "enum": ["active", "draining", "drained", "unreachable", "gone"]}`,
}

const scalars = `"cpus": {"type": "number", "description": "cores"}, "mem": {"type": "integer", "description": "bytes"},
	"disk": {"type": "integer", "description": "bytes"}, "bandwidth": {"type": "integer", "description": "bits per second"}`

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// mapped describes the types that write themselves, once.
func (d *describer) mapped(t reflect.Type) *jsonschema.Schema {
	text, known := written[t]
	switch {
	case t == reflect.TypeFor[events.Type]():
		return d.component(t, fmt.Sprintf(`{"type": "string", "enum": %s}`, must(json.Marshal(every()))))
	case known:
		return d.component(t, text)
	case t != reflect.TypeFor[time.Time]() && t.Kind() != reflect.Pointer && (t.Implements(marshaler) || t.Implements(textMarshaler)):
		d.t.Errorf("%s writes itself as JSON: say in written how", t)
	}
	return nil
}

// every returns all types of events.
func every() (out []events.Type) {
	for _, d := range events.Described {
		out = append(out, d.Type)
	}
	return out
}

func (d *describer) component(t reflect.Type, text string) *jsonschema.Schema {
	if !strings.HasPrefix(t.PkgPath(), module) {
		return must(text2schema(text))
	}
	var schema any
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		d.t.Fatalf("%s: %v", t, err)
	}
	d.schemas[named(t)] = schema
	return &jsonschema.Schema{Ref: "#/components/schemas/" + named(t)}
}

func text2schema(text string) (*jsonschema.Schema, error) {
	s := new(jsonschema.Schema)
	return s, json.Unmarshal([]byte(text), s)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

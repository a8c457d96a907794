package master

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	shown "github.com/ringmaster-project/ringmaster/master/api"
)

// description is what masters say of their answers, as schemas by route.
var description = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(OpenAPI()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	return c, c.AddResource("openapi.json", doc)
})

// described holds an answer to the description of its route, and to the type
// that a client reads it into: nothing of it may be lost there.
func (s *scene) described(req *http.Request, resp *http.Response, text []byte) {
	s.Helper()
	_, pattern := s.mux.Handler(req)
	route := shown.RouteOf(pattern)
	if route == nil || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Content-Encoding") != "" || route.Media != "" {
		return
	}
	of, into := fmt.Sprintf("%s responses 200", strings.ToLower(route.Method)), route.Gives
	if resp.StatusCode != http.StatusOK {
		into = shown.Problem{}
	}
	schemas, err := description()
	if err != nil {
		s.Fatal(err)
	}
	at := "#/paths/" + pointer(strings.NewReplacer("...}", "}", "{$}", "").Replace(route.Path)) + "/" + strings.ReplaceAll(of, " ", "/") + "/content/application~1json/schema"
	if resp.StatusCode != http.StatusOK {
		at = "#/components/schemas/Problem"
	}
	schema, err := schemas.Compile("openapi.json" + at)
	if err != nil {
		s.Fatal(err)
	}
	answer, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		s.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	if err := schema.Validate(answer); err != nil {
		s.Errorf("%s %s is not as described: %v\n%s", req.Method, req.URL, err, text)
	}
	if into == (shown.Object{}) || reflect.TypeOf(into) == reflect.TypeFor[shown.Either]() {
		return
	}
	v := reflect.New(reflect.TypeOf(into))
	if err := json.Unmarshal(text, v.Interface()); err != nil {
		s.Errorf("%s %s can't be read into %T: %v\n%s", req.Method, req.URL, into, err, text)
		return
	}
	again, err := json.Marshal(v.Interface())
	if err != nil {
		s.Fatal(err)
	}
	back, err := jsonschema.UnmarshalJSON(bytes.NewReader(again))
	if err != nil || !reflect.DeepEqual(back, answer) {
		s.Errorf("%s %s was\n%s, and after it was read into %T it is\n%s", req.Method, req.URL, text, into, again)
	}
}

// pointer escapes a part of a JSON pointer in a URL's fragment.
func pointer(part string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(part)
}

package master

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.json
var openapiText []byte

// OpenAPI returns the description of a master's HTTP interface, as JSON.
func OpenAPI() []byte { return openapiText }

// openapi serves the description of this interface. A test holds it to the
// routes there are.
func openapi(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openapiText) // the client has left if this fails
	return nil
}

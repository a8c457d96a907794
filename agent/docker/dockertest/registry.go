package dockertest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
)

// Registry serves one image of the program, as registries do.
type Registry struct {
	Image string
	Asked atomic.Int32 // times that its manifest was asked for
}

type descriptor struct {
	MediaType string `json:"mediaType"`
	Size      int    `json:"size"`
	Digest    string `json:"digest"`
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Registry starts a registry on the host's loopback, which engines trust
// without TLS. What was fetched of it goes with the test.
func (r *Real) Registry() *Registry {
	r.t.Helper()
	must := func(data []byte, err error) []byte {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
		return data
	}
	files := r.archive()
	var layer bytes.Buffer
	w := gzip.NewWriter(&layer)
	_, err := w.Write(files)
	must(nil, err)
	must(nil, w.Close())
	config := must(json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{"Entrypoint": []string{"/busy"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(files)}},
	}))
	const kind = "application/vnd.docker.distribution.manifest.v2+json"
	manifest := must(json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": kind,
		"config": descriptor{"application/vnd.docker.container.image.v1+json", len(config), digest(config)},
		"layers": []descriptor{{"application/vnd.docker.image.rootfs.diff.tar.gzip", layer.Len(), digest(layer.Bytes())}},
	}))
	blobs := map[string][]byte{digest(config): config, digest(layer.Bytes()): layer.Bytes()}
	registry := &Registry{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		last := request.URL.Path[strings.LastIndexByte(request.URL.Path, '/')+1:]
		switch data, ok := blobs[last]; {
		case request.URL.Path == "/v2/":
		case ok:
			_, _ = w.Write(data) // an engine that leaves fails its test
		case last == "1" || last == digest(manifest):
			registry.Asked.Add(1)
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Docker-Content-Digest", digest(manifest))
			_, _ = w.Write(manifest) // as above
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	r.t.Cleanup(server.Close)
	registry.Image = strings.TrimPrefix(server.URL, "http://") + "/ringmaster/busy:1"
	r.t.Cleanup(func() {
		r.Do(http.MethodDelete, "/images/"+registry.Image, url.Values{"force": {"true"}}, nil, nil)
	})
	return registry
}

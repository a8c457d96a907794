package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed page
var folder embed.FS

// policy lets in our own files and requests alone. Trusted types make the
// browser refuse every way in which text becomes markup or code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is one of the page, ready to be sent.
type file struct {
	kind          string
	plain, packed []byte
	tag           string
}

// files packs every file once, when the first is asked for, with the modules
// as the one that starts the page.
var files = sync.OnceValue(func() map[string]file {
	list, err := folder.ReadDir("page")
	if err != nil {
		panic(err) // it is built in
	}
	out := map[string]file{}
	for _, entry := range list {
		if path.Ext(entry.Name()) != ".js" {
			out[entry.Name()] = newFile(entry.Name(), text(entry.Name()))
		}
	}
	script, err := bundle("app", func(module string) string { return text(module + ".js") })
	if err != nil {
		panic(fmt.Sprintf("ui: bundle: %v", err)) // the tests have bundled it
	}
	out["app.js"] = newFile("app.js", script)
	return out
})

func text(name string) string {
	b, err := folder.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is built in
	}
	return string(b)
}

func newFile(name, text string) file {
	sum := sha256.Sum256([]byte(text))
	return file{types[path.Ext(name)], []byte(text), pack([]byte(text)), `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func pack(text []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		if _, err = w.Write(text); err == nil {
			err = w.Close()
		}
	}
	if err != nil {
		panic(fmt.Sprintf("ui: pack: %v", err)) // a buffer takes everything
	}
	return out.Bytes()
}

// Serve answers with the file that a path names, or reports that there is none.
func Serve(w http.ResponseWriter, r *http.Request) bool {
	name := strings.TrimPrefix(r.URL.Path, "/ui/")
	if r.URL.Path == "/" {
		name = "index.html"
	}
	f, ok := files()[name]
	if !ok {
		return false
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache") // another version of the master has another page
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", f.tag)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	h.Set("Content-Type", f.kind)
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	_, _ = w.Write(body) // the client has left if this fails
	return true
}

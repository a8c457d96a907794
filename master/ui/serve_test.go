package ui_test

import (
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/ui"
)

func ask(path string, header ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if !ui.Serve(w, r) {
		w.Code = 404
	}
	return w
}

func TestPageIsServed(t *testing.T) {
	for path, kind := range map[string]string{"/": "text/html; charset=utf-8", "/ui/app.js": "text/javascript; charset=utf-8", "/ui/style.css": "text/css; charset=utf-8", "/ui/icon.svg": "image/svg+xml"} {
		w := ask(path)
		if w.Code != 200 || w.Header().Get("Content-Type") != kind || w.Body.Len() == 0 {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		packed := ask(path, "Accept-Encoding", "gzip, br")
		if packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("ETag") == "" {
			t.Errorf("%s: packed %v", path, packed.Header())
		}
		again := ask(path, "If-None-Match", w.Header().Get("ETag"))
		if again.Code != 304 || again.Body.Len() != 0 {
			t.Errorf("%s: had already: %d", path, again.Code)
		}
	}
	for _, path := range []string{"/ui/", "/ui/nothing.js", "/ui/../serve.go", "/ui/page/app.js"} {
		if w := ask(path); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// sources are the page's files by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	list, err := os.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, entry := range list {
		text, err := os.ReadFile("page/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		out[entry.Name()] = string(text)
	}
	return out
}

// Everything that a file names is there, and everything that is there is named.
func TestPageIsWhole(t *testing.T) {
	files := sources(t)
	named := map[string]bool{"index.html": true}
	reference := regexp.MustCompile(`(?:"/ui/|from "\./)([^"]+)"`)
	for name, text := range files {
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			named[found[1]] = true
			if _, is := files[found[1]]; !is {
				t.Errorf("%s names %s, which is not there", name, found[1])
			}
		}
	}
	for name := range files {
		if !named[name] {
			t.Errorf("nothing names %s", name)
		}
	}
}

// Text becomes markup, code or a request to elsewhere in none of these ways;
// the policy would refuse them in a browser.
func TestPageKeepsItsPolicy(t *testing.T) {
	policy := ask("/").Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "require-trusted-types-for 'script'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q has no %s", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("the policy %q lets in too much", policy)
	}
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function|localStorage|document\.cookie|https?://[^w]|<style|style="`)
	for name, text := range sources(t) {
		for _, found := range banned.FindAllString(text, -1) {
			t.Errorf("%s has %s", name, found)
		}
	}
}

// The whole page fits into what a first view may take, packed.
func TestPageIsSmall(t *testing.T) {
	sum := 0
	for name := range sources(t) {
		sum += ask("/ui/"+name, "Accept-Encoding", "gzip").Body.Len()
	}
	if sum > 100<<10 {
		t.Errorf("the page takes %d bytes", sum)
	}
}

// A first view takes one request for all modules, each of which is there once.
func TestModulesAreServedAsOne(t *testing.T) {
	script := ask("/ui/app.js").Body.String()
	if found := regexp.MustCompile(`(?m)^(?:import|export)\b.*`).FindString(script); found != "" {
		t.Errorf("what is served has %s", found)
	}
	for name := range sources(t) {
		module, is := strings.CutSuffix(name, ".js")
		if !is {
			continue
		}
		if n := strings.Count(script, "\nconst in_"+module+" = ") + strings.Count(script[:min(len(script), 30)], "const in_"+module+" = "); n != 1 {
			t.Errorf("what is served has %s %d times", name, n)
		}
		if w := ask("/ui/" + name); module != "app" && w.Code != 404 {
			t.Errorf("%s is served by itself: %d", name, w.Code)
		}
	}
}

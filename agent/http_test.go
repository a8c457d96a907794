package agent_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers/door"
)

func get(t testing.TB, h *host, path, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequest("GET", "http://"+h.Address()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestSandboxOverHTTP(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.launch(1, shell("files", "echo out; echo err >&2; mkdir d; printf data > d/f; ln -s "+secret+" link; ln -s ../.. up; mkfifo pipe; rm stderr; ln -s "+secret+" stderr"))
	l.end("files")
	const base = "/v1/sandbox/f1/files"
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/healthz":                             {200, "ok\n"},
		base + "/logs":                         {200, "out\n"},
		base + "/logs?stream=stdout&offset=2":  {200, "t\n"},
		base + "/logs?stream=stdout&offset=99": {200, ""},
		base + "/logs?follow=true":             {200, "out\n"},
		base + "/logs?stream=stderr":           {403, `"forbidden"`},
		base + "/logs?stream=etc":              {400, `"bad_message"`},
		base + "/logs?offset=-1":               {400, "offset"},
		base + "/logs?follow=maybe":            {400, "follow"},
		base + "/files/d/f":                    {200, "data"},
		base + "/files/link":                   {403, "sandbox"},
		base + "/files/up/files/stdout":        {403, "sandbox"},
		base + "/files/%2e%2e/files/stdout":    {403, "sandbox"},
		base + "/files/pipe":                   {403, "plain file"},
		base + "/files/none":                   {404, "no file"},
		"/v1/sandbox/f1/nothing/logs":          {404, "no sandbox"},
		"/v1/sandbox/f1/%2e%2e/logs":           {400, "names no task"},
		"/v1/sandbox/%2e%2e/files/logs":        {400, "names no task"},
		"/v1/other":                            {404, "serves no"},
	} {
		if status, body := get(t, h, path, ""); status != want.status || !strings.Contains(body, want.body) || want.body == "" && body != "" {
			t.Errorf("%s: %d %q, want %d %q", path, status, body, want.status, want.body)
		}
	}
	for span, want := range map[string]struct {
		status int
		body   string
	}{
		"bytes=1-2":  {206, "at"},
		"bytes=9-":   {416, `{"error":{"code":"bad_message","message":"range is \"bytes=9-\"; it is bytes=FIRST-LAST, and begins within the file"}}` + "\n"},
		"bytes=x-2":  {416, `"bad_message"`},
		"lines=1-2":  {416, `"bad_message"`},
		"bytes=-100": {206, "data"},
	} {
		request, err := http.NewRequest("GET", "http://"+h.Address()+base+"/files/d/f", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Range", span)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		refused := response.Header.Get("Content-Type") == "application/json"
		if err != nil || response.StatusCode != want.status || !strings.Contains(string(body), want.body) || refused != (want.status == 416) || refused && !json.Valid(body) {
			t.Errorf("%s: %d %s %s, %v", span, response.StatusCode, response.Header, body, err)
		}
	}
	_, body := get(t, h, base+"/files/", "")
	var list struct {
		Files []struct {
			Name string
			Size int64
			Mode string
			Dir  bool
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range list.Files {
		names = append(names, f.Name+" "+f.Mode)
	}
	if got := strings.Join(names, ","); got != "d drwxr-xr-x,link Lrwxrwxrwx,pipe prw-r--r--,stderr Lrwxrwxrwx,stdout -rw-------,up Lrwxrwxrwx" || !list.Files[0].Dir || list.Files[4].Size != 4 {
		t.Errorf("the folder holds %s", body)
	}
}

func TestFollowEndsWithTheTask(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("talk", "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two"))
	l.status("talk")
	response, err := http.Get("http://" + h.Address() + "/v1/sandbox/f1/talk/logs?follow=true")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, 4)
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "one\n" {
		t.Fatalf("%q %v", first, err)
	}
	touch(t, filepath.Join(sandboxOf(dir, "talk"), "go"))
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != "two\n" {
		t.Errorf("%q %v", rest, err)
	}
}

func TestSandboxNeedsTheToken(t *testing.T) {
	m := newMaster(t)
	c := config(t, t.TempDir(), m)
	d, err := door.Open(door.Config{Token: "open sesame"})
	if err != nil {
		t.Fatal(err)
	}
	c.Door = d
	h := run(t, c)
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("t", "echo out"))
	l.end("t")
	if status, body := get(t, h, "/v1/sandbox/f1/t/logs", ""); status != 401 || !strings.Contains(body, "token") {
		t.Errorf("without token: %d %s", status, body)
	}
	if status, body := get(t, h, "/v1/sandbox/f1/t/logs", "open sesame"); status != 200 || body != "out\n" {
		t.Errorf("with the token: %d %s", status, body)
	}
	if status, _ := get(t, h, "/healthz", ""); status != 200 {
		t.Errorf("healthz: %d", status)
	}
}

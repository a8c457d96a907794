package cli_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browser is a Chromium with one page open, and all that went wrong in it.
type browser struct {
	testing.TB
	ctx       context.Context
	artifacts string
	*complaints
}

// complaints are what scripts threw and the content security policy refused.
type complaints struct {
	mu    sync.Mutex
	wrong []string
}

// within is the same browser for a part of its test.
func (b *browser) within(t *testing.T) *browser {
	t.Helper()
	return &browser{t, b.ctx, b.artifacts, b.complaints}
}

// newBrowser starts one, and skips where there is none.
func newBrowser(t testing.TB) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		path, err := exec.LookPath(name)
		if err == nil {
			program = cmp.Or(program, path)
		}
	}
	if program == "" {
		t.Skip("there is no Chromium: install Debian's package chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WindowSize(1280, 900))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, end := chromedp.NewContext(allocated)
	t.Cleanup(end)
	b := &browser{TB: t, ctx: ctx, artifacts: t.ArtifactDir(), complaints: &complaints{}}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // the browser ends with the context of the first step
		t.Fatal(err)
	}
	go b.listen() // ends with the browser
	return b
}

// listen notes what goes wrong. A request that was answered with an error is
// for the page to show.
func (b *browser) listen() {
	for m, err := range chromedp.Console(b.ctx) {
		if err == nil && (m.IsException() || m.Type == "error" && m.Source != "network") {
			b.mu.Lock()
			b.wrong = append(b.wrong, m.String())
			b.mu.Unlock()
		}
	}
}

// healthy fails where something went wrong.
func (b *browser) healthy() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		b.Errorf("the browser says: %s", w)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, end := context.WithTimeout(b.ctx, patience)
	defer end()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.picture("failed")
		b.Fatal(err)
	}
}

// value returns what an expression comes to.
func value[T any](b *browser, expression string) T {
	b.Helper()
	ctx, end := context.WithTimeout(b.ctx, patience)
	defer end()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true, and says what the page shows where
// it never is.
func (b *browser) await(expression string) {
	b.Helper()
	held := value[bool](b, fmt.Sprintf(`new Promise((done) => {
		const until = performance.now() + %d;
		const holds = () => { try { return %s; } catch { return false; } }; // what it looks at is not there yet
		const look = () => {
			if (holds()) done(true);
			else if (performance.now() > until) done(false);
			else setTimeout(look, 10);
		};
		look();
	})`, (20*time.Second).Milliseconds(), expression))
	if !held {
		b.picture("failed")
		b.healthy()
		b.Fatalf("%s never comes true; the page shows:\n%s", expression, value[string](b, `document.body.innerText`))
	}
}

// shows waits until the page holds a text that is seen.
func (b *browser) shows(text string) {
	b.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		b.Fatal(err)
	}
	b.await(fmt.Sprintf(`document.body.innerText.includes(%s)`, quoted))
}

// click clicks the first element of a selector that is seen and holds a text.
func (b *browser) click(selector, text string) {
	b.Helper()
	one := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.textContent.includes(%q) && e.checkVisibility())`, selector, text)
	b.await(one)
	value[chromedp.Void](b, one+`.click()`)
}

// fill gives a field a value.
func (b *browser) fill(selector, text string) {
	b.Helper()
	value[chromedp.Void](b, fmt.Sprintf(`document.querySelector(%q).value = %q`, selector, text))
}

// picture keeps what the page looks like.
func (b *browser) picture(name string) {
	b.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(b.artifacts, name+".png"), png, 0o644)
	}
	if err != nil {
		b.Errorf("picture %s: %v", name, err)
	}
}

// window gives the page a size and a colour scheme, and the time to draw.
func (b *browser) window(width, height int64, scheme string) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, height))
	value[bool](b, `new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true), 150)))`)
}

// pictures keeps it in light and dark, wide and narrow, where go test is told
// to keep -artifacts. A page that is wider than its window is a fault, and so is
// what keeps somebody from using it.
func (b *browser) pictures(name string) {
	b.Helper()
	type form struct {
		name, scheme string
		width        int64
	}
	forms := []form{{"narrow", "light", 390}, {"wide", "dark", 1280}}
	if kept := flag.Lookup("test.artifacts"); kept != nil && kept.Value.String() == "true" {
		forms = append(forms, form{"wide", "light", 1280}, form{"narrow", "dark", 390})
	}
	for _, form := range forms {
		b.window(form.width, 900, form.scheme)
		tall := value[int64](b, `document.documentElement.scrollHeight`)
		b.window(form.width, min(tall, 5000), form.scheme)
		b.accessible(name + " in " + form.scheme)
		b.picture(name + "-" + form.scheme + "-" + form.name)
		if wide := value[int64](b, `document.documentElement.scrollWidth`); wide > form.width {
			b.Errorf("%s is %d wide in a window of %d", name, wide, form.width)
		}
	}
	b.window(1280, 900, "light")
	b.tabs(name)
}

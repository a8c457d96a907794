package cli_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// tab opens another page of the same browser. What goes wrong in it is noted in
// one place with the others.
func (b *browser) tab() *browser {
	b.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	b.Cleanup(end)
	another := &browser{b.TB, ctx, b.artifacts, b.complaints}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // the tab ends with the context of the first step
		b.Fatal(err)
	}
	go another.listen() // ends with the tab
	return another
}

// streams is how many readers of events a master has.
func streams(t *testing.T, at string) string {
	t.Helper()
	for line := range strings.Lines(ask(t, at, "/metrics")) {
		if n, is := strings.CutPrefix(line, "ringmaster_event_readers "); is {
			return strings.TrimSpace(n)
		}
	}
	t.Fatal("the master does not say how many readers of events it has")
	return ""
}

// TestManyPagesOfOneBrowser: more pages than a browser has connections are all
// live at once, over one stream of events, and the others go on when the one
// that reads is closed, or the master was away.
func TestManyPagesOfOneBrowser(t *testing.T) {
	needShim(t)
	b := newBrowser(t)
	c := newCluster(t, 1, 0)
	at := c.http[0]
	fleet(t, at, "--count", "3", "--task-time", "10h")
	const many = 12
	pages := []*browser{b}
	for range many - 1 {
		pages = append(pages, b.tab())
	}
	for _, p := range pages {
		p.do(chromedp.Navigate("http://" + at + "/"))
		p.await(`document.querySelector("#connection").textContent === "live"`)
	}
	if got := streams(t, at); got != "1" {
		t.Errorf("%d pages take %s streams of events", many, got)
	}
	// all hear what happens: a launch is in the list and on the tile of each.
	heard := func(pages []*browser, name string, alive int) {
		t.Helper()
		ringmaster(t, at, "run", "--detach", "--cpus", "0.1", "--name", name, "--", "sleep", "600")
		for _, p := range pages {
			p.await(fmt.Sprintf(`[...document.querySelectorAll(".events li")].some((x) => x.textContent.includes(%q))`, name))
			p.await(fmt.Sprintf(`document.querySelector(".tile:nth-child(3) .value").textContent === "%d"`, alive))
		}
	}
	heard(pages, "first", 1)

	// The page that reads is closed.
	pages[0].do(chromedp.Navigate("about:blank"))
	pages = pages[1:]
	heard(pages, "second", 2)
	if got := streams(t, at); got != "1" {
		t.Errorf("once the page that read is closed there are %s streams of events", got)
	}
	// One that comes late knows what the others know.
	late := b.tab()
	late.do(chromedp.Navigate("http://" + at + "/#/rings/cpus"))
	late.await(`document.querySelector("#connection").textContent === "live"`)
	late.click("header nav a", "Overview")
	late.await(`document.querySelector(".tile:nth-child(3) .value").textContent === "2"`)
	pages = append(pages, late)
	heard(pages, "third", 3)

	// What is offered is not free, in the rings of all as in the master's.
	client, err := framework.Connect(t.Context(), framework.Config{Masters: c.http, Info: wire.FrameworkInfo{Name: "holds"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Demand(offers.Demand{ID: "all", Resources: offers.Resources{Amounts: offers.Amounts{offers.CPUs: 1000}}}); err != nil {
		t.Fatal(err)
	}
	rings := func(full string) {
		t.Helper()
		for _, p := range pages[len(pages)-2:] {
			p.click("header nav a", "Rings")
			p.await(fmt.Sprintf(`[...document.querySelectorAll("tbody tr")].some((r) => r.cells[0].textContent === "1" && r.cells[2].textContent === "3") === %s`, full))
		}
	}
	rings("true")
	if text := ringmaster(t, at, "rings", "--resource", "cpus"); !regexp.MustCompile(`(?m)^1 +0 to 4 +3 `).MatchString(text) {
		t.Errorf("the master's rings are others:\n%s", text)
	}
	client.Close()
	rings("false")
	for _, p := range pages {
		p.click("header nav a", "Overview")
	}

	// The master is gone for a while: all say so, and all come back.
	m := c.masters["m1"]
	m.kill(t)
	for _, p := range pages {
		p.await(`document.querySelector("#connection").textContent === "reconnecting"`)
	}
	m.start(t)
	m.await(t)
	for _, p := range pages {
		p.await(`document.querySelector("#connection").textContent === "live"`)
	}
	heard(pages, "fourth", 4)
	b.healthy()
}

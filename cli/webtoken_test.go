package cli_test

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp"
)

// A page whose cluster has a token asks for it, keeps it for its tab, and
// forgets it when told so. Every master serves it, whoever leads.
func TestWebPageSignsInAtAnyMaster(t *testing.T) {
	b := newBrowser(t)
	c := newCluster(t, 3, 0, "--token", "sesame")
	var status struct {
		Leader struct{ Name, Address string }
	}
	if err := json.Unmarshal([]byte(ringmaster(t, c.http[0], "status", "--token", "sesame", "-o", "json")), &status); err != nil {
		t.Fatal(err)
	}
	at := c.http[0]
	if at == status.Leader.Address {
		at = c.http[1]
	}
	b.do(chromedp.Navigate("http://" + at + "/"))
	b.shows("Sign in")
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), "open"))
	b.click("button", "Sign in")
	b.shows("That is not the cluster's token.")
	b.pictures("signin")
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), "sesame"))
	b.click("button", "Sign in")
	b.await(`document.querySelector("#connection").textContent === "live"`)
	b.await(`[...document.querySelectorAll("tbody .badge")].map((x) => x.textContent).sort().join() === "follower,follower,leader"`)
	b.do(chromedp.Reload())
	b.await(`document.querySelector("#connection").textContent === "live"`)
	c.masters[status.Leader.Name].kill(t)
	b.await(`[...document.querySelectorAll(".events li")].some((x) => x.textContent.includes("leads, term"))`)
	b.await(`document.querySelector("#connection").textContent === "live"`)
	b.click("#signout", "Sign out")
	b.shows("The cluster's token")
	b.do(chromedp.Reload())
	b.shows("The cluster's token")
	b.healthy()
}

package cli_test

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// operable are the roles of what somebody does something with; each needs a
// name that a screen reader says.
var operable = []string{"button", "link", "textbox", "combobox", "searchbox", "checkbox", "meter", "img", "image", "table", "region", "dialog", "navigation", "columnheader"}

// accessible fails for what a view lacks for who does not see it, or has no
// mouse: names, headings of columns, polite news, focus that is seen, contrast.
func (b *browser) accessible(view string) {
	b.Helper()
	b.named(view)
	for _, wrong := range value[[]string](b, unreadable) {
		b.Errorf("%s: %s", view, wrong)
	}
}

// named reads the tree that Chromium gives a screen reader.
func (b *browser) named(view string) {
	b.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		b.Fatal(err)
	}
	children := map[accessibility.NodeID][]*accessibility.Node{}
	roles := 0
	for _, n := range tree.Nodes {
		children[n.ParentID] = append(children[n.ParentID], n)
	}
	var headed func(n *accessibility.Node) bool
	headed = func(n *accessibility.Node) bool {
		return said(n.Role) == "columnheader" || slices.ContainsFunc(children[n.NodeID], headed)
	}
	for _, n := range tree.Nodes {
		role := said(n.Role)
		if n.Ignored || !slices.Contains(operable, role) {
			continue
		}
		roles++
		if strings.TrimSpace(said(n.Name)) == "" {
			b.Errorf("%s: a %s has no name", view, role)
		}
		if role == "table" && !headed(n) {
			b.Errorf("%s: the table %q has no headings of columns", view, said(n.Name))
		}
	}
	if roles < 3 { // a dialog has that many, the menu alone more
		b.Errorf("%s: a screen reader finds only %d things", view, roles)
	}
}

func said(v *accessibility.Value) (text string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &text) // what is no text says nothing
	}
	return text
}

// unreadable is what can't be read well, text of less than 4.5:1 to its ground
// (3:1 where it is large; WCAG 2.2, 1.4.3), and what interrupts a screen reader
// or leaves it without headings.
const unreadable = `(() => {
	const wrong = [];
	const parse = (text) => { const n = text.match(/[\d.]+/g).map(Number); return { r: n[0], g: n[1], b: n[2], a: n.length > 3 ? n[3] : 1 }; };
	const over = (c, under) => ({ r: c.r * c.a + under.r * (1 - c.a), g: c.g * c.a + under.g * (1 - c.a), b: c.b * c.a + under.b * (1 - c.a), a: 1 });
	const light = (c) => {
		const [r, g, b] = [c.r, c.g, c.b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const ground = (node) => {
		const colors = [];
		for (let e = node; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			colors.push(c);
			if (c.a === 1) break;
		}
		return colors.reverse().reduce((under, c) => over(c, under), { r: 255, g: 255, b: 255, a: 1 });
	};
	const seen = new Set();
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let text = walker.nextNode(); text; text = walker.nextNode()) {
		const e = text.parentElement;
		if (!text.textContent.trim() || !e.checkVisibility({ checkVisibilityCSS: true }) || e.closest("script, noscript, .unseen, caption, :disabled, svg")) continue;
		const style = getComputedStyle(e), under = ground(e), is = over(parse(style.color), under);
		const [a, b] = [light(is), light(under)].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05), size = parseFloat(style.fontSize);
		const enough = size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5;
		const key = e.className + e.tagName + style.color;
		if (ratio < enough && !seen.has(key)) wrong.push("<" + e.tagName.toLowerCase() + " class=" + e.className + "> " + text.textContent.slice(0, 30) + " has a contrast of " + ratio.toFixed(2));
		if (ratio < enough) seen.add(key);
	}
	for (const e of document.querySelectorAll("[aria-live], [role=status], [role=log]"))
		if ((e.getAttribute("aria-live") ?? "polite") !== "polite") wrong.push(e.outerHTML.slice(0, 60) + " interrupts");
	for (const e of document.querySelectorAll("table th")) if (!e.scope) wrong.push("a heading of a table has no scope: " + e.textContent);
	if (document.querySelectorAll("main h1").length !== 1) wrong.push("it has " + document.querySelectorAll("main h1").length + " first headings");
	return wrong;
})()`

// tabs goes through a view with the Tab key alone and fails for what it does
// not reach, or reaches against the order of the page, or without showing it.
func (b *browser) tabs(view string) {
	b.Helper()
	value[chromedp.Void](b, `(() => {
		scrollTo(0, 0);
		window.reach = [...(document.querySelector("dialog[open]") ?? document).querySelectorAll("a[href], button, input, select, canvas[tabindex='0']")].filter((e) => e.checkVisibility({ checkVisibilityCSS: true }) && !e.disabled);
		window.reach[0].focus();
	})()`)
	want := value[int](b, `window.reach.length`)
	const most = 40
	last := 0 // the link that skips the menu, or the first thing of a dialog
	for range most {
		b.do(chromedp.KeyEvent(kb.Tab))
		if hidden := value[string](b, `(() => {
			const e = document.activeElement, style = getComputedStyle(e);
			return e !== document.body && (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) ? e.outerHTML.slice(0, 80) : "";
		})()`); hidden != "" {
			b.Errorf("%s: it is not seen that %s has the focus", view, hidden)
		}
		at := value[int](b, `window.reach.indexOf(document.activeElement)`)
		if at < 0 { // a box that scrolls
			continue
		}
		if at != last+1 {
			b.Errorf("%s: after %d of %d things Tab goes to the one of number %d", view, last+1, want, at+1)
			return
		}
		if last = at; last == want-1 {
			return
		}
	}
	if last < min(want, most/2)-1 {
		b.Errorf("%s: Tab reaches only %d of %d things", view, last+1, want)
	}
}

// keepsFocus fails where the focus is lost while act changes what is shown.
func (b *browser) keepsFocus(selector string, act func()) {
	b.Helper()
	value[chromedp.Void](b, `(() => { window.held = document.querySelector("`+selector+`"); window.held.focus(); })()`)
	act()
	if !value[bool](b, `window.held.isConnected && document.activeElement === window.held`) {
		b.Errorf("%s has lost the focus to %s", selector, value[string](b, `document.activeElement.outerHTML.slice(0, 80)`))
	}
}

package cli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ringmaster-project/ringmaster/cli"
)

// fleet adds simulated agents to a cluster until the test ends.
func fleet(tb testing.TB, at string, args ...string) {
	tb.Helper()
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cli.Main(tb.Context(), append([]string{"ringmaster", "bench", "agents", "--masters", at}, args...), strings.NewReader(""), in, io.Discard)
		in.Close()
	}()
	ready := make([]byte, len("ready "))
	if _, err := io.ReadFull(out, ready); err != nil {
		tb.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the pipe
	tb.Cleanup(func() { <-ended })
}

// ringmaster runs a command of its own against a cluster and returns what it printed.
func ringmaster(tb testing.TB, at string, args ...string) string {
	tb.Helper()
	ctx, end := context.WithTimeout(context.Background(), patience)
	defer end()
	cmd := exec.CommandContext(ctx, "ringmaster", args...)
	cmd.Env = append(os.Environ(), "RINGMASTER_MASTERS="+at)
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("ringmaster %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// evil is what a task must not be able to do to who looks at it.
const evil = `<img src=x onerror=document.title=1><script>document.title=1</script>`

// TestWebPage clicks through every view of the page of a real cluster, in which
// tasks run, and acts.
func TestWebPage(t *testing.T) {
	needShim(t)
	b := newBrowser(t)
	at := addresses(t, 1)[0]
	dev := launch(t, t.TempDir(), "dev", "dev", "--http", at, "--resources", "cpus=8,mem=16GiB,disk=100GiB,gpu=4x24GiB", "--attributes", "real=yes")
	dev.await(t)
	fleet(t, at, "--count", "40", "--resources", "cpus=16,mem=64GiB,disk=1TiB", "--task-time", "10m")
	ringmaster(t, at, "role", "set", "eng/ml", "--weight", "2", "--quota", "cpus=400,gpu=96GiB", "--guarantee", "cpus=20")
	b.do(chromedp.Navigate("http://" + at + "/"))
	b.await(`document.querySelector("#connection").textContent === "live"`)

	part := func(name string, clicks func(b *browser)) {
		if !t.Failed() {
			t.Run(name, func(t *testing.T) { clicks(b.within(t)) })
		}
	}
	part("overview", func(b *browser) {
		b.await(`document.querySelectorAll("figure.rings canvas").length === 5`)
		b.shows("41 agents")
		b.await(`document.querySelectorAll(".chart polygon.free").length === 4`)
		ringmaster(t, at, "run", "--detach", "--role", "eng/ml", "--count", "30", "--cpus", "9", "--mem", "40GiB", "--name", "crowd", "--", "sleep", "600")
		ringmaster(t, at, "run", "--detach", "--constraint", "real==yes", "--gpu-mem", "10GiB", "--cpus", "2", "--name", "talker", "--", "sh", "-c",
			"echo 'hello from the sandbox'; echo '"+evil+"'; mkdir -p out; echo deep > out/note; echo oops >&2; while sleep 0.2; do echo again; done")
		b.shows("launched on")
		b.await(`document.querySelector(".tile:nth-child(3) .value").textContent === "31"`)
		b.pictures("overview")
		if rows := value[int](b, `new Set([...document.querySelectorAll(".ringsets canvas")].map((c) => c.getBoundingClientRect().bottom)).size`); rows != 1 {
			b.Errorf("five rings lie in %d rows of a wide window", rows)
		}
	})
	part("rings", func(b *browser) {
		b.click("header nav a", "Rings")
		b.click(".tabs a", "Memory")
		b.shows("16 GiB to 32 GiB")
		b.await(`[...document.querySelectorAll("tbody tr")].some((r) => r.cells[1].textContent === "16 GiB to 32 GiB" && r.cells[2].textContent === "30")`)
		b.do(chromedp.Focus(chromedp.CSS(".large canvas")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
		b.shows("GiB free (")
		b.pictures("rings")
		b.do(chromedp.Focus(chromedp.CSS(".large canvas")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
		b.await(`location.hash.startsWith("#/agents/a")`)
	})
	part("agents", func(b *browser) {
		b.click("header nav a", "Agents")
		b.await(`document.querySelectorAll("tbody tr").length === 41`)
		b.click("button.sort", "CPU cores used")
		b.await(`document.querySelector("tbody tr .amount").textContent === "9 of 16"`)
		b.pictures("agents")
		host, err := os.Hostname()
		if err != nil {
			b.Fatal(err)
		}
		b.do(chromedp.SendKeys(chromedp.CSS("#search"), host))
		b.await(`document.querySelectorAll("tbody tr").length === 1`)
		b.click("tbody a", host)
		b.shows("10 GiB of 24 GiB")
		b.shows("talker")
		b.pictures("agent")
	})
	part("task", func(b *browser) {
		b.click("tbody a", "talker")
		b.shows("hello from the sandbox")
		b.await(`[...document.querySelectorAll(".facts a")].some((a) => a.textContent === "run talker" && a.hash.startsWith("#/frameworks/f0"))`)
		b.shows("again")
		b.shows(evil)
		b.click("button", "out/")
		b.shows("note")
		value[chromedp.Void](b, `[...document.querySelectorAll(".crumbs button")].find((e) => e.textContent === "sandbox").focus()`)
		b.do(chromedp.KeyEvent(kb.Enter))
		b.await(`document.activeElement.matches(".crumbs button:last-child")`)
		b.click("button", "out/")
		b.click("button", "note")
		b.shows("deep")
		b.pictures("task")
		b.window(390, 900, "light")
		if cut := value[int](b, `[...document.querySelectorAll("button[aria-label^=Download]")].filter((e) => e.getBoundingClientRect().right > e.closest(".scroll").getBoundingClientRect().right).length`); cut != 0 {
			b.Errorf("%d buttons to download are cut off in a narrow window", cut)
		}
		if top := value[int](b, `new Set([...document.querySelectorAll("header nav a")].map((e) => e.getBoundingClientRect().top)).size`); top != 1 {
			b.Errorf("the menu has %d rows in a narrow window", top)
		}
		b.window(1280, 900, "light")
		b.click("button", "stderr")
		b.shows("oops")
		b.click(".headline button", "Kill")
		b.pictures("kill")
		b.click("dialog button", "Cancel")
		b.click(".headline button", "Kill")
		b.click("dialog button", "Kill")
		b.shows("is told to end")
		b.await(`document.querySelector(".facts .badge").textContent === "killed"`)
		b.await(`![...document.querySelectorAll(".headline button")].some((x) => x.textContent === "Kill")`)
		if title := value[string](b, `document.title`); !strings.HasPrefix(title, "Task talker") {
			b.Error("what a task wrote ran as a script")
		}
	})
	part("nothing", func(b *browser) {
		for at, says := range map[string]string{
			"tasks/nope": `there is no task "nope"`, "agents/nope": `there is no agent "nope"`, "frameworks/nope": `there is no framework "nope"`, "jobs/nope": `there is no job "nope"`,
		} {
			value[chromedp.Void](b, fmt.Sprintf(`location.hash = "#/%s"`, at))
			b.shows(says)
			b.await(`document.querySelectorAll("main .error").length === 1 && ![...document.querySelectorAll("main .card")].some((c) => c.checkVisibility())`)
		}
		b.pictures("nothing")
		b.click("header nav a", "Tasks")
	})
	part("tasks", func(b *browser) {
		b.click("header nav a", "Tasks")
		b.await(`document.querySelectorAll("tbody tr").length === 31`)
		b.pictures("tasks")
		value[chromedp.Void](b, `(() => { const s = document.querySelector("#state"); s.value = "killed"; s.dispatchEvent(new Event("change")); })()`)
		b.await(`document.querySelectorAll("tbody tr").length === 1`)
		b.click("header nav a", "Tasks")
		b.await(`document.querySelectorAll("tbody tr").length === 31`)
		b.keepsFocus("tbody tr:nth-child(2) a", func() {
			ringmaster(t, at, "run", "--name", "latecomer", "--constraint", "real==yes", "--cpus", "0.1", "--", "true")
			b.await(`[...document.querySelectorAll("tbody tr")].some((r) => r.textContent.includes("latecomer") && r.textContent.includes("finished"))`)
		})
	})
	part("frameworks", func(b *browser) {
		b.click("header nav a", "Frameworks")
		b.shows("270 of 400 cpus")
		queue := exec.Command("ringmaster", "run", "--masters", at, "--count", "3", "--cpus", "8", "--constraint", "real==yes", "--name", "queue", "--", "sleep", "600")
		if err := queue.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() { _ = queue.Process.Kill(); _ = queue.Wait() }()
		b.await(`[...document.querySelectorAll("tbody tr")].some((r) => r.cells[1].textContent === "run queue" && r.textContent.includes("8 cpus") && r.cells[4].textContent === "2" && r.cells[6].textContent.includes("constraint"))`)
		b.pictures("frameworks")
		large := exec.Command("ringmaster", "run", "--masters", at, "--cpus", "100", "--mem", "1TiB", "--", "true") // two kinds stop it
		if err := large.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() { _ = large.Process.Kill(); _ = large.Wait() }()
		b.click("header nav a", "Overview")
		b.await(`((tile) => tile.querySelector(".value").textContent === "2" && tile.querySelector(".note").textContent.includes("1 waiting for mem"))(document.querySelector(".tile:nth-child(5)"))`)
		b.click("header nav a", "Frameworks")
		b.click("tbody a", "run crowd")
		b.await(`document.querySelectorAll("tbody tr").length === 30`)
		b.pictures("framework")
	})
	part("jobs", func(b *browser) {
		b.click("header nav a", "Jobs")
		b.shows("There is no job")
		for _, name := range []string{"web", "report"} {
			ringmaster(t, at, "job", "run", fmt.Sprintf("testdata/jobs/%s.yaml", name))
		}
		b.click("header nav a", "Overview")
		b.click("header nav a", "Jobs")
		b.shows("2 running")
		b.pictures("jobs")
		b.click("tbody a", "report")
		b.shows("There are none yet.")
		b.click("header nav a", "Jobs")
		b.click("tbody a", "web")
		b.shows("version 1 is well everywhere")
		b.pictures("job")
		b.click(".headline button", "Scale")
		b.fill("#actfield", "3")
		b.click("dialog button", "Scale")
		b.await(`[...document.querySelectorAll("tbody tr")].filter((r) => r.textContent.includes("running")).length === 3`)
		b.click(".headline button", "Stop")
		b.click("dialog button", "Stop")
		b.await(`document.querySelector(".facts .badge").textContent === "stopped"`)
	})
	part("drain", func(b *browser) {
		b.click("header nav a", "Agents")
		b.click("tbody a", "sim-40")
		b.click(".headline button", "Drain")
		b.fill("#actfield", "soon")
		b.click("dialog button", "Drain")
		b.await(`document.querySelector("dialog .error").textContent.includes("soon")`)
		b.fill("#actfield", "")
		b.click("dialog button", "Drain")
		b.await(`document.querySelector(".facts .badge").textContent === "drained"`)
		b.click(".headline button", "Undrain")
		b.click("dialog button", "Undrain")
		b.await(`document.querySelector(".facts .badge").textContent === "active"`)
	})
	part("pointer", func(b *browser) {
		host, err := os.Hostname()
		if err != nil {
			b.Fatal(err)
		}
		b.click("header nav a", "Rings")
		b.click(".tabs a", "Memory")
		b.await(`document.querySelectorAll("tbody tr").length > 0`)
		x, y, far := b.dot(host)
		value[chromedp.Void](b, `document.activeElement.blur()`)
		b.await(`document.querySelector(".large .tip").hidden`)
		b.do(chromedp.MouseEvent(chromedp.MouseMoved, x, y))
		b.await(`document.querySelector(".large .tip strong").checkVisibility()`)
		b.shows(" of 16 GiB free")
		ringmaster(b, at, "run", "--detach", "--constraint", "real==yes", "--cpus", "0.1", "--mem", "11GiB", "--name", "heavy", "--", "sleep", "600")
		b.await(`[...document.querySelectorAll("tbody tr")].some((r) => r.cells[1].textContent === "4 GiB to 8 GiB" && r.cells[2].textContent === "1")`)
		b.do(chromedp.MouseEvent(chromedp.MouseMoved, 1, 1))
		b.await(`document.querySelector(".large .tip").hidden`)
		x, y, nearer := b.dot(host)
		b.do(chromedp.MouseEvent(chromedp.MouseMoved, x, y))
		b.shows("ring 4: 4 GiB to 8 GiB")
		if nearer > far-10 {
			b.Errorf("its dot was %.0f pixels from the middle, and is %.0f with less free", far, nearer)
		}
		b.do(chromedp.MouseClickXY(x, y))
		b.await(`location.hash.startsWith("#/agents/a")`)
		b.shows("heavy")
	})
	b.healthy()
}

// dot points at an agent in the large picture of rings with the keyboard, once
// its dot has come to rest, and returns where in the window that is and how far
// from the middle.
func (b *browser) dot(name string) (x, y, far float64) {
	b.Helper()
	b.await(`document.querySelector(".large canvas")`)
	value[chromedp.Void](b, `(() => {
		const paint = CanvasRenderingContext2D.prototype;
		window.arc ??= paint.arc;
		window.drawn = null;
		paint.arc = function (x, y, ...more) { window.drawn = { x, y }; return window.arc.call(this, x, y, ...more); }; // the last is the mark
		document.querySelector(".large canvas").scrollIntoView({ block: "center" });
		document.querySelector(".large canvas").focus();
	})()`)
	named := func() bool {
		return value[string](b, `document.querySelector(".large .tip:not([hidden]) strong")?.textContent ?? ""`) == name
	}
	for tries := 0; !named(); tries++ {
		if tries == 100 {
			b.Fatalf("the arrow keys never come to the dot of %s", name)
		}
		b.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	at := value[[3]float64](b, `new Promise((done) => {
		const look = (was) => setTimeout(() => {
			if (!was || !window.drawn || was.x !== window.drawn.x || was.y !== window.drawn.y) return look(window.drawn);
			const r = document.querySelector(".large canvas").getBoundingClientRect(), { x, y } = was;
			done([r.left + x, r.top + y, Math.hypot(x - r.width / 2, y - r.height / 2)]);
		}, 200);
		look(window.drawn);
	})`)
	return at[0], at[1], at[2]
}

// TestTasksNameARemovedFramework that was torn down, or ended with its command.
func TestTasksNameARemovedFramework(t *testing.T) {
	needShim(t)
	b := newBrowser(t)
	at := addresses(t, 1)[0]
	dev := launch(t, t.TempDir(), "dev", "dev", "--http", at, "--resources", "cpus=2,mem=1GiB")
	dev.await(t)
	ringmaster(t, at, "run", "--name", "bygone", "--", "true")
	b.do(chromedp.Navigate("http://" + at + "/#/tasks"))
	b.await(`[...document.querySelectorAll("tbody a")].some((a) => a.textContent === "run bygone" && a.hash.startsWith("#/frameworks/"))`)
}

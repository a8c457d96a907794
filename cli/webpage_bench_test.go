package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// busyMaster is one master with that many agents, on 33 of which tasks of one
// second follow each other: about 100 events/s.
func busyMaster(b *testing.B, agents int) (d *daemon, at string) {
	b.Helper()
	c := newCluster(b, 1, 0)
	at = c.http[0]
	fleet(b, at, "--count", fmt.Sprint(agents-33), "--resources", "mem=64GiB,disk=1TiB", "--name", "idle")
	fleet(b, at, "--count", "33", "--resources", "cpus=1,mem=64GiB,disk=1TiB", "--name", "busy")
	ctx, end := context.WithCancel(context.Background())
	client, err := framework.Connect(ctx, framework.Config{Masters: c.http, Info: wire.FrameworkInfo{Name: "batch"}})
	if err != nil {
		b.Fatal(err)
	}
	tasks := make([]offers.Task, 50_000) // more than are run
	for n := range tasks {
		tasks[n] = offers.Task{ID: offers.TaskID(fmt.Sprintf("t%d", n)), Command: &offers.Command{Argv: []string{"true"}},
			Resources: offers.Resources{Amounts: offers.Amounts{offers.CPUs: 1000, offers.Mem: 60 << 30}}}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = framework.RunBatch(ctx, client, tasks, framework.BatchOptions{}) // until it is ended
	}()
	b.Cleanup(func() { end(); <-ended; client.Close() })
	return c.masters["m1"], at
}

// BenchmarkWebPage measures a page of a cluster of that many agents in which
// about 100 events happen in a second: what its first view takes, when an event
// that the master timed is on the page, and how long its frames are.
func BenchmarkWebPage(b *testing.B) {
	for _, agents := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(agents), func(b *testing.B) {
			web := newBrowser(b)
			_, at := busyMaster(b, agents)
			web.notesFirstView(agents)
			var fresh, again []float64
			for b.Loop() {
				fresh = append(fresh, web.firstView(at, true))
				b.ReportMetric(value[float64](web, `[...performance.getEntriesByType("resource"), ...performance.getEntriesByType("navigation")].filter((e) => !e.name.includes("events")).reduce((n, e) => n + e.transferSize, 0) / 1024`), "KiB")
				again = append(again, web.firstView(at, false))
			}
			b.ReportMetric(median(fresh), "first-view-ms")
			b.ReportMetric(slices.Max(fresh), "first-view-max-ms")
			b.ReportMetric(median(again), "view-again-ms")
			late := value[[]float64](web, `new Promise((done) => {
				const late = [];
				const look = new MutationObserver(() => late.push(Date.now() - Date.parse(document.querySelector(".events time").dateTime)));
				look.observe(document.querySelector(".events"), { childList: true });
				setTimeout(() => done(late.sort((a, b) => a - b)), 10000);
			})`)
			frames := value[[]float64](web, `new Promise((done) => {
				const frames = [];
				let last = performance.now();
				const frame = (now) => {
					frames.push(now - last);
					last = now;
					if (frames.reduce((a, b) => a + b) < 10000) requestAnimationFrame(frame);
					else done(frames.sort((a, b) => a - b));
				};
				requestAnimationFrame(frame);
			})`)
			b.ReportMetric(late[len(late)/2], "event-p50-ms")
			b.ReportMetric(late[len(late)*99/100], "event-p99-ms")
			b.ReportMetric(frames[len(frames)/2], "frame-p50-ms")
			b.ReportMetric(frames[len(frames)*99/100], "frame-p99-ms")
		})
	}
}

// notesFirstView lets every page from then on note as firstView when a frame
// in which two pictures have a dot for each of that many agents was painted.
func (b *browser) notesFirstView(agents int) {
	b.Helper()
	script := fmt.Sprintf(`{
		const dots = new Map(); // by canvas
		const note = (canvas) => {
			dots.set(canvas, (dots.get(canvas) ?? 0) + 1);
			if (dots.get(canvas) === %d && [...dots.values()].filter((n) => n >= %[1]d).length === 2) {
				setTimeout(() => (window.firstView = performance.now())); // behind the frame that is being drawn
			}
		};
		for (const name of ["fill", "fillRect"]) {
			const draw = CanvasRenderingContext2D.prototype[name];
			CanvasRenderingContext2D.prototype[name] = function (...all) { draw.apply(this, all); note(this.canvas); };
		}
	}`, agents)
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		b.Fatal(err)
	}
}

// firstView opens the page, as a browser that was never there or one that was,
// and returns the milliseconds from the way there to the first view.
func (b *browser) firstView(at string, fresh bool) float64 {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: fresh}); err != nil {
		b.Fatal(err)
	}
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate("http://"+at+"/"))
	b.await(`window.firstView`)
	return value[float64](b, `window.firstView`)
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// BenchmarkFiftyPages measures what the streams of 50 open pages cost a leader,
// in parts of a core, beside what the same events cost it without them.
func BenchmarkFiftyPages(b *testing.B) {
	const pages, stretch = 50, 10 * time.Second
	master, at := busyMaster(b, 1000)
	var alone, watched float64
	events := 0
	for b.Loop() {
		alone += share(b, master, stretch)
		ctx, end := context.WithCancel(context.Background())
		heard := make(chan int, pages)
		for range pages {
			go func() { heard <- listen(ctx, at) }()
		}
		watched += share(b, master, stretch)
		end()
		for range pages {
			events += <-heard
		}
	}
	b.ReportMetric(100*alone/float64(b.N), "alone-%")
	b.ReportMetric(100*(watched-alone)/float64(b.N), "pages-%")
	b.ReportMetric(float64(events)/pages/stretch.Seconds()/float64(b.N), "events/s")
}

// share is how much of a core a daemon takes for so long.
func share(b *testing.B, d *daemon, long time.Duration) float64 {
	b.Helper()
	before := cpuTicks(b, d.cmd.Process.Pid)
	time.Sleep(long) // of real time, which is what is measured
	return float64(cpuTicks(b, d.cmd.Process.Pid)-before) / 100 / long.Seconds()
}

// listen reads events as a page does and returns how many it heard.
func listen(ctx context.Context, at string) (heard int) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/v1/events?status=true", nil)
	if err != nil {
		return 0
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			heard++
		}
	}
	return heard
}

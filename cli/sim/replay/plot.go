package replay

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Plot draws the results as SVG: how full the cluster was, one line per policy,
// and below it, kind by kind, how much of it was stranded. Lines are means over
// the runs.
func Plot(out io.Writer, w Workload, results []Result) error {
	p := &plot{w: &w, results: results}
	p.from, p.to = p.span()
	kinds := w.Present()
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="12" fill="#333">`,
		plotWidth, plotHeight, plotWidth, plotHeight)
	p.printf(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	p.text(plotLeft, 28, `font-size="17" font-weight="600"`, "How full the cluster was, and what of the rest was stranded")
	p.text(plotLeft, 48, `fill="#777"`, w.subtitle())
	p.legend(plotLeft, 74)
	measured := int(scarce(w.Nodes, w.Tasks))
	p.chart(chart{x: plotLeft, y: 112, width: plotWidth - plotLeft - plotRight, height: 250, ticks: 10,
		title: title(measured) + " in use, % of all", of: func(s *Sample) float64 { return s.Used[measured] }})
	gap := 48
	each := (plotWidth - plotLeft - plotRight - gap*(len(kinds)-1)) / max(len(kinds), 1)
	for i, k := range kinds {
		p.chart(chart{x: plotLeft + i*(each+gap), y: 436, width: each, height: 150, ticks: 4, zero: true,
			title: title(k) + " stranded, % of all", of: func(s *Sample) float64 { return s.Stranded[k] }})
	}
	p.printf(`</svg>`)
	_, err := io.WriteString(out, p.svg.String())
	return err
}

const (
	plotWidth  = 960
	plotHeight = 640
	plotLeft   = 56
	plotRight  = 28
)

// plotColors tell policies apart for colour-blind readers too. Source: Okabe
// and Ito, "Color universal design", 2008, without yellow, which is faint on
// white.
var plotColors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"}

// plot is a drawing in the making.
type plot struct {
	w        *Workload
	results  []Result
	from, to float64 // of the x axis
	svg      strings.Builder
}

// chart is one pair of axes with a line per policy.
type chart struct {
	x, y, width, height int
	ticks               int // of the x axis, about
	title               string
	zero                bool // the y axis begins at 0
	of                  func(*Sample) float64
}

func (p *plot) printf(format string, args ...any) {
	fmt.Fprintf(&p.svg, format+"\n", args...)
}

func (p *plot) text(x, y int, attributes, text string) {
	p.printf(`<text x="%d" y="%d" %s>%s</text>`, x, y, attributes, escaper.Replace(text))
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func color(i int) string { return plotColors[i%len(plotColors)] }

// dashes let more policies be told apart than there are colours.
func dashes(i int) string {
	if i < len(plotColors) {
		return ""
	}
	return ` stroke-dasharray="5 3"`
}

func title(k int) string {
	noun := nouns[k]
	return strings.ToUpper(noun[:1]) + noun[1:]
}

// subtitle says what was replayed.
func (w *Workload) subtitle() string {
	text := fmt.Sprintf("%d nodes, %d arrivals in %d runs", len(w.Nodes), w.Arrivals(), len(w.Orders))
	switch w.Way {
	case Filling:
		return text + ", tasks stay"
	case Churn:
		return fmt.Sprintf("%s, tasks come and go at a load of %v", text, w.Load)
	}
	return text + ", tasks wait for room"
}

func (p *plot) legend(x, y int) {
	for i := range p.results {
		name := string(p.results[i].Policy)
		p.printf(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="3"%s/>`, x, y-4, x+22, y-4, color(i), dashes(i))
		p.text(x+28, y, "", name)
		x += 28 + 8*len(name) + 24
	}
}

// at is where a sample stands on the x axis: hours, or % arrived where nothing
// ends.
func (p *plot) at(s *Sample) float64 {
	if p.w.Way == Filling {
		return s.Arrived
	}
	return s.At.Hours()
}

// span returns what the x axis shows. A cluster that is being filled has room
// for everything at first, where there is nothing to see, and churn shows what is
// measured.
func (p *plot) span() (from, to float64) {
	for i := range p.results {
		for j := range p.results[i].Samples {
			to = max(to, p.at(&p.results[i].Samples[j]))
		}
	}
	switch {
	case p.w.Way == Filling && to > fillingFrom+10:
		from = fillingFrom
	case p.w.Way == Churn:
		from = churnWarm.Hours()
	}
	return from, max(to, from+1e-3)
}

const fillingFrom = 80 // % asked for

// chart draws axes and lines.
func (p *plot) chart(c chart) {
	low, high := p.bounds(&c)
	step := niceStep((high-low)/4, 1e-3)
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	y := func(v float64) float64 { return float64(c.y+c.height) - (v-low)/(high-low)*float64(c.height) }
	x := func(v float64) float64 { return float64(c.x) + (v-p.from)/(p.to-p.from)*float64(c.width) }
	p.text(c.x, c.y-12, `font-weight="600"`, c.title)
	for v := low; v <= high+step/2; v += step {
		p.printf(`<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#e5e5e5"/>`, c.x, y(v), c.x+c.width, y(v))
		p.text(c.x-8, int(y(v))+4, `text-anchor="end" fill="#777"`, tick(v))
	}
	xStep := niceStep((p.to-p.from)/float64(c.ticks), 1e-3)
	for v := math.Ceil(p.from/xStep-1e-9) * xStep; v <= p.to+1e-9; v += xStep {
		p.printf(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#999"/>`, x(v), c.y+c.height, x(v), c.y+c.height+4)
		p.text(int(x(v)), c.y+c.height+18, `text-anchor="middle" fill="#777"`, tick(v))
	}
	p.text(c.x+c.width, c.y+c.height+34, `text-anchor="end" fill="#777"`, p.axis())
	p.printf(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#999"/>`, c.x, c.y+c.height, c.x+c.width, c.y+c.height)
	for i := range p.results {
		p.line(i, c.of, x, y)
	}
}

func (p *plot) axis() string {
	if p.w.Way == Filling {
		return "asked for, % of all"
	}
	return "hours"
}

// bounds returns between what values the lines of a chart lie.
func (p *plot) bounds(c *chart) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range p.results {
		for j := range p.results[i].Samples {
			if s := &p.results[i].Samples[j]; p.at(s) >= p.from {
				low, high = min(low, c.of(s)), max(high, c.of(s))
			}
		}
	}
	if c.zero || low > high {
		low = 0
	}
	return low, max(high, low+0.01)
}

// line draws one policy.
func (p *plot) line(i int, of func(*Sample) float64, x, y func(float64) float64) {
	var points strings.Builder
	for j := range p.results[i].Samples {
		if s := &p.results[i].Samples[j]; p.at(s) >= p.from {
			fmt.Fprintf(&points, "%.1f,%.1f ", x(p.at(s)), y(of(s)))
		}
	}
	p.printf(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2" stroke-linejoin="round"%s/>`,
		strings.TrimSpace(points.String()), color(i), dashes(i))
}

// niceStep returns the smallest of 1, 2 and 5 times a power of ten that is not
// below about.
func niceStep(about, least float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(max(about, least))))
	for _, times := range []float64{1, 2, 5, 10} {
		if step*times >= about {
			return step * times
		}
	}
	return step * 10
}

// tick writes a number of an axis.
func tick(v float64) string {
	return fmt.Sprintf("%g", math.Round(v*1000)/1000+0) // no -0
}

package main

import (
	"fmt"
	"math"
	"strings"
)

// table returns the series as one table in Markdown.
func table(lines []line) string {
	var b strings.Builder
	b.WriteString("| agents | tasks that run | µs of the processor per task | least to greatest | heap, MiB |\n|---:|---:|---:|---:|---:|\n")
	for _, l := range lines {
		for _, p := range l.points {
			fmt.Fprintf(&b, "| %s | %s | %.1f | %.1f to %.1f | %.0f |\n",
				grouped(p.agents), grouped(p.tasks), median(p.micros), p.micros[0], p.micros[len(p.micros)-1], median(p.mebibytes))
		}
	}
	return b.String()
}

// grouped writes 1,000,000.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// The plot: a chart for each series, side by side.
const (
	chartWidth  = 400
	chartHeight = 220
	chartTop    = 64
	chartGap    = 64
	plotHeight  = chartTop + chartHeight + 48
)

// plot returns the series as SVG: medians on a logarithmic axis of the number,
// with a bar from the least to the greatest, from nothing up.
func plot(lines []line) string {
	width := chartGap + len(lines)*(chartWidth+chartGap)
	most := 0.0
	for _, l := range lines {
		for _, p := range l.points {
			most = max(most, p.micros[len(p.micros)-1])
		}
	}
	step := nice(most / 4)
	most = math.Ceil(most/step) * step
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="12" fill="#333">`+"\n", width, plotHeight, width, plotHeight)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	fmt.Fprintf(&b, `<text x="%d" y="28" font-size="17" font-weight="600">What a task costs the leader, µs of the processor</text>`+"\n", chartGap)
	for i, l := range lines {
		l.draw(&b, chartGap+i*(chartWidth+chartGap), most, step)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (l line) draw(b *strings.Builder, left int, most, step float64) {
	first, last := math.Log10(float64(l.points[0].at(l.of))), math.Log10(float64(l.points[len(l.points)-1].at(l.of)))
	x := func(p point) float64 {
		if first == last {
			return float64(left) + chartWidth/2
		}
		return float64(left) + chartWidth*(math.Log10(float64(p.at(l.of)))-first)/(last-first)
	}
	y := func(micros float64) float64 { return chartTop + chartHeight*(1-micros/most) }
	for n := 0.0; n <= most; n += step {
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n", left, y(n), left+chartWidth, left-8, y(n)+4, n)
	}
	var path []string
	for _, p := range l.points {
		path = append(path, fmt.Sprintf("%.1f %.1f", x(p), y(median(p.micros))))
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1f" stroke="#0072b2" stroke-width="2" opacity=".4"/><circle cx="%.1f" cy="%.1f" r="3.5" fill="#0072b2"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x(p), y(p.micros[0]), y(p.micros[len(p.micros)-1]), x(p), y(median(p.micros)), x(p), chartTop+chartHeight+18, grouped(p.at(l.of)))
	}
	fmt.Fprintf(b, `<path d="M%s" fill="none" stroke="#0072b2" stroke-width="2"/>`+"\n", strings.Join(path, "L"))
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#777">%s</text>`+"\n", left+chartWidth/2, chartTop+chartHeight+38, l.axis())
}

func (l line) axis() string {
	if l.of == "agents" {
		return "agents, with " + grouped(l.points[0].tasks) + " tasks that run"
	}
	return "tasks that run, on " + grouped(l.points[0].agents) + " agents"
}

// nice returns 1, 2 or 5 times a power of ten, at least n.
func nice(n float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(n)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= n {
			return m * power
		}
	}
	return 10 * power
}

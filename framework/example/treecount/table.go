package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
)

// row is what one task found.
type row struct {
	folder       string
	files, lines int64
	sum          string
	agent        string
	status       offers.Status
}

func (r row) finished() bool { return r.status.State == offers.Finished }

// collect reads what the finished tasks printed.
func collect(ctx context.Context, s settings, id offers.FrameworkID, names []string, results []framework.BatchResult) ([]row, error) {
	client := logs{settings: s, http: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: s.door.ClientTLS()},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 4 {
				return errors.New("redirected five times")
			}
			r.Header = via[0].Header.Clone() // the leader wants the token too
			return nil
		},
	}}
	defer client.http.CloseIdleConnections()
	rows := make([]row, len(results))
	for i, result := range results {
		rows[i] = row{folder: names[i], agent: result.Agent.Name, status: result.Status}
		if !rows[i].finished() {
			continue
		}
		text, err := client.read(ctx, offers.TaskRef{Framework: id, Task: result.Task})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names[i], err)
		}
		if _, err := fmt.Sscan(text, &rows[i].files, &rows[i].lines, &rows[i].sum); err != nil {
			return nil, fmt.Errorf("%s: its task printed %.60q instead of files, lines and checksum", names[i], text)
		}
	}
	return rows, nil
}

// logs reads tasks' standard output through the masters.
type logs struct {
	settings
	http *http.Client
}

func (l *logs) read(ctx context.Context, task offers.TaskRef) (text string, err error) {
	scheme := "http"
	if l.door.ClientTLS() != nil {
		scheme = "https"
	}
	for _, master := range l.masters {
		at := scheme + "://" + strings.TrimSpace(master) + "/v1/tasks/" + task.String() + "/logs?stream=stdout"
		if text, err = l.get(ctx, at); err == nil {
			return text, nil
		}
	}
	return "", err
}

func (l *logs) get(ctx context.Context, at string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	r.Header = l.door.Header()
	answer, err := l.http.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	if err != nil {
		return "", fmt.Errorf("GET %s: %w", at, err)
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: %s: %.200s", at, answer.Status, body)
	}
	return string(body), nil
}

// tableRows is how many folders the table shows, the largest first.
const tableRows = 15

func table(out io.Writer, rows []row, took time.Duration) {
	var total row
	done, agents := 0, map[string]bool{}
	for _, r := range rows {
		total.files, total.lines = total.files+r.files, total.lines+r.lines
		if r.finished() {
			done++
			agents[r.agent] = true
		}
	}
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b row) int { return int(b.lines - a.lines) })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "lines\tfiles\tchecksum\tfolder\t")
	for _, r := range sorted[:min(tableRows, len(sorted))] {
		if r.finished() {
			fmt.Fprintf(w, "%d\t%d\t%s\t%s\t\n", r.lines, r.files, r.sum, r.folder)
		}
	}
	fmt.Fprintf(w, "%d\t%d\t\tall %d folders\t\n", total.lines, total.files, done)
	w.Flush()
	for _, r := range rows {
		if !r.finished() {
			fmt.Fprintf(out, "%s ended %s: %s %s\n", r.folder, r.status.State, r.status.Reason, r.status.Message)
		}
	}
	fmt.Fprintf(out, "%d of %d tasks finished in %.1f s (%.1f a second) on %s\n",
		done, len(rows), took.Seconds(), float64(done)/took.Seconds(), counted(len(agents), "agent"))
}

// counted writes "1 agent", "2 agents".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

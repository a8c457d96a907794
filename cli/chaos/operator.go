package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// operator asks the masters over HTTP, past the mesh.
type operator struct {
	doors  []string
	client *http.Client
}

func newOperator(doors []string) *operator {
	return &operator{doors: doors, client: &http.Client{
		Timeout: 5 * time.Second,
		// Connections to masters that die are not worth keeping.
		Transport: &http.Transport{DisableKeepAlives: true},
	}}
}

// ask sends a request to one master after the other until one answers well or
// ctx ends. A follower sends it on to the leader.
func (o *operator) ask(ctx context.Context, method, path, body string, into any) error {
	for turn := 0; ; turn++ {
		err := o.once(ctx, method, o.doors[turn%len(o.doors)], path, body, into)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s %s: %w; the last answer: %w", method, path, context.Cause(ctx), err)
		}
	}
}

func (o *operator) once(ctx context.Context, method, at, path, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+at+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	answer, err := o.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%d %s", answer.StatusCode, bytes.TrimSpace(raw))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// seenTask, seenAgent and seenFramework are what the check reads of
// INTERFACE section 4.
type (
	seenTask struct {
		ID        offers.TaskID      `json:"id"`
		Framework offers.FrameworkID `json:"framework_id"`
		Agent     offers.AgentID     `json:"agent_id"`
		State     offers.State       `json:"state"`
		Reason    string             `json:"reason"`
	}
	seenAgent struct {
		ID      offers.AgentID             `json:"id"`
		Name    string                     `json:"name"`
		State   offers.AgentState          `json:"state"`
		Total   map[string]json.RawMessage `json:"total"`
		Used    map[string]json.RawMessage `json:"used"`
		Offered map[string]json.RawMessage `json:"offered"`
		Devices map[string]struct {
			Capacity []int64 `json:"capacity"`
			Used     []int64 `json:"used"`
		} `json:"devices"`
	}
	seenFramework struct {
		ID      offers.FrameworkID `json:"id"`
		Removed bool               `json:"removed"`
		Tasks   int                `json:"tasks"`
	}
	seenStatus struct {
		Leader *struct {
			Name string `json:"name"`
		} `json:"leader"`
		Term uint64 `json:"term"`
	}
)

// leader returns who leads now, as confirmed by a majority.
func (o *operator) leader(ctx context.Context) (name string, term uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		var s seenStatus
		if err := o.ask(ctx, "GET", "/v1/status", "", &s); err != nil {
			return "", 0, err
		}
		if s.Leader != nil && s.Leader.Name != "" {
			return s.Leader.Name, s.Term, nil
		}
	}
}

// masters counts the members.
func (o *operator) masters(ctx context.Context) (int, error) {
	var out struct {
		Masters []struct{} `json:"masters"`
	}
	err := o.ask(ctx, "GET", "/v1/masters", "", &out)
	return len(out.Masters), err
}

func (o *operator) agents(ctx context.Context) ([]seenAgent, error) {
	var out struct {
		Agents []seenAgent `json:"agents"`
	}
	err := o.ask(ctx, "GET", "/v1/agents", "", &out)
	return out.Agents, err
}

// tasks returns all that the masters remember, page by page.
func (o *operator) tasks(ctx context.Context) ([]seenTask, error) {
	var all []seenTask
	for next := ""; ; {
		var page struct {
			Tasks []seenTask `json:"tasks"`
			Next  string     `json:"next"`
		}
		if err := o.ask(ctx, "GET", "/v1/tasks?limit=5000&next="+url.QueryEscape(next), "", &page); err != nil {
			return nil, err
		}
		all = append(all, page.Tasks...)
		if next = page.Next; next == "" {
			return all, nil
		}
	}
}

// frameworks returns those that are there and those that are removed.
func (o *operator) frameworks(ctx context.Context) ([]seenFramework, error) {
	var all []seenFramework
	for _, query := range []string{"", "?state=removed"} {
		var page struct {
			Frameworks []seenFramework `json:"frameworks"`
		}
		if err := o.ask(ctx, "GET", "/v1/frameworks"+query, "", &page); err != nil {
			return nil, err
		}
		all = append(all, page.Frameworks...)
	}
	return all, nil
}

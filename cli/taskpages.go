package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers/scan"
)

// firstTasks is how many tasks the first page has: few, so that it is there at
// once. The others are as large as the masters make them.
const firstTasks = "1000"

// seeTaskPages shows each page of the list when it has come: there may be
// 100,000 tasks.
func seeTaskPages(ctx context.Context, cl *client, query url.Values) (sight, error) {
	query.Set("limit", firstTasks)
	more := cl.tasksAfter(query)
	first, err := more(ctx, "")
	return sight{
		draw: func(p *page) error { return drawTaskPages(ctx, p, first, more) },
		json: func(p *page) error {
			list := jsonList{page: p, key: "tasks"}
			if err := eachPage(ctx, first, more, func(items []byte) (bool, error) { return true, list.add(items) }); err != nil {
				return err
			}
			return list.end()
		},
	}, err
}

// tasksAfter asks for the pages of a list of tasks, the first one with the
// limit of the query.
func (cl *client) tasksAfter(query url.Values) nextPage {
	return func(ctx context.Context, next string) (listPage, error) {
		if next != "" {
			query.Del("limit")
			query.Set("next", next)
		}
		text, err := cl.Read(ctx, "/v1/tasks?"+query.Encode())
		if err != nil {
			return listPage{}, err
		}
		return cutPage(text, "tasks")
	}
}

// drawTaskPages draws a list of tasks that more returns the rest of.
func drawTaskPages(ctx context.Context, p *page, first listPage, more nextPage) error {
	table, reader := longTable{page: p}, readTasks(p.now)
	return eachPage(ctx, first, more, func(items []byte) (bool, error) {
		rows, err := reader.of(items)
		if err != nil {
			return false, err
		}
		if len(rows) == 0 && table.widths == nil {
			p.printf("no tasks\n")
			return false, nil
		}
		table.add(taskHeading, rows)
		return !p.full(), p.pass()
	})
}

var taskHeading = row{"ID", "NAME", "STATE", "EXIT", "FRAMEWORK", "AGENT", "RESOURCES", "+DEVICES", "+REASON", "+MESSAGE", "AGE"}

// taskRow is the row of one task; asked and held are the texts of its
// resources and devices.
func taskRow(t *api.Task, now time.Time, asked, held string) row {
	return row{string(t.ID), t.Name, string(t.State), endOf(t), string(t.Framework), string(t.Agent), asked, held, t.Reason, t.Message, age(now, when(t.Created))}
}

// taskRows reads tasks as rows: what masters write by looking for what a row
// has, anything else with encoding/json.
type taskRows struct {
	now         time.Time
	asked, held map[string]string // texts of resources and devices by their JSON: many tasks have the same
	created     []time.Time       // of the task of each row that was read
}

func readTasks(now time.Time) *taskRows {
	return &taskRows{now: now, asked: map[string]string{}, held: map[string]string{}}
}

// of reads an array of tasks.
func (r *taskRows) of(items []byte) ([]row, error) {
	before := len(r.created)
	if rows, plain := r.plain(items); plain {
		return rows, nil
	}
	r.created = r.created[:before]
	var tasks []api.Task
	if err := json.Unmarshal(items, &tasks); err != nil {
		return nil, fmt.Errorf("the master's list of tasks can't be read: %w", err)
	}
	rows := make([]row, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		r.created = append(r.created, when(t.Created))
		rows[i] = taskRow(t, r.now, askedBy(&t.Resources), held(t))
	}
	return rows, nil
}

// plain reads an array of tasks where all of it is as masters write it.
func (r *taskRows) plain(items []byte) (rows []row, ok bool) {
	s := scan.Over(items)
	if !s.Next('[') {
		return nil, false
	}
	if s.Next(']') {
		return nil, s.Done()
	}
	for more := true; more; more = s.Next(',') {
		row, ok := r.task(&s)
		if !ok {
			return nil, false
		}
		rows = append(rows, row)
	}
	return rows, s.Next(']') && s.Done()
}

func (r *taskRows) task(s *scan.Scanner) (row, bool) {
	var t api.Task
	var created time.Time
	asked, held := askedBy(&t.Resources), ""
	if !s.Next('{') {
		return nil, false
	}
	for more := true; more; more = s.Next(',') {
		key, plain := s.Text()
		if !plain || !s.Next(':') {
			return nil, false
		}
		value, ok := s.Value()
		if !ok {
			return nil, false
		}
		switch string(key) {
		case "id":
			ok = textIn(value, &t.ID)
		case "name":
			ok = textIn(value, &t.Name)
		case "state":
			ok = textIn(value, &t.State)
		case "framework_id":
			ok = textIn(value, &t.Framework)
		case "agent_id":
			ok = textIn(value, &t.Agent)
		case "signal":
			ok = textIn(value, &t.Signal)
		case "reason":
			ok = textIn(value, &t.Reason)
		case "message":
			ok = textIn(value, &t.Message)
		case "exit_code":
			code, err := strconv.Atoi(string(value))
			t.ExitCode, ok = &code, err == nil
		case "created":
			var err error
			created, err = time.Parse(`"`+time.RFC3339+`"`, string(value))
			t.Created, ok = &created, err == nil
		case "resources":
			asked, ok = remembered(r.asked, value, askedText)
		case "devices":
			held, ok = remembered(r.held, value, heldText)
		}
		if !ok {
			return nil, false
		}
	}
	r.created = append(r.created, created)
	return taskRow(&t, r.now, asked, held), s.Next('}')
}

// textIn reads a text.
func textIn[T ~string](value []byte, to *T) bool {
	s := scan.Over(value)
	if text, plain := s.Text(); plain && s.Done() {
		*to = T(text)
		return true
	}
	return json.Unmarshal(value, to) == nil
}

// mostRemembered is how many texts are kept for what comes again.
const mostRemembered = 1000

// remembered is what text says of a value, which it is not asked twice.
func remembered(known map[string]string, value []byte, text func(value []byte) (string, error)) (string, bool) {
	if t, ok := known[string(value)]; ok {
		return t, true
	}
	t, err := text(value)
	if err == nil && len(known) < mostRemembered {
		known[string(value)] = t
	}
	return t, err == nil
}

func askedText(value []byte) (string, error) {
	var r api.TaskResources
	err := json.Unmarshal(value, &r)
	return askedBy(&r), err
}

func heldText(value []byte) (string, error) {
	var t api.Task
	err := json.Unmarshal(value, &t.Devices)
	return held(&t), err
}

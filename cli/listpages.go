package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/ringmaster-project/ringmaster/offers/scan"
)

// listPage is a page of a list: an array as the masters wrote it, and what asks
// for the next page, "" for the last one.
type listPage struct {
	items []byte
	next  string
}

// nextPage returns the page after one.
type nextPage func(ctx context.Context, next string) (listPage, error)

// cutPage finds the array of that key, and next, in an answer.
func cutPage(text []byte, key string) (p listPage, err error) {
	s := scan.Over(text)
	ok := s.Next('{')
	for more := ok; more; more = s.Next(',') {
		name, plain := s.Text()
		if ok = plain && s.Next(':'); !ok {
			break
		}
		if string(name) == "next" {
			text, plain := s.Text()
			p.next, ok = string(text), plain
		} else if value, plain := s.Value(); string(name) == key {
			p.items, ok = value, plain
		} else {
			ok = plain
		}
		if !ok {
			break
		}
	}
	if ok && p.items != nil && s.Next('}') && s.Done() {
		return p, nil
	}
	var whole map[string]json.RawMessage
	p = listPage{}
	if p.next, _, err = readPage(text, key, &whole); err == nil {
		p.items = whole[key]
	}
	return p, err
}

// eachPage calls use with the items of the first page and of those that more
// returns, as long as use wants more. While one is used the next one is asked for.
func eachPage(ctx context.Context, first listPage, more nextPage, use func(items []byte) (goOn bool, err error)) error {
	if goOn, err := use(first.items); err != nil || !goOn || first.next == "" {
		return err
	}
	type answer struct {
		listPage
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan answer)
	go func() {
		defer close(pages)
		for next := first.next; next != ""; {
			page, err := more(ctx, next)
			select {
			case pages <- answer{page, err}:
			case <-ctx.Done():
				return
			}
			next = page.next
		}
	}()
	defer func() {
		cancel()
		for range pages { // until the goroutine has ended
		}
	}()
	for page := range pages {
		if page.err != nil {
			return page.err
		}
		if goOn, err := use(page.items); err != nil || !goOn {
			return err
		}
	}
	return ctx.Err()
}

// jsonList writes a list as json.Indent would, whose items come by and by.
type jsonList struct {
	page *page
	key  string
	some bool // items were written
}

// add writes the items of an array and passes them on.
func (l *jsonList) add(items []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(items), "  ", "  "); err != nil {
		return fmt.Errorf("the master's answer is not JSON: %w", err)
	}
	lines, array := bytes.CutPrefix(b.Bytes(), []byte("[\n"))
	lines, closed := bytes.CutSuffix(lines, []byte("\n  ]"))
	if !array || !closed {
		return nil // it is empty
	}
	if l.some {
		l.page.printf(",\n")
	} else {
		l.page.printf("{\n  %q: [\n", l.key)
	}
	l.some = true
	l.page.text.Write(lines)
	return l.page.pass()
}

func (l *jsonList) end() error {
	if l.some {
		l.page.printf("\n  ]\n}\n")
	} else {
		l.page.printf("{\n  %q: []\n}\n", l.key)
	}
	return nil
}

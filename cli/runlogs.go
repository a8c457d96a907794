package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

// follow streams what a task writes, in two goroutines that attend waits for.
func (r *running) follow(id offers.TaskID, index int) {
	prefix := ""
	if r.job.count > 1 {
		prefix = fmt.Sprintf("[%d] ", index)
	}
	ref := thing{ID: string(id), Framework: string(r.fw.ID())}
	for stream, w := range map[string]io.Writer{"stdout": r.out.out, "stderr": r.out.err} {
		f := &follower{
			path:   "/v1/tasks/" + url.PathEscape(ref.ref()) + "/logs",
			stream: stream,
			client: r.client.another(),
			to:     w, mu: &r.out.mu, prefix: prefix,
			broken: func(err error) {
				r.cutOff.Do(func() {
					r.out.say("the output of %s can't be read at the moment, which is tried again for a while: %v", id, err)
				})
			},
		}
		r.following.Go(func() {
			if err := f.run(r.follows); err != nil && r.follows.Err() == nil {
				r.out.say("the %s of %s can't be read: %v", stream, id, err)
			}
		})
	}
}

// goodStretch is how long a stream must have gone on to count as a success
// though nothing came.
const goodStretch = 2 * time.Second

// follower copies one stream of one task, from where it broke off if it does.
type follower struct {
	path   string
	stream string
	client *client
	to     io.Writer
	mu     *sync.Mutex // of the console
	prefix string
	once   bool        // what there is; not what is still to come
	broken func(error) // called while nothing has come for waitNotice; nil: nobody asks
	offset int64
	line   []byte // the beginning of a line, with a prefix only
}

// run copies until nothing more will come.
func (f *follower) run(ctx context.Context) error {
	defer f.end()
	since := time.Now()
	return api.Insist(ctx, func(ctx context.Context) (all, some bool, err error) {
		all, some, err = f.stretch(ctx)
		switch {
		case some:
			since = time.Now()
		case err != nil && f.broken != nil && ctx.Err() == nil && time.Since(since) >= waitNotice:
			f.broken(err)
		}
		return all, some, err
	})
}

// stretch copies until the stream ends. All has come when it ends by itself,
// and when whoever reads our output has left.
func (f *follower) stretch(ctx context.Context) (all, some bool, err error) {
	query := url.Values{"stream": {f.stream}, "follow": {strconv.FormatBool(!f.once)}, "offset": {strconv.FormatInt(f.offset, 10)}}
	resp, done, err := f.client.Stream(ctx, f.path+"?"+query.Encode())
	if err != nil {
		return false, false, err
	}
	defer done()
	begin, buf := time.Now(), make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			some = true
			f.offset += int64(n)
			if werr := f.write(buf[:n]); werr != nil {
				return true, true, nil
			}
		}
		if err == io.EOF {
			return true, true, nil
		}
		if err != nil {
			return false, some || time.Since(begin) > goodStretch, api.Broke(err)
		}
	}
}

// write passes bytes on as they are, or with a prefix in whole lines.
func (f *follower) write(p []byte) error {
	if f.prefix == "" {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, err := f.to.Write(p)
		return err
	}
	f.line = append(f.line, p...)
	end := bytes.LastIndexByte(f.line, '\n') + 1
	if end == 0 && len(f.line) < maxLine {
		return nil
	}
	if end == 0 {
		f.line = append(f.line, '\n')
		end = len(f.line)
	}
	err := f.lines(f.line[:end])
	f.line = append(f.line[:0], f.line[end:]...)
	return err
}

// maxLine bounds the line that is waited for; a longer one is broken.
const maxLine = 64 << 10

func (f *follower) lines(text []byte) error {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		b.WriteString(f.prefix)
		b.Write(line)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.to.Write(b.Bytes())
	return err
}

// end writes a last line that had no end. Its error is nobody's: the stream
// is over.
func (f *follower) end() {
	if len(f.line) > 0 {
		_ = f.lines(append(f.line, '\n'))
		f.line = nil
	}
}

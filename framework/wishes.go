package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/session"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Demand states standing wishes for room; one of the same id is replaced, a
// count of 0 withdraws it. They are stated again to every new leader, what is
// left of them, until they are met or withdrawn. Either all are taken or none.
func (c *Client) Demand(ds ...offers.Demand) (err error) {
	c.do(func() { err = c.session.Demand(ds...) })
	return err
}

// Withdraw ends demands; unknown ones are skipped.
func (c *Client) Withdraw(ids ...offers.DemandID) {
	c.do(func() { c.session.Withdraw(ids...) })
}

// Left returns the units of a counted demand that are not yet accepted, 0
// when it is met or unknown, -1 for a standing demand without a count.
func (c *Client) Left(id offers.DemandID) (left int) {
	c.do(func() { left = c.session.Left(id) })
	return left
}

// Accept launches tasks in offers of one agent. What they don't use goes back
// at once. An error means that nothing was launched and nothing was sent
// (offer_gone, mixed_agents, bad_task, task_id_in_use, too_large). Otherwise
// every task gets an event: Accepted when it is durable, or Updated with
// rejected or dropped. That holds across failovers too.
func (c *Client) Accept(ids []offers.OfferID, tasks ...offers.Task) (err error) {
	c.do(func() { err = c.session.Accept(ids, tasks, nil) })
	return err
}

// Decline gives offers back and hides what they had from this framework for
// refuse (0: not at all). Offers that are gone are skipped.
func (c *Client) Decline(refuse time.Duration, ids ...offers.OfferID) {
	d := offers.Duration(refuse)
	c.do(func() { c.session.Decline(ids, &d) })
}

// Suppress stops new offers until Revive.
func (c *Client) Suppress() { c.do(c.session.Suppress) }

// Revive starts offers again and forgets what was refused.
func (c *Client) Revive() { c.do(c.session.Revive) }

// Kill ends a task; grace is from SIGTERM to SIGKILL, nil meaning the task's
// own. The wish outlives the connection, and the task's last update says when
// it has come true.
func (c *Client) Kill(id offers.TaskID, grace *time.Duration) {
	var d *offers.Duration
	if grace != nil {
		g := offers.Duration(*grace)
		d = &g
	}
	c.do(func() { c.session.Kill(id, d) })
}

// Reconcile asks for the states of tasks, of all when none are named: an
// Updated for each, then Reconciled. The client does it by itself for accepts
// whose answer was lost.
func (c *Client) Reconcile(ids ...offers.TaskID) {
	c.do(func() { c.session.Reconcile(ids...) })
}

// Message sends JSON data to a task's executor, best effort.
func (c *Client) Message(id offers.TaskID, data json.RawMessage) {
	c.do(func() { c.session.Message(id, data) })
}

// Put writes value, which must be JSON, under key and returns its new version.
// With a version it does so only if that is the key's present one (0: the key
// is missing); otherwise the error is version_conflict. ErrAnswerLost says
// that the connection broke before the answer.
func (c *Client) Put(ctx context.Context, key string, value json.RawMessage, version *uint64) (uint64, error) {
	a, err := c.call(ctx, wire.StateRequest{Op: "put", Key: key, Value: value, Version: version})
	return a.Version, err
}

// Get reads key; a missing key has version 0 and no value.
func (c *Client) Get(ctx context.Context, key string) (json.RawMessage, uint64, error) {
	a, err := c.call(ctx, wire.StateRequest{Op: "get", Key: key})
	return a.Value, a.Version, err
}

// Delete removes key, with a version only if that is the present one.
func (c *Client) Delete(ctx context.Context, key string, version *uint64) error {
	_, err := c.call(ctx, wire.StateRequest{Op: "delete", Key: key, Version: version})
	return err
}

// List returns the keys of the store that begin with prefix, in their order: all of
// them for "". It fails with too_large where they are more than one message holds.
func (c *Client) List(ctx context.Context, prefix string) ([]string, error) {
	a, err := c.call(ctx, wire.StateRequest{Op: "list", Key: prefix})
	return a.Keys, err
}

// Change is one write to the store.
type Change struct {
	Key     string
	Value   json.RawMessage // nil deletes the key
	Version *uint64         // nil: whatever it is
}

// Write makes changes in their order and returns the new versions of their
// keys. They are sent one behind the other without waiting: whatever breaks, a
// beginning of them is done and nothing behind it, unless one of them is
// refused, which does not stop the others. The errors of all come together.
func (c *Client) Write(ctx context.Context, changes ...Change) (versions []uint64, err error) {
	wanted := make([]wire.StateRequest, len(changes))
	for i, ch := range changes {
		wanted[i] = wire.StateRequest{Op: "put", Key: ch.Key, Value: ch.Value, Version: ch.Version}
		if ch.Value == nil {
			wanted[i].Op = "delete"
		}
	}
	calls := c.begin(wanted...)
	versions = make([]uint64, len(changes))
	errs := make([]error, len(changes))
	for i, p := range calls {
		var a wire.StateAnswer
		a, errs[i] = c.await(ctx, p)
		versions[i] = a.Version
	}
	return versions, errors.Join(errs...)
}

func (c *Client) call(ctx context.Context, m wire.StateRequest) (wire.StateAnswer, error) {
	return c.await(ctx, c.begin(m)[0])
}

// pendingCall is a request to the store on its way.
type pendingCall struct {
	op, key string
	number  uint64
	answer  chan session.Answer
	err     error // it was not sent
}

func (p *pendingCall) wrap(err error) error { return fmt.Errorf("%s %s: %w", p.op, p.key, err) }

// begin sends requests, all of them on one connection: what would follow on the
// next could be made though what went before it was lost.
func (c *Client) begin(wanted ...wire.StateRequest) []*pendingCall {
	calls := make([]*pendingCall, len(wanted))
	for i, m := range wanted {
		calls[i] = &pendingCall{op: m.Op, key: m.Key, answer: make(chan session.Answer, 1)}
		if len(m.Value) > 0 && !json.Valid(m.Value) {
			calls[i].err = offers.Errorf(offers.BadMessage, "value is not JSON")
		}
	}
	c.do(func() {
		for i, p := range calls {
			if p.err == nil {
				p.err = c.end
			}
			if p.err != nil {
				continue
			}
			if p.number, p.err = c.session.Call(&wanted[i]); p.err == nil {
				c.calls[p.number] = p.answer
			}
		}
	})
	return calls
}

func (c *Client) await(ctx context.Context, p *pendingCall) (wire.StateAnswer, error) {
	if p.err != nil {
		return wire.StateAnswer{}, p.wrap(p.err)
	}
	select {
	case a, ok := <-p.answer:
		if !ok {
			return wire.StateAnswer{}, p.wrap(c.ending())
		}
		if a.Err != nil {
			return wire.StateAnswer{}, p.wrap(a.Err)
		}
		return a.State, nil
	case <-ctx.Done():
		c.do(func() {
			c.session.Forget(p.number)
			delete(c.calls, p.number)
		})
		return wire.StateAnswer{}, p.wrap(context.Cause(ctx))
	}
}

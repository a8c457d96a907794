package replica

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// A peer call is one request and one response on a connection of its own,
// each a JSON object after its length as a big-endian uint32.
const (
	maxCall     = 64 << 10
	callTimeout = 2 * time.Second // to ask; an answer to join may take longer
	joinTimeout = handshakeLimit
)

// Member is one master as the others know it.
type Member struct {
	ID   string `json:"id"`   // name@random, new with every data folder
	Name string `json:"name"` // unique in the cluster
	Raft string `json:"raft"` // host:port for masters
	HTTP string `json:"http"` // host:port for clients; "" while unknown

	Joining bool `json:"joining,omitempty"` // it has no vote yet
}

// request is what one master asks another.
type request struct {
	Call    string `json:"call"` // info or join
	From    Member `json:"from"`
	Applied uint64 `json:"applied,omitempty"` // of join: how far From has the log
}

// response is the answer; exactly one of its fields is set. The answer to
// join is the leader's info.
type response struct {
	Info  *info         `json:"info,omitempty"`
	Error *offers.Error `json:"error,omitempty"`
}

// info is what a master says about itself.
type info struct {
	Member
	ClusterID string   `json:"cluster_id,omitempty"`
	HasState  bool     `json:"has_state"` // it belongs to a cluster
	Leader    Member   `json:"leader,omitzero"`
	CountsYou bool     `json:"counts_you"`     // the master that asks has a vote
	Sees      []Member `json:"sees,omitempty"` // new masters that wait for a cluster, itself among them
}

// call asks the master at address.
func (p *port) call(ctx context.Context, address string, q request, limit time.Duration) (info, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := p.dial(ctx, address, hello{Purpose: purposeCall})
	if err != nil {
		return info{}, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := writeFrame(conn, q); err != nil {
		return info{}, fmt.Errorf("%s at %s: %w", q.Call, address, err)
	}
	var r response
	if err := readFrame(conn, &r); err != nil {
		return info{}, fmt.Errorf("%s at %s: %w", q.Call, address, err)
	}
	switch {
	case r.Error != nil:
		return info{}, r.Error
	case r.Info == nil:
		return info{}, fmt.Errorf("%s at %s: the answer is empty", q.Call, address)
	}
	return *r.Info, nil
}

// serveCall answers the one request of conn, which has a deadline already.
func (p *port) serveCall(conn net.Conn) {
	var q request
	if err := readFrame(conn, &q); err != nil {
		p.logger.Debug("a peer call can't be read", "from", conn.RemoteAddr(), "error", err)
		return
	}
	if err := writeFrame(conn, p.answer(p.ctx, q)); err != nil {
		p.logger.Debug("a peer call can't be answered", "from", conn.RemoteAddr(), "error", err)
	}
}

func writeFrame(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > maxCall {
		return fmt.Errorf("a peer call of %d bytes; at most %d", len(body), maxCall)
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

func readFrame(r io.Reader, v any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxCall {
		return fmt.Errorf("a peer call of %d bytes; at most %d", n, maxCall)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

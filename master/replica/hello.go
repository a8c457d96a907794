package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A connection between masters begins with a hello of whoever dialled:
//
//	"RING" | version | purpose | len uint16, token | len uint8, id of the master meant
//
// and its answer: 0, or 1 | len uint16, one sentence. Numbers are big endian.
const (
	helloMagic   = "RING"
	helloVersion = 1
	maxToken     = 4096
	maxSentence  = 1024
)

// purpose is what a connection is for.
type purpose byte

const (
	purposeRaft purpose = 'r' // a stream of Raft's own
	purposeCall purpose = 'c' // one peer call
)

// hello is what a dialler says first. To is the id of the master it means to
// speak to; a Raft stream always names it.
type hello struct {
	Purpose purpose
	Token   string
	To      string
}

var errNotAMaster = errors.New("not a master's hello")

func (h hello) write(w io.Writer) error {
	if len(h.Token) > maxToken || len(h.To) > 255 {
		return fmt.Errorf("hello: the token or the id %.80q is too long", h.To)
	}
	out := append([]byte(helloMagic), helloVersion, byte(h.Purpose))
	out = binary.BigEndian.AppendUint16(out, uint16(len(h.Token)))
	out = append(out, h.Token...)
	out = append(out, byte(len(h.To)))
	_, err := w.Write(append(out, h.To...))
	return err
}

// readHello reads exactly the hello, byte for byte: what follows belongs to
// whom the connection is handed to. It allocates at most what a valid hello holds.
func readHello(r io.Reader) (hello, error) {
	head := make([]byte, len(helloMagic)+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return hello{}, err
	}
	version, what := head[len(helloMagic)], purpose(head[len(helloMagic)+1])
	size := binary.BigEndian.Uint16(head[len(helloMagic)+2:])
	switch {
	case string(head[:len(helloMagic)]) != helloMagic || size > maxToken:
		return hello{}, errNotAMaster
	case version != helloVersion:
		return hello{}, fmt.Errorf("version %d of the masters' protocol is unknown here; this master speaks %d", version, helloVersion)
	case what != purposeRaft && what != purposeCall:
		return hello{}, errNotAMaster
	}
	token := make([]byte, int(size)+1)
	if _, err := io.ReadFull(r, token); err != nil {
		return hello{}, err
	}
	to := make([]byte, token[size])
	if _, err := io.ReadFull(r, to); err != nil {
		return hello{}, err
	}
	return hello{Purpose: what, Token: string(token[:size]), To: string(to)}, nil
}

func writeWelcome(w io.Writer) error {
	_, err := w.Write([]byte{0})
	return err
}

func writeRefusal(w io.Writer, sentence string) error {
	sentence = sentence[:min(len(sentence), maxSentence)]
	out := binary.BigEndian.AppendUint16([]byte{1}, uint16(len(sentence)))
	_, err := w.Write(append(out, sentence...))
	return err
}

// readAnswer returns nil for a welcome and the sentence of a refusal as error.
func readAnswer(r io.Reader) error {
	var head [3]byte
	if _, err := io.ReadFull(r, head[:1]); errors.Is(err, io.EOF) {
		return errors.New("it hangs up without an answer; maybe it speaks TLS: give --ca, --cert and --key")
	} else if err != nil {
		return fmt.Errorf("no answer to the hello: %w", err)
	}
	if head[0] == 0 {
		return nil
	}
	if _, err := io.ReadFull(r, head[1:]); err != nil {
		return fmt.Errorf("no answer to the hello: %w", err)
	}
	size := binary.BigEndian.Uint16(head[1:])
	if head[0] != 1 || size > maxSentence {
		return errors.New("the answer to the hello is not a master's")
	}
	sentence := make([]byte, size)
	if _, err := io.ReadFull(r, sentence); err != nil {
		return fmt.Errorf("no answer to the hello: %w", err)
	}
	return fmt.Errorf("refused: %q", sentence)
}

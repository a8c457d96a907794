package master

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

// statusError is an error whose status does not follow from its code.
type statusError struct {
	status int
	cause  *offers.Error
}

func (e *statusError) Error() string { return e.cause.Message }
func (e *statusError) Unwrap() error { return e.cause }

// undecided makes an error that an order met on its way one that does not say
// that nothing was done.
func undecided(err error) error {
	if !errors.Is(err, &offers.Error{Code: offers.Unavailable}) {
		return err
	}
	return offers.Errorf(offers.Undecided, "whether that was done is not known: %s", err)
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	known := offers.Errorf(offers.Internal, "%s", err)
	var tooLarge *http.MaxBytesError
	var chosen *statusError
	switch {
	case errors.As(err, &tooLarge):
		known = offers.Errorf(offers.TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	default:
		_ = errors.As(err, &known)
	}
	status := door.StatusOf(known)
	if errors.As(err, &chosen) {
		status = chosen.status
	}
	switch {
	case known.Code == offers.Undecided: // asked again, it might be done twice
	case status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	body, err := json.Marshal(shown.Problem{Error: *known})
	if err != nil {
		http.Error(w, known.Message, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client has left if this fails
}

// write answers with v.
func write(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // the client has left if this fails
	return nil
}

// worthPacking is the size in bytes from which an answer is compressed for a
// client that takes that.
const worthPacking = 4 << 10

var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // that level is there
	}
	return w
}}

// send answers with what was packed, or with JSON as it is.
func send(w http.ResponseWriter, body []byte, packed bool) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Vary", "Accept-Encoding")
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	_, _ = w.Write(body) // the client has left if this fails
}

// pack encodes v, and compresses that where it is worth it and the client asks for
// gzip, as browsers do: a list of agents shrinks to a tenth.
func pack(r *http.Request, v any) (body []byte, packed bool, err error) {
	if body, err = json.Marshal(v); err != nil {
		return nil, false, fmt.Errorf("encode the answer: %w", err)
	}
	body = append(body, '\n')
	if len(body) < worthPacking || !takesGzip(r) {
		return body, false, nil
	}
	var small bytes.Buffer
	packer := packers.Get().(*gzip.Writer)
	defer packers.Put(packer)
	packer.Reset(&small)
	_, _ = packer.Write(body) // a buffer takes everything
	_ = packer.Close()
	return small.Bytes(), true, nil
}

func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";"); name == "gzip" {
			return strings.TrimSpace(weight) != "q=0"
		}
	}
	return false
}

// readBody reads one JSON object into v and refuses fields that v does not
// have, and keys that come twice. An empty body leaves v as it is.
func readBody(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if string(bytes.TrimSpace(body)) == "null" {
		return offers.Errorf(offers.BadMessage, "the body is not a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return offers.Errorf(offers.BadMessage, "%s", plain(err))
	}
	if _, err := dec.Token(); err != io.EOF {
		return offers.Errorf(offers.BadMessage, "the body holds more than one JSON object")
	}
	if err := offers.NoKeyTwice(body); err != nil {
		return offers.Errorf(offers.BadMessage, "%s", err)
	}
	return nil
}

// plain says in the words of an operator what the decoder says in Go's.
func plain(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	text := err.Error()
	field, unknown := strings.CutPrefix(text, "json: unknown field ")
	switch {
	case unknown:
		return "the field " + field + " is unknown"
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s is a %s, which has no place there", kind.Field, kind.Value)
	case errors.As(err, &kind), errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return "the body is not a JSON object"
	default:
		return text
	}
}

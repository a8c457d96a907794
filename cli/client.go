package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

const defaultMasters = "127.0.0.1:5050"

// clientFlags are those of every command that talks to a master.
func clientFlags(more ...cli.Flag) []cli.Flag {
	return append(more,
		&cli.StringFlag{Name: "masters", Usage: "`HOST:PORT,...` of the masters; the leader is found among them", Value: defaultMasters, EnvVars: []string{"RINGMASTER_MASTERS"}},
		&cli.StringFlag{Name: "token", Usage: "the cluster's `TOKEN`", EnvVars: []string{"RINGMASTER_TOKEN"}, DefaultText: "none"},
		&cli.StringFlag{Name: "ca", Usage: "PEM `FILE` with who signs the masters' certificates", EnvVars: []string{"RINGMASTER_CA"}},
		&cli.StringFlag{Name: "cert", Usage: "PEM `FILE` with a certificate of ours", EnvVars: []string{"RINGMASTER_CERT"}},
		&cli.StringFlag{Name: "key", Usage: "PEM `FILE` with the key of --cert", EnvVars: []string{"RINGMASTER_KEY"}},
	)
}

// client is a client of the masters with what command lines need beside it. It
// is not safe for concurrent use.
type client struct{ *api.Client }

func newClient(c *cli.Context) (*client, error) {
	text := c.String("masters")
	if text == "" {
		text = defaultMasters // an empty variable says nothing
	}
	masters, err := api.ParseMasters(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("--masters: %w", err)}
	}
	d, err := door.Open(door.Config{Token: c.String("token"), CertFile: c.String("cert"), KeyFile: c.String("key"), CAFile: c.String("ca")})
	if err != nil {
		return nil, err
	}
	cl := openClient(masters, d)
	cl.Late = func() {
		cl.Late = nil // once for all that the command asks
		_, _ = fmt.Fprintln(c.App.ErrWriter, "ringmaster: there is no answer yet; waiting")
	}
	return cl, nil
}

func openClient(masters []string, d *door.Door) *client { return &client{api.NewClient(masters, d)} }

// another returns a client of the same masters, for use beside this one.
func (cl *client) another() *client { return &client{cl.Another()} }

// hint says what to do about masters that can't be reached.
func hint(err error) string {
	switch {
	case errors.Is(err, api.ErrNobody):
		return ": start one with ringmaster dev, or give --masters"
	case errors.Is(err, api.ErrUntrusted):
		return ": check --ca"
	case errors.Is(err, api.ErrOtherName):
		return ": have --masters say what the certificate is for"
	case errors.Is(err, api.ErrTLS):
		return ": give --ca"
	}
	return ""
}

// list returns all pages of a list as one answer of the same shape.
func (cl *client) list(ctx context.Context, path, key string, query url.Values) ([]byte, error) {
	query = cloneValues(query)
	first, err := cl.Read(ctx, path+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	next, items, err := readPage(first, key, &whole)
	if err != nil || next == "" || query.Has("limit") {
		return first, err
	}
	for next != "" {
		query.Set("next", next)
		text, err := cl.Read(ctx, path+"?"+query.Encode())
		if err != nil {
			return nil, err
		}
		var page map[string]json.RawMessage
		var more []json.RawMessage
		if next, more, err = readPage(text, key, &page); err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	delete(whole, "next")
	if whole[key], err = json.Marshal(items); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

func cloneValues(v url.Values) url.Values {
	out := url.Values{}
	for k, list := range v {
		out[k] = append([]string(nil), list...)
	}
	return out
}

func readPage(text []byte, key string, into *map[string]json.RawMessage) (next string, items []json.RawMessage, err error) {
	if err = json.Unmarshal(text, into); err == nil {
		err = json.Unmarshal((*into)[key], &items)
	}
	if raw, ok := (*into)["next"]; ok && err == nil && string(raw) != "null" {
		err = json.Unmarshal(raw, &next)
	}
	if err != nil {
		return "", nil, fmt.Errorf("the master's answer is not a list of %s: %w", key, err)
	}
	return next, items, nil
}

package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Error is a mistake in a job file.
type Error struct {
	Line, Column int    // from 1; 0 where the file as a whole is meant
	Path         string // the field, such as steps[1].command; "" for the whole
	Message      string
}

func (e *Error) Error() string {
	text := e.Message
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	if e.Line == 0 {
		return text
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, text)
}

// maxFile bounds a job file.
const maxFile = 512 << 10

// Parse reads the one job of a file and validates it. dir is the folder of the
// file, from which an each finds its own. The error is an [*Error].
func Parse(text []byte, dir string) (*Job, error) {
	if len(text) > maxFile {
		return nil, &Error{Message: fmt.Sprintf("the file has %d bytes; at most %d", len(text), maxFile)}
	}
	root, err := document(text)
	if err != nil {
		return nil, err
	}
	d := &decoder{places: map[string]ast.Node{"": root}}
	j := &Job{}
	if err := d.job(root, j); err != nil {
		return nil, err
	}
	err = j.resolve(os.DirFS(dir), dir)
	if err == nil {
		err = j.Validate()
	}
	var at *Error
	if errors.As(err, &at) {
		d.locate(at)
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// document returns the one document of text.
func document(text []byte) (ast.Node, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			p := at.GetToken().Position
			return nil, &Error{Line: p.Line, Column: p.Column, Message: at.GetMessage()}
		}
		return nil, &Error{Message: "it is not YAML"}
	}
	var root ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			return nil, mistake(doc.Body, "", "there is a second document; a file is one job")
		}
		root = doc.Body
	}
	if root == nil {
		return nil, &Error{Message: "the file is empty; a job has at least a name and a command"}
	}
	return root, nil
}

func mistake(n ast.Node, path, format string, args ...any) *Error {
	e := &Error{Path: path, Message: fmt.Sprintf(format, args...)}
	e.at(n)
	return e
}

func (e *Error) at(n ast.Node) {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		n = m.Values[0].Key // the token of a section is the colon of its first line
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		n = m.Key
	}
	if n != nil && n.GetToken() != nil {
		e.Line, e.Column = n.GetToken().Position.Line, n.GetToken().Position.Column
	}
}

// locate gives a mistake of which only the field is known its place: that of
// the field, or of what it would be in.
func (d *decoder) locate(e *Error) {
	for path := e.Path; ; {
		if n := d.places[path]; n != nil {
			e.at(n)
			return
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			e.at(d.places[""])
			return
		}
		path = path[:cut]
	}
}

// plain turns what stands below n into what a JSON decoder would return; with
// texts numbers and words such as true are what was written.
func plain(n ast.Node, path string, texts bool) (any, *Error) {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		out := map[string]any{}
		for _, e := range entries(n) {
			name, err := key(e, path)
			if err != nil {
				return nil, err
			}
			if _, twice := out[name]; twice {
				return nil, mistake(e.Key, join(path, name), "it is given twice")
			}
			if out[name], err = plain(e.Value, join(path, name), texts); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *ast.SequenceNode:
		out := []any{}
		for i, v := range n.Values {
			item, err := plain(v, fmt.Sprintf("%s[%d]", path, i), texts)
			if err != nil {
				return nil, err
			}
			out = append(out, item)
		}
		return out, nil
	}
	if !texts {
		switch n := n.(type) {
		case *ast.IntegerNode:
			return n.Value, nil
		case *ast.BoolNode:
			return n.Value, nil
		case *ast.FloatNode:
			return json.Number(strings.TrimSpace(n.GetToken().Value)), nil
		}
	}
	text, err := scalar(n, path)
	return text, err
}

// scalar returns a value as it was written, unquoted.
func scalar(n ast.Node, path string) (string, *Error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.NullNode:
		return "", mistake(n, path, "it has no value")
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode, *ast.MergeKeyNode:
		return "", mistake(n, path, "anchors, aliases and tags have no place in a job file")
	case nil:
		return "", mistake(n, path, "it has no value")
	}
	return "", mistake(n, path, "it is one value, not a list or a section")
}

func entries(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func section(n ast.Node) bool {
	return n != nil && (n.Type() == ast.MappingType || n.Type() == ast.MappingValueType)
}

func key(e *ast.MappingValueNode, path string) (string, *Error) {
	k, ok := e.Key.(ast.Node)
	if !ok {
		return "", mistake(e, path, "a key is one word")
	}
	return scalar(k, path)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/ringmaster-project/ringmaster/offers/spell"
)

// readFile lays a configuration file over s. It reads the tree and not
// structs, so that every complaint has its line and the file means exactly
// what the flags mean.
func readFile(s *settings, opts []option, text []byte) error {
	root, err := parseYAML(text)
	if err != nil || root == nil {
		return err
	}
	return readSection(s, opts, "", root)
}

// parseYAML returns the one document of text, nil when there is none.
func parseYAML(text []byte) (ast.Node, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			return nil, fmt.Errorf("line %d: %s", at.GetToken().Position.Line, at.GetMessage())
		}
		return nil, errors.New("it is not YAML")
	}
	var root ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			return nil, at(doc.Body, errors.New("there is a second document; a configuration is one"))
		}
		root = doc.Body
	}
	return root, nil
}

// at adds the line of a node to an error.
func at(n ast.Node, err error) error {
	if n == nil || n.GetToken() == nil {
		return err
	}
	return fmt.Errorf("line %d: %w", n.GetToken().Position.Line, err)
}

func readSection(s *settings, opts []option, prefix string, node ast.Node) error {
	entries, err := mappingOf(node)
	if err != nil {
		return at(node, fmt.Errorf("%s%w", label(prefix), err))
	}
	seen := map[string]bool{}
	for _, e := range entries {
		name := prefix + e.Key.String()
		if seen[name] {
			return at(e.Key, fmt.Errorf("%s is given twice", name))
		}
		seen[name] = true
		if err := readKey(s, opts, name, e); err != nil {
			return err
		}
	}
	return nil
}

func label(prefix string) string {
	if prefix == "" {
		return ""
	}
	return strings.TrimSuffix(prefix, ".") + ": "
}

func readKey(s *settings, opts []option, name string, e *ast.MappingValueNode) error {
	for i := range opts {
		o := &opts[i]
		switch {
		case o.name == name:
			if err := o.fromNode(s, e.Value); err != nil {
				var placed *placedError
				if errors.As(err, &placed) {
					return fmt.Errorf("line %d: %s: %w", placed.line, name, placed.cause)
				}
				return at(e.Key, fmt.Errorf("%s: %w", name, err))
			}
			return nil
		case strings.HasPrefix(o.name, name+"."):
			return readSection(s, opts, name+".", e.Value)
		}
	}
	var known []string
	for i := range opts {
		known = append(known, opts[i].name)
	}
	if section := name[:strings.LastIndex(name, ".")+1]; section != "" {
		if own := strings.TrimPrefix(name, section); slices.Contains(known, own) {
			return at(e.Key, fmt.Errorf("unknown key %s; %s belongs to no section", name, own))
		}
		known = slices.DeleteFunc(known, func(other string) bool { return !strings.HasPrefix(other, section) })
		return at(e.Key, fmt.Errorf("unknown key %s; there are %s", name, strings.Join(known, ", ")))
	}
	if meant := spell.Nearest(name, known); meant != "" {
		return at(e.Key, fmt.Errorf("unknown key %s; did you mean %s?", name, meant))
	}
	return at(e.Key, fmt.Errorf("unknown key %s", name))
}

// placedError is an error at a line inside of a value.
type placedError struct {
	line  int
	cause error
}

func (p *placedError) Error() string { return p.cause.Error() }

func placed(n ast.Node, err error) error {
	if err == nil || n == nil || n.GetToken() == nil {
		return err
	}
	return &placedError{n.GetToken().Position.Line, err}
}

// fromNode sets the option from the value of its key.
func (o *option) fromNode(s *settings, n ast.Node) error {
	switch {
	case o.rings != nil:
		return o.rings(s, n)
	case o.list != nil && n.Type() == ast.SequenceType:
		list, err := scalars(n.(*ast.SequenceNode))
		if err != nil {
			return err
		}
		return o.list(s, list)
	case o.pairs != nil && (n.Type() == ast.MappingType || n.Type() == ast.MappingValueType):
		m, err := pairsIn(n)
		if err != nil {
			return err
		}
		return o.pairs(s, m)
	}
	text, err := scalar(n)
	if err != nil {
		return err
	}
	if o.boolean != nil && n.Type() != ast.BoolType {
		return fmt.Errorf("%q is not true or false", text)
	}
	return o.fromText(s, text)
}

// scalar returns a value as it was written, unquoted.
func scalar(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.NullNode:
		return "", errors.New("it has no value")
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode, *ast.MergeKeyNode:
		return "", errors.New("anchors, aliases and tags have no place in a configuration")
	}
	return "", errors.New("it is one value, not a list or a section")
}

func scalars(n *ast.SequenceNode) ([]string, error) {
	var out []string
	for _, v := range n.Values {
		text, err := scalar(v)
		if err != nil {
			return nil, placed(v, err)
		}
		out = append(out, text)
	}
	return out, nil
}

func pairsIn(n ast.Node) (map[string]string, error) {
	entries, err := mappingOf(n)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, e := range entries {
		key, err := scalar(e.Key)
		if err != nil {
			return nil, placed(e.Key, err)
		}
		if out[key], err = scalar(e.Value); err != nil {
			return nil, placed(e.Key, fmt.Errorf("%s: %w", key, err))
		}
	}
	return out, nil
}

func mappingOf(n ast.Node) ([]*ast.MappingValueNode, error) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	}
	return nil, errors.New("it is a section of KEY: VALUE lines")
}

package offers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// Constraint is a condition on an agent's attributes. The attributes host,
// name and id are the agent's own where it declares none of that name.
//
//	rack==r1   rack!=r1   zone in a,b   host~web.*   cores>=16
//
// A regular expression must match the whole value and runs in linear time. An
// agent without the attribute meets only !=. The zero value is invalid.
//
// Or it is a limit on where the units of one demand are together:
//
//	distinct agent   distinct rack   at most 2 per agent   at most 10 per zone
//
// distinct is at most 1; agent is the agent itself. What counts are the units
// that are offered, and the tasks that were launched out of offers for that
// demand of that framework and have not ended. An agent without the attribute
// meets no limit by it.
type Constraint struct {
	text   string
	attr   string
	op     string
	values []string
	number float64
	expr   *regexp.Regexp
	most   int // units together; 0: it is no limit
}

// MaxTogether bounds the units of a limit.
const MaxTogether = MaxCount

var constraintOps = []string{"==", "!=", ">=", "<=", "~", ">", "<"}

// ParseConstraint reads one constraint.
func ParseConstraint(text string) (Constraint, error) {
	c := Constraint{text: text}
	if len(text) > 1024 || !Printable(text) {
		return c, fmt.Errorf("constraint %q is longer than 1024 bytes or not printable", clip(text))
	}
	if attr, list, found := strings.Cut(text, " in "); found && !strings.ContainsAny(attr, "=!<>~") {
		c.attr, c.op = strings.TrimSpace(attr), "in"
		for v := range strings.SplitSeq(list, ",") {
			c.values = append(c.values, strings.TrimSpace(v))
		}
		return c, c.named()
	}
	at := strings.IndexAny(text, "=!<>~")
	if at < 0 && (strings.HasPrefix(text, "distinct ") || strings.HasPrefix(text, "at most ")) {
		return c.limit()
	}
	if at < 0 {
		return c, fmt.Errorf("constraint %q has none of == != in ~ < <= > >= and begins with neither distinct nor at most", clip(text))
	}
	for _, op := range constraintOps {
		if strings.HasPrefix(text[at:], op) {
			c.op = op
			break
		}
	}
	if c.op == "" {
		return c, fmt.Errorf("constraint %q has none of == != in ~ < <= > >= and begins with neither distinct nor at most", clip(text))
	}
	c.attr = strings.TrimSpace(text[:at])
	value := strings.TrimSpace(text[at+len(c.op):])
	c.values = []string{value}
	var err error
	switch c.op {
	case "~":
		if c.expr, err = compile(value); err != nil {
			return c, fmt.Errorf("constraint %q: %w", clip(text), err)
		}
	case "<", "<=", ">", ">=":
		if c.number, err = strconv.ParseFloat(value, 64); err != nil || math.IsNaN(c.number) {
			return c, fmt.Errorf("constraint %q compares with %q, which is no number", clip(text), clip(value))
		}
	}
	return c, c.named()
}

// maxExpr bounds a regular expression, in steps of its program: what has few
// bytes, such as (a{9}){99}, may have many, and every agent is compared with it.
const maxExpr = 1000

// compile reads a regular expression of the whole value.
func compile(text string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		var at *syntax.Error
		if errors.As(err, &at) {
			return nil, fmt.Errorf("not a regular expression: %s", at.Code)
		}
		return nil, fmt.Errorf("not a regular expression: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("not a regular expression: %w", err)
	}
	if n := len(program.Inst); n > maxExpr {
		return nil, fmt.Errorf("a regular expression of %d steps with its repetitions; at most %d", n, maxExpr)
	}
	return regexp.Compile(`^(?:` + text + `)$`)
}

// limit reads the rest of "distinct X" and "at most N per X".
func (c Constraint) limit() (Constraint, error) {
	words := strings.Fields(c.text)
	switch {
	case words[0] == "distinct" && len(words) == 2:
		c.attr, c.most = words[1], 1
		return c, nil
	case words[0] == "at" && len(words) == 5 && words[3] == "per":
		n, err := strconv.Atoi(words[2])
		if err == nil && n >= 1 && n <= MaxTogether {
			c.attr, c.most = words[4], n
			return c, nil
		}
	}
	return c, fmt.Errorf("constraint %q is no limit: it is \"distinct agent\" or \"at most N per rack\" with one attribute, N from 1 to %d", clip(c.text), MaxTogether)
}

// Limit returns how many units of a demand may be together, see
// [Constraint.Together]; 0 for a condition.
func (c Constraint) Limit() int { return c.most }

// Together returns what a limit counts an agent's units under; false where the
// agent has no such attribute.
func (c Constraint) Together(a *Agent) (string, bool) {
	if c.attr == "agent" {
		return string(a.ID), true
	}
	return a.Attribute(c.attr)
}

// AnyOf returns the constraint that an attribute has one of some values.
func AnyOf(attribute string, values []string) Constraint {
	return Constraint{text: attribute + " in " + strings.Join(values, ","), attr: attribute, op: "in", values: values}
}

func (c Constraint) named() error {
	if c.attr == "" {
		return fmt.Errorf("constraint %q names no attribute", clip(c.text))
	}
	return nil
}

// String returns the constraint as it was written.
func (c Constraint) String() string { return c.text }

// Met reports whether the agent meets the constraint; of a limit, whether it has
// the attribute.
func (c Constraint) Met(a *Agent) bool {
	if c.most > 0 {
		_, has := c.Together(a)
		return has
	}
	value, has := a.Attribute(c.attr)
	if !has {
		return c.op == "!="
	}
	switch c.op {
	case "==":
		return value == c.values[0]
	case "!=":
		return value != c.values[0]
	case "in":
		return slices.Contains(c.values, value)
	case "~":
		return c.expr.MatchString(value)
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return false
	}
	switch c.op {
	case "<":
		return n < c.number
	case "<=":
		return n <= c.number
	case ">":
		return n > c.number
	default:
		return n >= c.number
	}
}

// Attribute returns the name of the attribute that it is about.
func (c Constraint) Attribute() string { return c.attr }

// MarshalJSON writes the constraint as it was written.
func (c Constraint) MarshalJSON() ([]byte, error) { return json.Marshal(c.text) }

// UnmarshalJSON reads one constraint.
func (c *Constraint) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("a constraint is a string such as \"rack==r1\"")
	}
	parsed, err := ParseConstraint(text)
	if err == nil {
		*c = parsed
	}
	return err
}

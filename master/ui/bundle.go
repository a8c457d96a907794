package ui

import (
	"fmt"
	"regexp"
	"strings"
)

// The page is written in modules and sent as one of them: a browser asks for
// six files at a time over HTTP/1.1, each by way of several processes, which for
// all the modules takes as long as the rest of the first view.

var (
	imports = regexp.MustCompile(`(?m)^import \{ (\w+(?:, \w+)*) \} from "\./(\w+)\.js";$`)
	exports = regexp.MustCompile(`(?m)^export ((?:async )?(?:const|function|class) (\w+))`)
	others  = regexp.MustCompile(`(?m)^(?:import|export)\b.*`)
)

// bundler writes modules behind those that they import.
type bundler struct {
	text func(module string) string
	met  map[string]bool // by module: whether it is written, or is about to be
	out  strings.Builder
}

// bundle returns a module and all that it imports as one: each is a function,
// called once, that returns what it exports. Names of modules have no .js.
func bundle(first string, text func(module string) string) (string, error) {
	b := bundler{text: text, met: map[string]bool{}}
	err := b.write(first)
	return b.out.String(), err
}

// write refuses the forms of import and export that the page does not use.
func (b *bundler) write(module string) error {
	if done, met := b.met[module]; met {
		if !done {
			return fmt.Errorf("%s imports what imports it", module)
		}
		return nil
	}
	b.met[module] = false
	text := b.text(module)
	for _, found := range imports.FindAllStringSubmatch(text, -1) {
		if err := b.write(found[2]); err != nil {
			return err
		}
	}
	var names []string
	for _, found := range exports.FindAllStringSubmatch(text, -1) {
		names = append(names, found[2])
	}
	text = imports.ReplaceAllString(text, "const { $1 } = in_$2;")
	text = exports.ReplaceAllString(text, "$1")
	if other := others.FindString(text); other != "" {
		return fmt.Errorf("%s has %q, which is not known here", module, other)
	}
	fmt.Fprintf(&b.out, "const in_%s = (() => {\n%sreturn { %s };\n})();\n", module, text, strings.Join(names, ", "))
	b.met[module] = true
	return nil
}

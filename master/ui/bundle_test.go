package ui

import (
	"strings"
	"testing"
)

func TestBundle(t *testing.T) {
	modules := map[string]string{
		"app":   "import { a } from \"./left.js\";\nimport { b, B } from \"./right.js\";\n\nnew B(a + b());\n",
		"left":  "// The left one.\n\nimport { base } from \"./base.js\";\n\nconst own = 1;\nexport const a = base + own;\n",
		"right": "import { base } from \"./base.js\";\n\nconst own = 2;\nexport async function b() {\n  return base + own;\n}\n\nexport class B {\n}\n",
		"base":  "export const base = 40; // export is said here too\n",
	}
	got, err := bundle("app", func(module string) string { return modules[module] })
	const want = `const in_base = (() => {
const base = 40; // export is said here too
return { base };
})();
const in_left = (() => {
// The left one.

const { base } = in_base;

const own = 1;
const a = base + own;
return { a };
})();
const in_right = (() => {
const { base } = in_base;

const own = 2;
async function b() {
  return base + own;
}

class B {
}
return { b, B };
})();
const in_app = (() => {
const { a } = in_left;
const { b, B } = in_right;

new B(a + b());
return {  };
})();
`
	if err != nil || got != want {
		t.Errorf("%v:\n%s", err, got)
	}
}

func TestBundleRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"import \"./other.js\";\n":                           `app has "import`,
		"import all from \"./other.js\";\n":                  `app has "import`,
		"import { a as b } from \"./other.js\";\n":           `app has "import`,
		"import {\n  a,\n} from \"./other.js\";\n":           `app has "import`,
		"export default function () {}\n":                    `app has "export`,
		"export { a };\n":                                    `app has "export`,
		"export let a = 1;\n":                                `app has "export`,
		"import { a } from \"./app.js\";\n":                  "app imports what imports it",
		"import { a } from \"./back.js\";\nexport class B{}": "app imports what imports it",
	} {
		modules := map[string]string{"app": text, "other": "export const a = 1;\n", "back": "import { B } from \"./app.js\";\n"}
		if _, err := bundle("app", func(module string) string { return modules[module] }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %s", text, err, want)
		}
	}
}

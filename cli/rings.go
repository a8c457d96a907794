package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

type ringsView struct {
	Name  string      `json:"name"`
	Lower json.Number `json:"lower"`
	Rings []struct {
		Index  int          `json:"index"`
		From   json.Number  `json:"from"`
		To     *json.Number `json:"to"`
		Agents []struct {
			ID   string      `json:"id"`
			Name string      `json:"name"`
			Free json.Number `json:"free"`
		} `json:"agents"`
	} `json:"rings"`
}

func ringsCommand() *cli.Command {
	return &cli.Command{
		Name: "rings", Category: lookGroup, Usage: "the rings: which agents have how much room",
		Description: examples("ringmaster rings", "ringmaster rings --resource cpus --watch"),
		Flags:       lookFlags(&cli.StringFlag{Name: "resource", Usage: "only those of `KIND`, such as cpus, mem, gpu or gpu.slice"}),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) {
				only := c.String("resource")
				s, err := seeList(ctx, cl, "/v1/rings", "resources", filters(c, "resource"), func(p *page, list []ringsView) {
					drawRings(p, list, only)
				})
				if err == nil && only != "" {
					s.raw, err = onlyKind(s.raw, only)
				}
				return s, err
			})
		},
	}
}

// onlyKind keeps one kind of the answer and refuses a kind that isn't there.
func onlyKind(raw []byte, only string) ([]byte, error) {
	var answer struct {
		Resources []json.RawMessage `json:"resources"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("the master's rings can't be read: %w", err)
	}
	var known []string
	for _, r := range answer.Resources {
		var kind ringsView
		if err := json.Unmarshal(r, &kind); err != nil {
			return nil, fmt.Errorf("the master's rings can't be read: %w", err)
		}
		if kind.Name == only {
			return json.Marshal(map[string][]json.RawMessage{"resources": {r}})
		}
		known = append(known, kind.Name)
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("there are no rings of %q: no agent is here", only)
	}
	return nil, fmt.Errorf("there are no rings of %q; there are %s", only, strings.Join(known, ", "))
}

// barWidth is the length of the bar of the fullest ring.
const barWidth = 20

func drawRings(p *page, list []ringsView, only string) {
	first := true
	for _, kind := range list {
		if only != "" && kind.Name != only {
			continue
		}
		if !first {
			p.printf("\n")
		}
		first = false
		total := 0
		for _, r := range kind.Rings {
			total += len(r.Agents)
		}
		p.printf("%s: %s in %d rings\n", kind.Name, plural(total, "agent"), len(kind.Rings))
		p.table(ringHeading, kind.rows(p.wide))
	}
}

var ringHeading = row{"RING", "FREE", "AGENTS", "", "WHO HAS HOW MUCH"}

// manyRings is from how many rings on those without agents share a line.
const manyRings = 16

// rows are those of the kind's rings, under [ringHeading], with every ring in a
// line of its own where all is set or they are few.
func (k *ringsView) rows(all bool) []row {
	most := 1
	for _, r := range k.Rings {
		most = max(most, len(r.Agents))
	}
	var rows []row
	for i := 0; i < len(k.Rings); i++ {
		r, index := k.Rings[i], fmt.Sprint(k.Rings[i].Index)
		if last := k.emptyUntil(i); last > i && len(k.Rings) >= manyRings && !all {
			r.To, index = k.Rings[last].To, fmt.Sprintf("%d-%d", r.Index, k.Rings[last].Index)
			i = last
		}
		var agents []string
		for _, a := range r.Agents {
			agents = append(agents, fmt.Sprintf("%s %s", a.Name, k.amount(a.Free)))
		}
		n := len(r.Agents)
		bar := strings.Repeat("█", (n*barWidth+most-1)/most)
		rows = append(rows, row{index, k.span(r.From, r.To), fmt.Sprint(n), blank(bar), blank(strings.Join(agents, ", "))})
	}
	return rows
}

// emptyUntil returns the last of the rings from i on that have no agents, and
// a number below i where ring i has some.
func (k *ringsView) emptyUntil(i int) int {
	for ; i < len(k.Rings) && len(k.Rings[i].Agents) == 0; i++ {
	}
	return i - 1
}

// blank keeps an empty cell empty, where others show a dash.
func blank(text string) string {
	if text == "" {
		return " "
	}
	return text
}

func (k *ringsView) span(from json.Number, to *json.Number) string {
	if to == nil {
		return k.amount(from) + " and more"
	}
	return k.amount(from) + " to " + k.amount(*to)
}

func (k *ringsView) amount(n json.Number) string { return kindAmount(k.Name, n) }

// kindAmount writes sizes for people; cores and numbers of devices are as they are.
func kindAmount(kind string, n json.Number) string {
	bytes, err := n.Int64()
	sized := kind == "mem" || kind == "disk" || strings.HasSuffix(kind, ".slice")
	switch {
	case err == nil && sized:
		return size(bytes)
	case err == nil && kind == "bandwidth":
		return bits(bytes)
	}
	return string(n)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

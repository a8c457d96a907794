package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
)

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
				s, err := seeList(ctx, cl, "/v1/rings", "resources", filters(c, "resource"), drawRings)
				if err != nil {
					return s, err
				}
				s.draw = drawAway(s.raw, s.draw)
				return s, nil
			})
		},
	}
}

// drawAway adds to what draw says how many agents are in no ring. A master that
// does not say has none.
func drawAway(raw []byte, draw func(*page) error) func(*page) error {
	return func(p *page) error {
		var answer struct {
			Away int `json:"away"`
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return fmt.Errorf("the master's rings can't be read: %w", err)
		}
		if err := draw(p); err != nil || answer.Away == 0 {
			return err
		}
		are := "are active and in no ring: they have"
		if answer.Away == 1 {
			are = "is active and in no ring: it has"
		}
		p.printf("\n%s %s no connection to the leader\n", plural(answer.Away, "agent"), are)
		return nil
	}
}

// barWidth is the length of the bar of the fullest ring.
const barWidth = 20

func drawRings(p *page, list []api.RingSet) {
	for i, kind := range list {
		if i > 0 {
			p.printf("\n")
		}
		total := 0
		for _, r := range kind.Rings {
			total += len(r.Agents)
		}
		p.printf("%s: %s in %d rings\n", kind.Name, plural(total, "agent"), len(kind.Rings))
		p.table(ringHeading, ringRows(&kind, p.wide))
	}
}

var ringHeading = row{"RING", "FREE", "AGENTS", "", "WHO HAS HOW MUCH"}

// manyRings is from how many rings on those without agents share a line.
const manyRings = 16

// ringRows are those of a kind's rings, under [ringHeading], with every ring in a
// line of its own where all is set or they are few.
func ringRows(k *api.RingSet, all bool) []row {
	most := 1
	for _, r := range k.Rings {
		most = max(most, len(r.Agents))
	}
	var rows []row
	for i := 0; i < len(k.Rings); i++ {
		r, index := k.Rings[i], fmt.Sprint(k.Rings[i].Index)
		if last := emptyUntil(k, i); last > i && len(k.Rings) >= manyRings && !all {
			r.To, index = k.Rings[last].To, fmt.Sprintf("%d-%d", r.Index, k.Rings[last].Index)
			i = last
		}
		var agents []string
		for _, a := range r.Agents {
			agents = append(agents, fmt.Sprintf("%s %s", a.Name, kindAmount(k.Name, a.Free)))
		}
		n := len(r.Agents)
		bar := strings.Repeat("█", (n*barWidth+most-1)/most)
		rows = append(rows, row{index, ringSpan(k.Name, r.From, r.To), fmt.Sprint(n), blank(bar), blank(strings.Join(agents, ", "))})
	}
	return rows
}

// emptyUntil returns the last of the rings from i on that have no agents, and
// a number below i where ring i has some.
func emptyUntil(k *api.RingSet, i int) int {
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

// ringSpan is what the agents of a ring have free.
func ringSpan(kind string, from json.Number, to *json.Number) string {
	if to == nil {
		return kindAmount(kind, from) + " and more"
	}
	return kindAmount(kind, from) + " to " + kindAmount(kind, *to)
}

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

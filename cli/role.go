package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

func roleCommand() *cli.Command {
	return &cli.Command{
		Name: "role", Category: operateGroup, Usage: "change roles",
		Description: examples("ringmaster role set eng/ml --weight 2 --quota 'cpus=100,mem=1TiB'"),
		Subcommands: []*cli.Command{roleSetCommand()},
	}
}

func roleSetCommand() *cli.Command {
	return &cli.Command{
		Name: "set", Usage: "set a role's weight, quota and placement", ArgsUsage: "NAME",
		Description: examples(
			"ringmaster role set eng/ml --weight 2",
			"ringmaster role set batch --quota 'cpus=100,gpu=96GiB' --guarantee 'mem=1GiB'",
			"ringmaster role set batch --quota ''      # no limit any more",
			"ringmaster role set batch --placement rings"),
		Flags: clientFlags(
			&cli.StringFlag{Name: "weight", Usage: "`WEIGHT` of the role's fair share among its siblings; 1 where nothing was said"},
			&cli.StringFlag{Name: "quota", Usage: "`AMOUNTS` that the role and its descendants never pass, such as cpus=100,mem=1TiB,gpu=96GiB; a device class in the memory of its devices"},
			&cli.StringFlag{Name: "placement", Usage: "`STRATEGY` that chooses agents for it and the roles below it: " + offers.PlacementNames() + "; '' leaves it to the role above or the master"},
			&cli.StringFlag{Name: "guarantee", Usage: "`AMOUNTS` that are held back for it"},
		),
		Action: setRole,
	}
}

// setRole changes what was given and leaves the rest as it is.
func setRole(c *cli.Context) error {
	if err := wantArgs(c, 1, 1); err != nil {
		return err
	}
	name := offers.Role(c.Args().First())
	if err := name.Validate(); err != nil {
		return usageError{err}
	}
	settings, err := roleSettings(c)
	if err != nil {
		return err
	}
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	if err := cl.fillRole(c.Context, string(name), settings); err != nil {
		return err
	}
	body, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	raw, err := cl.Send(c.Context, http.MethodPut, "/v1/roles/"+string(name), body)
	if err != nil {
		return err
	}
	var answer struct{ Warning string }
	if json.Unmarshal(raw, &answer) == nil && answer.Warning != "" {
		fmt.Fprintf(c.App.ErrWriter, "ringmaster: warning: %s\n", answer.Warning)
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s is set\n", name)
	return err
}

func roleSettings(c *cli.Context) (map[string]any, error) {
	settings := map[string]any{}
	if c.IsSet("weight") {
		weight, err := strconv.ParseFloat(c.String("weight"), 64)
		if err == nil {
			err = offers.RoleSettings{Weight: weight}.Validate()
		}
		if err != nil {
			return nil, usagef("--weight %s: it is a number above 0 and at most %d", c.String("weight"), int(offers.MaxWeight))
		}
		settings["weight"] = weight
	}
	if c.IsSet("placement") {
		p := offers.Placement(c.String("placement"))
		if err := p.Validate(); err != nil {
			return nil, usagef("--placement: %w", err)
		}
		settings["placement"] = p
	}
	quota := map[string]any{}
	for flag, key := range map[string]string{"quota": "limit", "guarantee": "guarantee"} {
		if !c.IsSet(flag) {
			continue
		}
		amounts, err := parseQuota(c.String(flag))
		if err != nil {
			return nil, usagef("--%s: %w", flag, err)
		}
		quota[key] = amounts
	}
	if len(quota) > 0 {
		settings["quota"] = quota
	}
	if len(settings) == 0 {
		return nil, usagef("role set: nothing is set; give --weight, --quota, --guarantee or --placement")
	}
	return settings, nil
}

// fillRole adds what the role has already and nobody changes now, because PUT
// replaces all of it.
func (cl *client) fillRole(ctx context.Context, name string, settings map[string]any) error {
	var have *api.Role
	for r, err := range api.All(ctx, cl.Client, "/v1/roles", url.Values{"role": {name}}, api.Roles.Page) {
		if err != nil {
			return err
		}
		if string(r.Name) == name {
			have = &r
		}
	}
	if have == nil {
		return nil
	}
	if _, given := settings["weight"]; !given && have.Weight > 0 {
		settings["weight"] = have.Weight
	}
	if _, given := settings["placement"]; !given && have.Placement != "" {
		settings["placement"] = have.Placement
	}
	quota, _ := settings["quota"].(map[string]any)
	if quota == nil {
		quota = map[string]any{}
	}
	for key, amounts := range map[string]map[string]json.Number{"limit": have.Quota.Limit, "guarantee": have.Quota.Guarantee} {
		if _, given := quota[key]; !given && len(amounts) > 0 {
			quota[key] = amounts
		}
	}
	settings["quota"] = quota
	return nil
}

// parseQuota reads "cpus=100,mem=1TiB,gpu=96GiB" into amounts by kind, as they
// were written.
func parseQuota(text string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		kind, amount, ok := strings.Cut(part, "=")
		if kind = strings.TrimSpace(kind); !ok || kind == "" {
			return nil, fmt.Errorf("%q is not KIND=AMOUNT", part)
		}
		if _, twice := out[kind]; twice {
			return nil, fmt.Errorf("%s is named twice", kind)
		}
		amount = strings.TrimSpace(amount)
		if err := wantKind(kind); err != nil {
			return nil, err
		}
		n, err := offers.ParseQuota(kind, amount)
		if err == nil && (kind == "mem" || kind == "disk") {
			err = offers.WantUnit(amount, n)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		out[kind] = amount
	}
	return out, nil
}

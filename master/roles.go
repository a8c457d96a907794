package master

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

func showRole(v match.RoleView) shown.Role {
	return shown.Role{
		Name: v.Role, Weight: v.Settings.Weight,
		Quota:     shown.Quota{Limit: showKinds(v.Settings.Quota.Limit), Guarantee: showKinds(v.Settings.Quota.Guarantee)},
		Placement: v.Settings.Placement,
		Share:     v.Share, Dominant: v.Dominant, Used: showKinds(v.Used), Frameworks: v.Frameworks,
	}
}

func showKinds(amounts map[string]int64) map[string]json.Number {
	out := make(map[string]json.Number, len(amounts))
	for kind, n := range amounts {
		out[kind] = showKind(kind, n)
	}
	return out
}

func (a *api) listRoles(r *http.Request, p *picture) (any, error) {
	l, err := newLister(r, "roles")
	if err != nil {
		return nil, err
	}
	roles := map[offers.Role]match.RoleView{}
	for name, settings := range p.State.Roles() {
		roles[name] = match.RoleView{Role: name, Settings: settings}
	}
	for _, v := range p.Match.Roles {
		roles[v.Role] = v
	}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		if given(r.URL.Query().Get("role"), string(name)) {
			continue
		}
		if !l.add(string(name), func() any { return showRole(roles[name]) }) {
			break
		}
	}
	return l.page(), nil
}

// readSettings reads what is to be said of a role; the error names the field.
func readSettings(o *shown.RoleSettings) (offers.RoleSettings, error) {
	s := offers.RoleSettings{Weight: 1, Placement: o.Placement}
	if o.Weight != nil {
		s.Weight = *o.Weight
	}
	var err error
	if s.Quota.Limit, err = quota("quota.limit", o.Quota.Limit); err != nil {
		return s, err
	}
	if s.Quota.Guarantee, err = quota("quota.guarantee", o.Quota.Guarantee); err != nil {
		return s, err
	}
	if err := s.Validate(); err != nil {
		return s, offers.Errorf(offers.BadMessage, "%s", err)
	}
	return s, nil
}

// quota reads amounts by fair-share kind: cpus in cores, sizes as bytes or
// with a unit, device classes as bytes.
func quota(field string, in map[string]json.RawMessage) (offers.QuotaAmounts, error) {
	var out offers.QuotaAmounts
	for _, kind := range slices.Sorted(maps.Keys(in)) {
		text := string(in[kind])
		if strings.HasPrefix(text, `"`) {
			if err := json.Unmarshal(in[kind], &text); err != nil {
				return nil, offers.Errorf(offers.BadResources, "%s.%s: %s", field, kind, plain(err))
			}
		}
		n, err := offers.ParseQuota(kind, text)
		if err != nil {
			return nil, offers.Errorf(offers.BadResources, "%s.%.60s: %s", field, kind, err)
		}
		if out == nil {
			out = offers.QuotaAmounts{}
		}
		out[kind] = n
	}
	return out, nil
}

// said reports whether settings say anything of a role that is not so anyway.
func said(s offers.RoleSettings) bool {
	return s.Weight != 1 || s.Placement != "" || len(s.Quota.Limit)+len(s.Quota.Guarantee) > 0
}

// putRole replaces what is said of a role.
func (a *api) putRole(w http.ResponseWriter, r *http.Request) error {
	name := offers.Role(r.PathValue("name"))
	if err := name.Validate(); err != nil {
		return offers.Errorf(offers.BadMessage, "%s", err)
	}
	var order *shown.RoleSettings
	if err := readBody(r, &order); err != nil {
		return err
	}
	if order == nil {
		return offers.Errorf(offers.BadMessage, "the body is missing: it replaces all that was said of %s, and {} does so with nothing", name)
	}
	settings, err := readSettings(order)
	if err != nil {
		return err
	}
	return a.act(w, r, func(p *picture) ([]state.Command, any, error) {
		set := state.Command{SetRole: &state.SetRole{Role: name}} // forgets it
		if said(settings) {
			set.SetRole.Settings = &settings
		}
		i := slices.IndexFunc(p.Match.Roles, func(v match.RoleView) bool { return v.Role == name })
		v := match.RoleView{Role: name}
		if i >= 0 {
			v = p.Match.Roles[i]
		}
		v.Settings = settings
		out := showRole(v)
		out.Warning = overGuaranteed(p.State, name, settings.Quota.Guarantee)
		return []state.Command{set}, out, nil
	})
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

// thing is what a command line may name: an id, a name where that is unique, or
// a unique beginning of an id.
type thing struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Framework string `json:"framework_id"` // tasks only
	State     string `json:"state"`        // not of frameworks
}

// gone reports whether it is an agent that is gone.
func (t thing) gone() bool { return t.Framework == "" && t.State == string(offers.AgentGone) }

// ref is how the masters' paths name the thing.
func (t thing) ref() string {
	if t.Framework != "" {
		return t.Framework + ":" + t.ID
	}
	return t.ID
}

// find returns the one thing of a list ("agents", "tasks", "frameworks") that
// text names. An exact id wins over beginnings and names. Of tasks there are
// many, so the masters are asked for the one first; they know no names of tasks.
func (cl *client) find(ctx context.Context, list, text string) (thing, error) {
	one := strings.TrimSuffix(list, "s")
	see, what := list, "id"
	if list == "jobs" {
		see, what = "job list", "name"
	}
	if text == "" {
		return thing{}, usagef("the %s's %s is empty; see ringmaster %s", one, what, see)
	}
	var refused *api.AnswerError
	if list == "tasks" {
		raw, err := cl.Read(ctx, "/v1/tasks/"+url.PathEscape(text))
		if err == nil {
			var t thing
			err = json.Unmarshal(raw, &t)
			return t, err
		}
		if !errors.As(err, &refused) || refused.Status/100 != 4 {
			return thing{}, err
		}
	}
	all, err := cl.things(ctx, list)
	if err != nil {
		return thing{}, err
	}
	found := matching(all, list, text)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if refused != nil && refused.Status == http.StatusConflict {
			return thing{}, refused // it names what there is
		}
		return thing{}, fmt.Errorf("there is no %s %.150q; see ringmaster %s", one, text, see)
	}
	var candidates []string
	for _, t := range found {
		if t.Name != "" && t.Name != t.ID && list != "tasks" {
			candidates = append(candidates, fmt.Sprintf("%s (%s)", t.ref(), t.Name))
			continue
		}
		candidates = append(candidates, t.ref())
	}
	if len(candidates) > 10 {
		candidates = append(candidates[:10], fmt.Sprintf("and %d more", len(found)-10))
	}
	return thing{}, fmt.Errorf("%q is more than one %s: give one of %s", text, one, strings.Join(candidates, ", "))
}

func (cl *client) things(ctx context.Context, list string) ([]thing, error) {
	raw, err := cl.list(ctx, "/v1/"+list, list, url.Values{})
	if err != nil {
		return nil, err
	}
	return listOf[thing](raw, list)
}

// matching tries the ways to name a thing from the strictest to the loosest.
func matching(all []thing, list, text string) []thing {
	framework, id := "", text
	if list == "tasks" {
		if f, t, cut := strings.Cut(text, ":"); cut {
			framework, id = f, t
		}
	}
	inside := func(t thing) bool { return strings.HasPrefix(t.Framework, framework) }
	begins := func(t thing) bool { return strings.HasPrefix(t.ID, id) && inside(t) }
	named := func(t thing) bool { return t.Name == id && inside(t) }
	ways := []func(thing) bool{
		func(t thing) bool { return t.ID == id && (framework == "" || t.Framework == framework) },
		func(t thing) bool { return t.ID == id && inside(t) },
		named, begins,
	}
	if list == "tasks" { // of which many have a name together, and ids are what their frameworks call them
		slices.Reverse(ways[2:])
	}
	for _, way := range ways {
		found := slices.DeleteFunc(slices.Clone(all), func(t thing) bool { return !way(t) })
		if len(found) > 0 {
			return atHand(found)
		}
	}
	return nil
}

// atHand leaves out agents that are gone where others are not: one that came
// back as a new one has its name still.
func atHand(found []thing) []thing {
	if slices.IndexFunc(found, func(t thing) bool { return !t.gone() }) < 0 {
		return found
	}
	return slices.DeleteFunc(found, thing.gone)
}

// taskPath returns the path of the task that text names.
func (cl *client) taskPath(ctx context.Context, text string) (string, error) {
	t, err := cl.find(ctx, "tasks", text)
	return "/v1/tasks/" + url.PathEscape(t.ref()), err
}

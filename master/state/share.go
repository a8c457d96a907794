package state

import (
	"maps"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
)

// share lets a new record of a task have the texts of its framework and agent,
// and what it has in common with the task that was entered before it: the tasks
// of a job come one after the other, and each entry is decoded into texts of
// its own. Only memory depends on it.
func (tx *tx) share(t *Task) {
	if f, ok := tx.frameworks.Get([]byte(t.Framework)); ok {
		t.Framework = f.ID
		adopt(&t.Role, f.Role)
		adopt(&t.User, f.User)
	}
	if a, ok := tx.agents.Get([]byte(t.Agent)); ok {
		t.Agent = a.ID
	}
	if like := tx.entered; like != nil {
		adopt(&t.Demand, like.Demand)
		adopt(&t.Role, like.Role)
		adopt(&t.User, like.User)
		adopt(&t.Policy, like.Policy)
		adopt(&t.Spec.Name, like.Spec.Name)
		if alike(t.Spec.Command, like.Spec.Command) {
			t.Spec.Command = like.Spec.Command
		}
		if maps.Equal(t.Spec.Labels, like.Spec.Labels) {
			t.Spec.Labels = like.Spec.Labels
		}
		if maps.Equal(t.Spec.Resources.Devices, like.Spec.Resources.Devices) {
			t.Spec.Resources.Devices = like.Spec.Resources.Devices
		}
	}
	tx.entered = t
}

// adopt takes an equal text in the place of one.
func adopt[T ~string](text *T, equal T) {
	if *text == equal {
		*text = equal
	}
}

func alike(a, b *offers.Command) bool {
	return a != nil && b != nil && a.Shell == b.Shell && a.User == b.User && a.Dir == b.Dir &&
		slices.Equal(a.Argv, b.Argv) && maps.Equal(a.Env, b.Env)
}

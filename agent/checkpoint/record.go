package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

// launchRecord holds the task as the wire writes it: that form is complete and
// stays readable for other versions.
type launchRecord struct {
	Task     []byte    `cbor:"1,keyasint"`
	Accepted time.Time `cbor:"2,keyasint"`
}

// metaRecord is rewritten with every change. It is the file's manifest too.
type metaRecord struct {
	tasks.Meta
	Name  string // of the agent
	Line  witness.Line
	Epoch uint64 // counts the changes
	Tasks int    // how many there are
}

func encode(v any) ([]byte, error) {
	mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode()
	if err != nil {
		return nil, err
	}
	return mode.Marshal(v)
}

func encodeLaunch(l tasks.Launch) ([]byte, error) {
	task, err := json.Marshal(l.LaunchTask)
	if err != nil {
		return nil, err
	}
	return encode(launchRecord{Task: task, Accepted: l.Accepted})
}

func decodeLaunch(data []byte) (tasks.Launch, error) {
	var r launchRecord
	if err := cbor.Unmarshal(data, &r); err != nil {
		return tasks.Launch{}, err
	}
	l := tasks.Launch{Accepted: r.Accepted}
	return l, json.Unmarshal(r.Task, &l.LaunchTask)
}

func keyOf(ref offers.TaskRef) []byte {
	return append(append([]byte(ref.Framework), 0), ref.Task...)
}

func refOf(key []byte) (offers.TaskRef, error) {
	framework, task, ok := bytes.Cut(key, []byte{0})
	ref := offers.TaskRef{Framework: offers.FrameworkID(framework), Task: offers.TaskID(task)}
	if !ok || offers.TaskID(framework).Validate() != nil || ref.Task.Validate() != nil {
		return offers.TaskRef{}, fmt.Errorf("the key %.60q names no task", key)
	}
	return ref, nil
}

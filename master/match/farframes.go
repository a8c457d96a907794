package match

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// What leader and follower send each other. Both are of one build, so there are
// no versions of it.
type (
	// farFrame brings a copy on: what changed up to a version of the agents.
	farFrame struct {
		_       struct{} `cbor:",toarray"`
		Restart bool     // forget all first
		Layouts map[string]rings.Layout
		Gone    []int32 // slots that were given up; before Agents
		Agents  []farAgent
		Seen    uint64
		Wants   []farWant
	}
	// farAgent is what a search can see of an agent.
	farAgent struct {
		_       struct{} `cbor:",toarray"`
		Slot    int32
		Version uint64
		Info    *offers.Agent // nil: as it was told before
		Used    offers.Amounts
		Ports   offers.Ports // that are taken
		Classes []farClass   // as in its inventory
	}
	// farClass is the use of its devices.
	farClass struct {
		_                  struct{} `cbor:",toarray"`
		Used, Shares, Away []int64
	}
	// farWant is a form that a list is wanted for.
	farWant struct {
		_      struct{} `cbor:",toarray"`
		Number uint64
		Demand []byte // JSON
		Column string // to look it up by
	}
	// farAnswer says how many frames were taken, and may be a list.
	farAnswer struct {
		_      struct{} `cbor:",toarray"`
		Taken  uint64
		Number uint64 // of the want; 0: there is none
		Seen   uint64
		All    bool
		Best   []byte // see appendBest
	}
)

var (
	farEncoding = farMode(cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode())
	farDecoding = farMode(cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid, MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 20}.DecMode())
)

func farMode[T any](mode T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("match: CBOR options: %v", err))
	}
	return mode
}

// add enters an agent and returns about how many bytes that is, in hundreds.
func (f *farFrame) add(a *agent, to *far) (weight int) {
	out := farAgent{Slot: int32(a.slot), Version: a.version, Used: a.room.Used(), Ports: a.room.TakenPorts()}
	weight = 1
	for i := range a.room.Classes() {
		c := &a.room.Classes()[i]
		out.Classes = append(out.Classes, farClass{Used: c.Used, Shares: c.Shares, Away: c.Away})
		weight += 1 + len(c.Devices)/8
	}
	if info := &a.info.Agent; to.known[a.slot] != info {
		out.Info, to.known[a.slot] = info, info
		weight += 2 + len(info.Attributes)
		for _, c := range info.Total.Classes {
			weight += 4 * len(c.Devices)
		}
	}
	f.Agents = append(f.Agents, out)
	return weight
}

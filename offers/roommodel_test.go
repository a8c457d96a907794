package offers_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// modelRoom counts the plain way: a list of what was taken, summed up anew
// for every question. What is taken may pass the total, or name devices that
// are not in it, when the agent came back smaller.
type modelRoom struct {
	total offers.Inventory
	taken []offers.Holding
	last  uint16 // of the ports that were taken last
}

// pass goes on from the ports of h.
func (m *modelRoom) pass(h offers.Holding) {
	if each := h.Ports.Each(); len(each) > 0 {
		m.last = each[len(each)-1]
	}
}

// sums of what is taken; devices by class and id, as bytes and thousandths.
func (m *modelRoom) sums() (a offers.Amounts, ports portMap, devices map[[2]string][2]int64) {
	ports, devices = portMap{}, map[[2]string][2]int64{}
	for _, h := range m.taken {
		for k := range a {
			a[k] += h.Amounts[k]
		}
		for _, n := range h.Ports.Each() {
			ports[n] = true
		}
		for class, grants := range h.Devices.Map() {
			for _, g := range grants {
				d := devices[[2]string{class, g.ID}]
				devices[[2]string{class, g.ID}] = [2]int64{d[0] + g.Memory, d[1] + g.Share}
			}
		}
	}
	return a, ports, devices
}

// fitting returns the devices of class that have room for ask, by index.
func (m *modelRoom) fitting(class string, ask offers.DeviceAsk) (out []int) {
	_, _, used := m.sums()
	for i, d := range m.total.Class(class) {
		u := used[[2]string{class, d.ID}]
		memory, share := ask.Memory, ask.Share
		switch {
		case ask.Memory == 0 && ask.Share == 0:
			memory, share = d.Capacity, offers.FullShare
			if u != [2]int64{} {
				continue
			}
		case ask.Memory == 0:
			memory = (d.Capacity*ask.Share + 999) / 1000
		}
		if u[0]+memory <= d.Capacity && u[1]+share <= offers.FullShare {
			out = append(out, i)
		}
	}
	return out
}

func (m *modelRoom) short(ask offers.Resources) string {
	used, ports, _ := m.sums()
	for k, n := range ask.Amounts {
		if n > 0 && used[k]+n > m.total.Amounts[k] {
			return offers.Scalar(k).String()
		}
	}
	has := modelOf(m.total.Ports...)
	for _, n := range ask.Ports.Each() {
		if !has[n] || ports[n] {
			return "ports"
		}
	}
	maps.DeleteFunc(has, func(n uint16, _ bool) bool { return ports[n] })
	if ask.AnyPorts > len(has) {
		return "ports"
	}
	for _, class := range slices.Sorted(maps.Keys(ask.Devices)) {
		if a := ask.Devices[class]; len(m.fitting(class, a)) < a.Count {
			if a.Memory == 0 && a.Share == 0 {
				return class
			}
			return class + ".slice"
		}
	}
	return ""
}

// bind is the rule said in words: least or most used bytes among those that
// fit, ties to the lowest index; in ascending order.
func (m *modelRoom) bind(class string, ask offers.DeviceAsk, policy offers.Policy) []int {
	_, _, used := m.sums()
	devices, fit := m.total.Class(class), m.fitting(class, ask)
	var out []int
	for range ask.Count {
		best := fit[0]
		for _, i := range fit {
			mine, its := used[[2]string{class, devices[i].ID}][0], used[[2]string{class, devices[best].ID}][0]
			if policy == offers.Spread && mine < its || policy != offers.Spread && mine > its {
				best = i
			}
		}
		out = append(out, best)
		fit = slices.DeleteFunc(fit, func(i int) bool { return i == best })
	}
	slices.Sort(out)
	return out
}

// check holds the room against the model. Where nothing was there before the
// agent shrank (strict), what is taken is within the total too.
func (m *modelRoom) check(t rapid.TB, r *offers.Room, strict bool) {
	t.Helper()
	used, ports, devices := m.sums()
	if r.Used() != used || r.Free() != m.total.Amounts.Minus(used) || strict && !used.Within(m.total.Amounts) {
		t.Fatalf("used %v, the model says %v of %v", r.Used(), used, m.total.Amounts)
	}
	free := portMap{}
	for _, n := range m.total.Ports.Each() {
		if !ports[n] {
			free[n] = true
		}
	}
	checkPorts(t, "free", r.FreePorts(), free)
	for _, c := range r.Classes() {
		var idle, largest int64
		for i, d := range c.Devices {
			got := [2]int64{c.Used[i], c.Shares[i]}
			if got != devices[[2]string{c.Name, d.ID}] || got[0] < 0 || got[1] < 0 {
				t.Fatalf("%s: used %v, the model says %v of %d", d.ID, got, devices[[2]string{c.Name, d.ID}], d.Capacity)
			}
			if strict && (got[0] > d.Capacity || got[1] > offers.FullShare) {
				t.Fatalf("%s: %v is given away of %d", d.ID, got, d.Capacity)
			}
			largest = max(largest, d.Capacity-got[0])
			if got == [2]int64{} {
				idle++
			}
		}
		if c.Idle() != idle || c.LargestSlice() != largest {
			t.Fatalf("%s: %d idle, largest slice %d; the model says %d and %d", c.Name, c.Idle(), c.LargestSlice(), idle, largest)
		}
		checkPacked(t, &c)
	}
}

// checkPacked holds the packed form against the plain one.
func checkPacked(t rapid.TB, c *offers.ClassRoom) {
	t.Helper()
	p, unit, err := c.Packed()
	if err != nil {
		t.Fatal(err)
	}
	per := 64 / p.Bits
	if len(p.Words) != (len(c.Devices)+per-1)/per {
		t.Fatalf("%d words of %d bits for %d devices", len(p.Words), p.Bits, len(c.Devices))
	}
	for i, d := range c.Devices {
		if got := int64(p.At(i)) * unit; got < c.Used[i] || got-c.Used[i] >= unit {
			t.Fatalf("%s: %d bytes used are packed as %d steps of %d", d.ID, c.Used[i], p.At(i), unit)
		}
		if d.Capacity%unit != 0 || d.Capacity/unit >= 1<<p.Bits {
			t.Fatalf("%s: the capacity %d does not fit in %d bits of %d", d.ID, d.Capacity, p.Bits, unit)
		}
	}
}

// checkPlan holds a holding that was planned for ask against the model.
func (m *modelRoom) checkPlan(t rapid.TB, ask offers.Resources, policy offers.Policy, h offers.Holding) {
	t.Helper()
	if h.Amounts != ask.Amounts || len(h.Devices) != len(ask.Devices) || ask.AnyPorts == 0 && !slices.Equal(h.Ports, ask.Ports) {
		t.Fatalf("%+v is planned as %+v", ask, h)
	}
	m.checkAnyPorts(t, ask.AnyPorts, h.Ports)
	for class, a := range ask.Devices {
		devices, want := m.total.Class(class), m.bind(class, a, policy)
		if len(h.Devices.Of(class)) != a.Count {
			t.Fatalf("%+v of %s is planned as %+v", a, class, h.Devices.Of(class))
		}
		var bytes int64
		for n, g := range h.Devices.Of(class) {
			if g.Index != want[n] || g.ID != devices[g.Index].ID {
				t.Fatalf("%s of %+v by %q: bound %+v, want the devices %v", class, a, policy, h.Devices.Of(class), want)
			}
			if a.Whole() && (g.Memory != devices[g.Index].Capacity || g.Share != offers.FullShare) {
				t.Fatalf("a whole device is bound as %+v", g)
			}
			bytes += g.Memory
		}
		if h.DeviceBytes(class) != bytes {
			t.Fatalf("%s: %d bytes held, the grants say %d", class, h.DeviceBytes(class), bytes)
		}
	}
}

// checkAnyPorts holds that so many free ports were chosen, going round from
// where the last were taken.
func (m *modelRoom) checkAnyPorts(t rapid.TB, n int, got offers.Ports) {
	t.Helper()
	if n == 0 {
		return
	}
	_, taken, _ := m.sums()
	has, want := modelOf(m.total.Ports...), portMap{}
	for port := int(m.last) + 1; len(want) < n; port++ {
		if p := uint16(port % 65536); has[p] && !taken[p] {
			want[p] = true
		}
	}
	checkPorts(t, "any", got, want)
}

// drawInventory is what an agent has at one time: devices come, vanish,
// change places and change size under the ids they have.
func drawInventory(t *rapid.T) offers.Inventory {
	v := offers.Inventory{Ports: drawPorts(t, "port")}
	for k, most := range []int64{16000, 64, 100, 10} {
		v.Amounts[k] = rapid.Int64Range(0, most).Draw(t, "total")
	}
	for _, name := range []string{"gpu", "npu"} {
		c := offers.DeviceClass{Name: name}
		sizes := rapid.SampledFrom([][]int64{{24}, {24, 48, 7}, {1 << 20, 3 << 20}, {7, 1 << 20}}).Draw(t, "sizes")
		for _, n := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(t, name)[:rapid.SampledFrom([]int{4, 0, 2, 6}).Draw(t, "many")] {
			capacity := rapid.SampledFrom(sizes).Draw(t, "capacity")
			c.Devices = append(c.Devices, offers.Device{ID: fmt.Sprint(name, n), Capacity: capacity})
		}
		if rapid.IntRange(0, 4).Draw(t, "without") > 0 {
			v.Classes = append(v.Classes, c)
		}
	}
	return v
}

func drawPorts(t *rapid.T, label string) offers.Ports {
	var ranges []offers.PortRange
	for _, first := range rapid.SliceOfN(rapid.Uint16Range(100, 120), 0, 3).Draw(t, label) {
		ranges = append(ranges, offers.PortRange{First: first, Last: first + rapid.Uint16Range(0, 5).Draw(t, "more")})
	}
	return offers.MakePorts(ranges...)
}

func drawAsk(t *rapid.T) offers.Resources {
	var ask offers.Resources
	// Few kinds at once, or hardly anything would ever fit.
	for k, most := range []int64{4000, 20, 30, 3} {
		if rapid.IntRange(0, 3).Draw(t, "kind") == 3 {
			ask.Amounts[k] = rapid.Int64Range(0, most).Draw(t, "ask")
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "ports") == 5 {
		ask.Ports = drawPorts(t, "ask port")
	} else if rapid.IntRange(0, 5).Draw(t, "any ports") == 5 {
		ask.AnyPorts = rapid.IntRange(1, 5).Draw(t, "how many ports")
	}
	for _, class := range [][]string{{}, {"gpu"}, {"npu"}, {"gpu", "npu"}, {"tpu"}}[rapid.IntRange(0, 4).Draw(t, "classes")] {
		a := offers.DeviceAsk{Count: rapid.IntRange(1, 3).Draw(t, "count")}
		switch rapid.IntRange(0, 2).Draw(t, "as") {
		case 1:
			a.Memory = rapid.SampledFrom([]int64{1, 5, 7, 12, 24, 1 << 19, 1<<20 + 1}).Draw(t, "memory")
			fallthrough
		case 2:
			a.Share = rapid.SampledFrom([]int64{0, 1, 125, 333, 500, 1000}).Draw(t, "share")
		}
		if ask.Devices == nil {
			ask.Devices = map[string]offers.DeviceAsk{}
		}
		ask.Devices[class] = a
	}
	return ask
}

func drawPolicy(t *rapid.T) offers.Policy {
	return rapid.SampledFrom([]offers.Policy{"", offers.Pack, offers.Spread}).Draw(t, "policy")
}

func always(p offers.Policy) func(string) offers.Policy {
	return func(string) offers.Policy { return p }
}

// plan asks room and model alike; ok says that h may be taken.
func (m *modelRoom) plan(t *rapid.T, room *offers.Room, ask offers.Resources) (h offers.Holding, ok bool) {
	t.Helper()
	policy := drawPolicy(t)
	h, short := room.Plan(ask, always(policy))
	if want := m.short(ask); short != want || room.Short(ask) != want {
		t.Fatalf("%+v is short of %q, the model says %q", ask, short, want)
	}
	if short == "" {
		m.checkPlan(t, ask, policy, h)
	}
	return h, short == ""
}

// take enters h in both; it must fit.
func (m *modelRoom) take(t rapid.TB, room *offers.Room, h offers.Holding) {
	t.Helper()
	if err := room.Take(h); err != nil {
		t.Fatalf("%+v is free and can't be taken: %v", h, err)
	}
	m.taken = append(m.taken, h)
	m.pass(h)
}

// give returns the i-th of what was taken.
func (m *modelRoom) give(room *offers.Room, i int) {
	room.Give(m.taken[i])
	m.taken = slices.Delete(m.taken, i, i+1)
}

// TestRoomAgainstModel covers one agent's room through claims, returns and
// restarts with another inventory, in which devices have vanished.
func TestRoomAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &modelRoom{total: drawInventory(t)}
		room, strict := offers.NewRoom(m.total), true
		actions := map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(t, "times") {
					if h, ok := m.plan(t, room, drawAsk(t)); ok {
						m.take(t, room, h)
					}
				}
			},
			"take all": func(t *rapid.T) {
				if m.take(t, room, room.Rest()); !room.Rest().Zero() {
					t.Fatalf("after everything was taken %+v is left", room.Rest())
				}
			},
			"give": func(t *rapid.T) {
				if len(m.taken) > 0 {
					m.give(room, rapid.IntRange(0, len(m.taken)-1).Draw(t, "which"))
				}
			},
			"take what may not be free": func(t *rapid.T) {
				if len(m.taken) == 0 {
					return
				}
				h, before := rapid.SampledFrom(m.taken).Draw(t, "again"), room.Rest()
				if m.free(h) {
					m.take(t, room, h)
				} else if err := room.Take(h); err == nil || !reflect.DeepEqual(room.Rest(), before) {
					t.Fatalf("%+v is not free, and is taken (%v)", h, err)
				}
			},
			"inside": func(t *rapid.T) {
				ask := drawAsk(t)
				if got, want := offers.Inside(m.total, room.Rest()).Short(ask), room.Short(ask); got != want {
					t.Fatalf("%+v is short of %q in an offer of everything and %q on the agent", ask, got, want)
				}
			},
			"clone": func(t *rapid.T) { other := *m; other.take(t, room.Clone(), room.Rest()) },
			"come back": func(t *rapid.T) {
				m.total, strict = drawInventory(t), false
				room, m.last = offers.NewRoom(m.total), 0
				for _, h := range m.taken {
					room.Claim(h)
					m.pass(h)
				}
			},
			"": func(t *rapid.T) { m.check(t, room, strict) },
		}
		for range 5 { // one is about 30 steps
			t.Repeat(actions)
		}
		for len(m.taken) > 0 {
			m.give(room, 0)
		}
		if fresh := offers.NewRoom(m.total); !reflect.DeepEqual(fresh.Rest(), room.Rest()) {
			t.Fatalf("after all came back %+v is free", room.Rest())
		}
	})
}

// free says whether exactly h is there and not taken.
func (m *modelRoom) free(h offers.Holding) bool {
	with := modelRoom{taken: append(slices.Clone(m.taken), h)}
	used, _, devices := with.sums()
	for k, n := range h.Amounts {
		if n > 0 && used[k] > m.total.Amounts[k] {
			return false
		}
	}
	_, ports, _ := m.sums()
	has := modelOf(m.total.Ports...)
	for _, n := range h.Ports.Each() {
		if ports[n] || !has[n] {
			return false
		}
	}
	for class, grants := range h.Devices.Map() {
		for _, g := range grants {
			now, u := m.total.Class(class), devices[[2]string{class, g.ID}]
			if g.Index >= len(now) || now[g.Index].ID != g.ID || u[0] > now[g.Index].Capacity || u[1] > offers.FullShare {
				return false
			}
		}
	}
	return true
}

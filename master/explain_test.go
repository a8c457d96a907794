package master

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// dial brings a peer of a real master.
func dial(t testing.TB, m *runningMaster, path, protocol string, from wire.Vocabulary) *peer {
	t.Helper()
	link, err := wire.Dial(t.Context(), "ws://"+m.Address()+path, protocol, nil, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { link.Close("done") })
	return &peer{t, link, from}
}

// fetch asks a master over HTTP, into v.
func fetch(t testing.TB, m *runningMaster, path string, v any) {
	t.Helper()
	resp, err := http.Get("http://" + m.Address() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %s %s: %v", path, resp.Status, text, err)
	}
}

// TestMasterExplains: over real connections what is explained of a wish is what
// is offered when it is stated, and what waits says why.
func TestMasterExplains(t *testing.T) {
	m := runMaster(t, masterConfig(t, "m1"))
	<-m.Ready()
	for i, cpus := range []int64{2000, 4000, 8000} {
		a := dial(t, m, wire.AgentPath, wire.AgentProtocol, wire.ToAgent)
		a.send(&wire.RegisterAgent{Agent: offers.Agent{
			Name: fmt.Sprint("a", i), Host: "h", Attributes: map[string]string{"rack": fmt.Sprint("r", i%2)},
			Total: offers.Inventory{Amounts: offers.Amounts{offers.CPUs: cpus}},
		}}, "")
		expect[*wire.AgentRegistered](a)
	}
	wish := `{"id":"d1","count":1,"resources":{"cpus":3},"constraints":["rack==r1"]}`
	var planned shown.Explanation
	fetch(t, m, "/v1/explain?role=eng&wish="+url.QueryEscape(wish), &planned)
	if len(planned.Places) != 1 || planned.Places[0].Agent.Name != "a1" || planned.Role != "eng" || planned.Prefers != "the closest fit" || planned.Kind != "cpus" {
		t.Errorf("planned %+v", planned)
	}
	text, err := json.Marshal(planned.Found)
	want := `"reasons":[{"code":"not_reached","agents":1},{"code":"too_small","what":"cpus","agents":1,"asked":3,"most":2}],"winner":{"agent":{"id":"` +
		string(planned.Places[0].Agent.ID) + `","name":"a1","host":"h"},"ring":2,"free":4}`
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("found %s, %v\nwant %s", text, err, want)
	}

	f := dial(t, m, wire.FrameworkPath, wire.FrameworkProtocol, wire.ToFramework)
	f.send(&wire.Register{Framework: wire.FrameworkInfo{Name: "batch", Role: "eng"}}, "")
	id := expect[*wire.Registered](f).FrameworkID
	f.demand(wish)
	made := expect[*wire.OffersMessage](f)
	if made.Offers[0].Agent.ID != planned.Places[0].Agent.ID {
		t.Errorf("offered %+v, planned %+v", made.Offers[0], planned.Places)
	}

	f.demand(`{"id":"d3","count":1,"resources":{"devices":{"npu":{"count":1}}}}`)
	f.demand(`{"id":"d2","count":3,"resources":{"cpus":8}}`)
	expect[*wire.OffersMessage](f)
	var list struct{ Demands []shown.Waiting }
	fetch(t, m, "/v1/explain?framework=batch", &list)
	if len(list.Demands) != 2 || *list.Demands[0].Count != 2 || fmt.Sprint(list.Demands[0].Stopped, list.Demands[1].Stopped) != "[cpus] [npu]" {
		t.Errorf("waiting %+v", list)
	}
	var why shown.Explanation
	fetch(t, m, "/v1/explain?framework="+string(id)+"&demand=d2&looked=1", &why)
	if why.Missing != 2 || why.Missed == nil || why.Found != nil || len(why.Missed.Reasons) != 2 || why.Missed.Reasons[0].Code != "too_small" || why.Missed.Reasons[0].Agents != 2 {
		t.Errorf("of d2: %+v %+v", why, why.Missed)
	}
	f.send(&wire.Suppress{}, "")
	f.demand(`{"id":"d4","count":1,"resources":{"cpus":0.5}}`)
	f.demand(`{"id":"d4","count":1,"resources":{"cpus":-1}}`)
	expect[*wire.ErrorMessage](f) // what came before it is done
	fetch(t, m, "/v1/explain?framework=batch&demand=d4", &why)
	if !why.Suppressed || len(why.Places) != 1 {
		t.Errorf("of d4, suppressed: %+v", why)
	}
	list.Demands = nil
	fetch(t, m, "/v1/explain?framework=batch", &list)
	if len(list.Demands) != 3 || fmt.Sprint(list.Demands[2].Demand, list.Demands[2].Stopped) != "d4[suppressed]" {
		t.Errorf("waiting, suppressed: %+v", list)
	}
	var status shown.Status
	fetch(t, m, "/v1/status", &status)
	if status.Waiting != 2 || status.Pending["cpus"] != 1 || status.Pending["npu"] != 1 {
		t.Errorf("%d wait, pending %v", status.Waiting, status.Pending)
	}
}

// TestMasterHoldsConstraints: every operator and limit, over real connections.
func TestMasterHoldsConstraints(t *testing.T) {
	m := runMaster(t, masterConfig(t, "m1"))
	<-m.Ready()
	for i, attributes := range []map[string]string{{"rack": "r1", "cores": "8"}, {"rack": "r1", "cores": "16"}, {"rack": "r2", "cores": "many"}, nil} {
		a := dial(t, m, wire.AgentPath, wire.AgentProtocol, wire.ToAgent)
		a.send(&wire.RegisterAgent{Agent: offers.Agent{
			Name: fmt.Sprint("a", i), Host: fmt.Sprint("web", i), Attributes: attributes, Total: offers.Inventory{Amounts: offers.Amounts{offers.CPUs: 10_000}},
		}}, "")
		expect[*wire.AgentRegistered](a)
	}
	f := dial(t, m, wire.FrameworkPath, wire.FrameworkProtocol, wire.ToFramework)
	f.send(&wire.Register{Framework: wire.FrameworkInfo{Name: "batch"}}, "")
	expect[*wire.Registered](f)
	for i, c := range []struct{ constraints, want string }{
		{`"name==a2"`, "a2"},
		{`"rack!=r1","name!=a2"`, "a3"},
		{`"rack in r2, r3"`, "a2"},
		{`"host~web[^012]"`, "a3"},
		{`"cores>8"`, "a1"},
		{`"cores<=8"`, "a0"},
		{`"distinct rack"`, "a0 a2"},
		{`"distinct agent","rack==r1"`, "a0 a1"},
		{`"at most 2 per rack","rack==r1"`, "a0 a0"},
	} {
		id := offers.DemandID(fmt.Sprint("d", i))
		f.demand(fmt.Sprintf(`{"id":%q,"count":3,"resources":{"cpus":0.1},"constraints":[%s]}`, id, c.constraints))
		var got []string
		for _, o := range expect[*wire.OffersMessage](f).Offers {
			for range o.Resources.Amounts[offers.CPUs] / 100 {
				got = append(got, o.Agent.Name)
			}
		}
		slices.Sort(got)
		want := c.want
		if !strings.Contains(want, " ") {
			want = strings.Join([]string{want, want, want}, " ")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: offered %v, want %s", c.constraints, got, want)
		}
		f.demand(fmt.Sprintf(`{"id":%q,"count":0}`, id))
		expect[*wire.Rescind](f)
	}
	f.demand(`{"id":"soft","count":1,"resources":{"cpus":1},"preferences":[{"condition":"rack==r2","weight":3},{"condition":"cores==16","weight":2}]}`)
	if o := expect[*wire.OffersMessage](f).Offers; len(o) != 1 || o[0].Agent.Name != "a2" {
		t.Errorf("rack r2 is preferred, offered is %+v", o)
	}
	f.demand(`{"id":"bad","count":1,"resources":{"cpus":1},"constraints":["at most 0 per rack"]}`)
	if e := expect[*wire.ErrorMessage](f); e.Code != offers.BadDemand || !strings.Contains(e.Message, "is no limit") {
		t.Errorf("told %+v", e)
	}
}

package replay_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/sim/replay"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
)

func TestReadBothSortsOfColumns(t *testing.T) {
	want := []replay.Node{{"n1", 64000, 262144, 2, "P100"}, {"n2", 8000, 1024, 0, ""}}
	for _, text := range []string{
		"node,cpu_milli,mem_mib,gpus,model\nn1,64000,262144,2,P100\nn2,8000,1024,0,\n",
		"sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\nn2,8000,1024,,\n",
		"\ufeffmodel, gpu ,extra,sn,memory_mib,cpu_milli\nP100,2,x,n1,262144,64000\n,0,y,n2,1024,8000\n",
	} {
		if got, err := replay.ReadNodes("nodes.csv", strings.NewReader(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q reads as %v, %v", text, got, err)
		}
	}
	tasks := []replay.Task{{"t1", 12000, 16384, 1, 460, []string{"A", "B"}, 2}, {"t2", 1000, 0, 0, 0, nil, 3}, {"t3", 0, 1, 8, 1000, nil, 4}}
	for _, text := range []string{
		"task,cpu_milli,mem_mib,num_gpu,gpu_milli,models\nt1,12000,16384,1,460,A|B\nt2,1000,0,0,0,\nt3,0,1,8,1000,\n",
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\nt1,12000,16384,1,460,A| B,LS\nt2,1000,0,0,0,,BE\nt3,0,1,8,1000,,BE\n",
	} {
		if got, _, err := replay.ReadTasks("tasks.csv", strings.NewReader(text), nil); err != nil || !reflect.DeepEqual(got, tasks) {
			t.Errorf("%q reads as %v, %v", text, got, err)
		}
	}
}

// TestWhatIsWrongIsPlaced: bad files are refused with file, line and column.
func TestWhatIsWrongIsPlaced(t *testing.T) {
	const nodes, tasks = "node,cpu_milli,mem_mib,gpus,model\n", "task,cpu_milli,mem_mib,num_gpu,gpu_milli\n"
	for text, want := range map[string]string{
		"":                                  "f.csv: the file is empty",
		"node,cpu_milli,mem_mib,model\n":    "f.csv:1:1: there is no column gpus or gpu; the heading is node,cpu_milli,mem_mib,model",
		nodes:                               "f.csv: there is no node in it",
		nodes + "n1,64000,262144,2,P\nn2,6": "f.csv:3:1: the row has 2 fields, and the heading 5",
		nodes + "n1,1,1,0,\nn1,1,1,0,":      `f.csv:3:1: node: there are two nodes "n1"`,
		"node,cpu_milli,mem_mib,gpus,gpu\n": "f.csv:1:29: the column gpus or gpu is there twice",
		nodes + "n1,64000,many,2,P":         `f.csv:2:10: mem_mib: "many" is not a whole number`,
		nodes + "n1,64000,1,-2,P":           "f.csv:2:12: gpus: -2 is not between 0 and 1024",
		nodes + "n1,64000,1,\"2,P":          `f.csv:2:16: extraneous or missing " in quoted-field`,
		tasks:                               "f.csv: there is no task in it",
		tasks + "t1,1,1,2,500":              "f.csv:2:10: gpu_milli: a part of a device can be asked of one device only, not of 2",
		tasks + "t1,1,1,1,0":                "f.csv:2:10: gpu_milli: it is 0, and 1 devices are asked",
		tasks + "t1,1,1,0,7":                "f.csv:2:8: num_gpu: it is 0, and 7 thousandths of a device are asked",
		tasks + "t1,1,1,1,1001":             "f.csv:2:10: gpu_milli: 1001 is not between 0 and 1000",
		tasks + "t1,0,0,0,0":                "f.csv:2:4: cpu_milli: the task asks for nothing at all",
		"node\x00":                          "f.csv:1:5: this is no text",
		tasks + "t1,1,\x00":                 "f.csv:2:6: this is no text",
		"\x1f\x8b,b\n":                      "f.csv:1:1: this is no text",
		nodes + strings.Repeat("n", 2<<20):  "f.csv:2:1048577: the line is longer than 1 MiB",
		strings.Repeat("n", 1<<20) + "\n":   "f.csv:1:1: there is no column node or sn; the heading is " + strings.Repeat("n", 200) + "...",
	} {
		var err error
		if strings.HasPrefix(text, "task") {
			_, _, err = replay.ReadTasks("f.csv", strings.NewReader(text), nil)
		} else {
			_, err = replay.ReadNodes("f.csv", strings.NewReader(text))
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"s42\n1\n":       "there is no column s43",
		"s42,s43\n0,2\n": "f.csv:2:3: s43: 2 is not between 0 and 1",
	} {
		if _, err := replay.ReadArrivals("f.csv", strings.NewReader(text), []int64{42, 43}, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string][]int64{"42": {42}, "42-44": {42, 43, 44}, "1, 7-8,3": {1, 7, 8, 3}, "": nil, "5-4": nil, "1,1": nil, "a": nil, "-1": nil, "0-5000": nil} {
		if got, err := replay.ParseSeeds(text); !slices.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestSmallReplay follows a workload that can be done by hand: one device on
// each of two nodes, and five tasks of which the fourth finds no room. The
// strategies that do not spare devices give the cpus beside the half one away,
// so the fifth finds none either.
func TestSmallReplay(t *testing.T) {
	w := replay.Workload{
		Nodes: []replay.Node{{"n1", 4000, 1024, 1, "A"}, {"n2", 4000, 1024, 1, "B"}},
		Tasks: []replay.Task{
			{"half", 1000, 1, 1, 500, nil, 0},
			{"whole", 1000, 1, 1, 1000, []string{"B"}, 0},
			{"cpus", 3000, 1, 0, 0, nil, 0},
		},
		Orders: []replay.Order{{Seed: 7, Jobs: jobs(0, 1, 2, 1, 0), Rank: []int{0, 1}}},
	}
	for _, placement := range offers.Placements() {
		results, err := replay.Run(t.Context(), w, []replay.Policy{replay.Policy(placement)}, match.Config{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		run := results[0].Runs[0]
		refused, want := 1, map[int]float64{25: 25, 75: 75, 125: 75, 150: 100}
		if placement != offers.Rings && placement != offers.Waste {
			refused, want[150] = 2, 75
		}
		if run.Placed != 5-refused || run.Refused != refused || run.FirstRefusal != 125 || !reflect.DeepEqual(run.Alloc, want) {
			t.Errorf("%s: %+v", placement, run)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	w := openb(t, "default", "42")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := replay.Run(ctx, w, []replay.Policy{"rings", "fgd"}, match.Config{}, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want the end of the context", err)
	}
}

// jobs lets tasks arrive second by second and stay.
func jobs(tasks ...int) []replay.Job {
	var out []replay.Job
	for i, task := range tasks {
		out = append(out, replay.Job{Task: task, Arrive: time.Duration(i+1) * time.Second})
	}
	return out
}

// TestEndlessFile: a file that never ends a line is not read on and on.
func TestEndlessFile(t *testing.T) {
	for char, want := range map[byte]string{0: "zero:1:1: this is no text", 'a': "zero:1:1048577: the line is longer than 1 MiB"} {
		r := &endless{char: char}
		if _, err := replay.ReadNodes("zero", r); err == nil || err.Error() != want || r.given > 2<<20 {
			t.Errorf("%q for ever: %v after %d bytes, want %s", char, err, r.given, want)
		}
	}
}

// endless gives one byte again and again, but not for longer than a test may take.
type endless struct {
	char  byte
	given int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.given > 16<<20 {
		return 0, io.ErrUnexpectedEOF
	}
	for i := range p {
		p[i] = e.char
	}
	e.given += len(p)
	return len(p), nil
}

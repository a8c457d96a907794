// Mixes writes task lists like the ones that the authors of openb made of its
// default list, which are published under the same names: MIX.csv each.
//
//	go run ./cli/sim/replay/testdata/mixes -nodes openb_node_list_gpu_node.csv -tasks openb_pod_list_default.csv -out /tmp/mixes
//
// They are imitations, drawn anew from the default list by what its authors say
// of theirs (Weng et al., "Beware of Fragmentation", USENIX ATC 2023, section
// 6): so many percent of the tasks without devices (cpu), of the tasks with devices
// a fraction of one (gpushare), several whole ones (multigpu; of the devices that
// are asked for), or one model of them (gpuspec).
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/cli/sim/replay"
)

// withoutDevices is how many tasks without devices the list cpu100 has for each
// one with devices.
const withoutDevices = 0.1117

func main() {
	log.SetFlags(0)
	nodesFile := flag.String("nodes", "", "the nodes of openb")
	tasksFile := flag.String("tasks", "", "its default list")
	seed := flag.Uint64("seed", 1, "of what is drawn")
	out := flag.String("out", ".", "the folder to write to")
	flag.Parse()
	nodes := read(*nodesFile, replay.ReadNodes)
	tasks := read(*tasksFile, func(name string, r io.Reader) ([]replay.Task, error) {
		tasks, _, err := replay.ReadTasks(name, r, nodes)
		return tasks, err
	})
	if err := os.MkdirAll(*out, 0o755); err != nil {
		log.Fatal(err)
	}
	m := sorted(nodes, tasks, *seed)
	for _, percent := range []int{50, 200, 250} {
		write(*out, fmt.Sprintf("cpu%03d", percent), slices.Concat(m.devices(), m.draw(m.none, len(m.devices())*percent/100, withoutDevices)))
	}
	for _, percent := range []int{40, 60, 80} {
		all := len(m.devices())
		parts := all * percent / 100
		write(*out, fmt.Sprint("gpushare", percent), slices.Concat(m.draw(m.parts, parts, 1), m.draw(slices.Concat(m.one, m.several), all-parts, 1), m.none))
	}
	for _, percent := range []int{20, 30, 40, 50} {
		write(*out, fmt.Sprint("multigpu", percent), slices.Concat(m.severalTo(percent), m.one, m.parts, m.none))
	}
	for _, percent := range []int{10, 20, 25, 33} {
		write(*out, fmt.Sprint("gpuspec", percent), m.bound(percent))
	}
}

func read[T any](name string, parse func(string, io.Reader) (T, error)) T {
	f, err := os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	out, err := parse(name, f)
	if err != nil {
		log.Fatal(err)
	}
	return out
}

// kinds are the tasks of a list by what they ask of devices.
type kinds struct {
	none, parts, one, several []replay.Task
	models                    []string // of every device there is
	rnd                       *rand.Rand
}

func sorted(nodes []replay.Node, tasks []replay.Task, seed uint64) *kinds {
	m := &kinds{rnd: rand.New(rand.NewPCG(seed, 1))}
	for _, n := range nodes {
		m.models = append(m.models, slices.Repeat([]string{n.Model}, n.GPUs)...)
	}
	for _, t := range tasks {
		to := &m.one
		switch {
		case t.GPUs == 0:
			to = &m.none
		case t.GPUs > 1:
			to = &m.several
		case t.Slice < replay.Whole:
			to = &m.parts
		}
		*to = append(*to, t)
	}
	return m
}

func (m *kinds) devices() []replay.Task { return slices.Concat(m.parts, m.one, m.several) }

// draw takes n times factor tasks, each as likely as any other.
func (m *kinds) draw(from []replay.Task, n int, factor float64) []replay.Task {
	out := make([]replay.Task, int(float64(n)*factor))
	for i := range out {
		out[i] = from[m.rnd.IntN(len(from))]
	}
	return out
}

// severalTo draws tasks with several devices until these ask for so many percent
// of what all ask for.
func (m *kinds) severalTo(percent int) (out []replay.Task) {
	var rest, asked int64
	for _, t := range slices.Concat(m.one, m.parts) {
		rest += t.GPU()
	}
	for asked*100 < (asked+rest)*int64(percent) {
		t := m.several[m.rnd.IntN(len(m.several))]
		out, asked = append(out, t), asked+t.GPU()
	}
	return out
}

// bound has so many percent of the tasks with devices want the model of some
// device.
func (m *kinds) bound(percent int) []replay.Task {
	all := m.devices()
	for i := range all {
		if m.rnd.IntN(100) < percent {
			all[i].Models = []string{m.models[m.rnd.IntN(len(m.models))]}
		}
	}
	return append(all, m.none...)
}

func write(folder, name string, tasks []replay.Task) {
	f, err := os.Create(filepath.Join(folder, name+".csv"))
	if err != nil {
		log.Fatal(err)
	}
	w := csv.NewWriter(f)
	w.Write([]string{"task", "cpu_milli", "mem_mib", "num_gpu", "gpu_milli", "models"})
	for i, t := range tasks {
		w.Write([]string{strconv.Itoa(i), fmt.Sprint(t.CPU), fmt.Sprint(t.Mem), strconv.Itoa(t.GPUs), fmt.Sprint(t.Slice), strings.Join(t.Models, "|")})
	}
	if w.Flush(); w.Error() != nil {
		log.Fatal(w.Error())
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}

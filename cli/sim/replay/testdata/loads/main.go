// Loads writes a cluster and its tasks, with cpus and memory only, in the shapes
// of a public trace: nodes.csv and tasks.csv, which ringmaster simulate reads.
//
//	go run ./cli/sim/replay/testdata/loads -like google -seed 1 -out /tmp/google
//
// google: machines in the four sizes of the trace of 2011 (Reiss et al.,
// "Heterogeneity and Dynamicity of Clouds at Scale", SoCC 2012, table 1, 1.0
// taken as 64 cores and 256 GiB), tasks with cpus and memory that are log-normal,
// mostly far below a core, some large, and only loosely correlated.
//
// azure: equal hosts of 64 cores and 512 GiB, and virtual machines in the sizes
// of Cortez et al., "Resource Central", SOSP 2017: most with one or two cores,
// up to 16, with 0.75 to 14 GiB per core.
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

func main() {
	like := flag.String("like", "google", "google or azure")
	seed := flag.Uint64("seed", 1, "of what is drawn")
	nodes := flag.Int("nodes", 400, "how many")
	tasks := flag.Int("tasks", 8000, "how many shapes to draw from")
	out := flag.String("out", ".", "the folder to write to")
	flag.Parse()
	draw := map[string]struct {
		node, task func(*rand.Rand) (cpuMilli, memMiB int)
	}{"google": {googleNode, googleTask}, "azure": {azureNode, azureTask}}[*like]
	if draw.node == nil {
		log.Fatalf("-like %s: it is google or azure", *like)
	}
	r := rand.New(rand.NewPCG(*seed, 1))
	if err := os.MkdirAll(*out, 0o755); err != nil {
		log.Fatal(err)
	}
	write(filepath.Join(*out, "nodes.csv"), []string{"node", "cpu_milli", "mem_mib", "gpus"}, *nodes, func() (int, int) { return draw.node(r) })
	write(filepath.Join(*out, "tasks.csv"), []string{"task", "cpu_milli", "mem_mib", "num_gpu", "gpu_milli"}, *tasks, func() (int, int) { return draw.task(r) })
}

func write(path string, heading []string, rows int, draw func() (int, int)) {
	f, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	w := csv.NewWriter(f)
	w.Write(heading)
	for i := range rows {
		cpu, mem := draw()
		row := []string{fmt.Sprint(heading[0], i), strconv.Itoa(cpu), strconv.Itoa(mem)}
		for len(row) < len(heading) {
			row = append(row, "0")
		}
		w.Write(row)
	}
	if w.Flush(); w.Error() != nil {
		log.Fatal(w.Error())
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}

// pick draws one of the choices by weight.
func pick[T any](r *rand.Rand, weights []float64, choices []T) T {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	at := r.Float64() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return choices[i]
		}
	}
	return choices[len(choices)-1]
}

func googleNode(r *rand.Rand) (int, int) {
	size := pick(r, []float64{6732, 3863, 1001, 795}, [][2]float64{{0.5, 0.5}, {0.5, 0.25}, {0.5, 0.75}, {1, 1}})
	return int(size[0] * 64000), int(size[1] * 256 * 1024)
}

func googleTask(r *rand.Rand) (int, int) {
	both, cpu, mem := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
	return bounded(1200*math.Exp(0.7*both+0.8*cpu), 60, 24000), bounded(4096*math.Exp(0.7*both+0.9*mem), 128, 60*1024)
}

func azureNode(*rand.Rand) (int, int) { return 64000, 512 * 1024 }

func azureTask(r *rand.Rand) (int, int) {
	cores := pick(r, []float64{45, 30, 15, 7, 3}, []int{1, 2, 4, 8, 16})
	gib := pick(r, []float64{20, 40, 15, 20, 5}, []float64{0.75, 1.75, 3.5, 7, 14})
	return cores * 1000, int(float64(cores) * gib * 1024)
}

func bounded(n, least, most float64) int { return int(min(max(n, least), most)) }

// Treecount is a batch framework: it walks a source tree on the cluster, one
// task for each folder at its top. Each task counts files and lines and takes
// a checksum with ordinary shell tools; the program reads what it printed
// through the masters and ends with a table.
//
//	treecount --tree "$(go env GOROOT)/src" --masters 127.0.0.1:5050
//
// It exits 0 only if every task finished. The agents must see the same tree,
// as they do on one machine.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the flags.
type settings struct {
	tree    string
	masters []string
	door    *door.Door
	role    offers.Role
	each    offers.Resources
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	s, err := parse(args, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(errs, "treecount:", err)
		return 2
	}
	finished, err := count(ctx, s, out)
	if err != nil {
		fmt.Fprintln(errs, "treecount:", err)
	}
	if err != nil || !finished {
		return 1
	}
	return 0
}

func parse(args []string, errs io.Writer) (settings, error) {
	flags := flag.NewFlagSet("treecount", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // a mistake is told once, by who is returned it
	goroot := ""
	if root := os.Getenv("GOROOT"); root != "" {
		goroot = filepath.Join(root, "src")
	}
	masters := os.Getenv("RINGMASTER_MASTERS")
	if masters == "" {
		masters = "127.0.0.1:5050"
	}
	tree := flags.String("tree", goroot, "the tree to count, such as \"$(go env GOROOT)/src\"")
	flags.StringVar(&masters, "masters", masters, "host:port of the masters, by commas (RINGMASTER_MASTERS)")
	token := flags.String("token", "", "the cluster's token (RINGMASTER_TOKEN)") // no default: help would show it
	ca := flags.String("ca", os.Getenv("RINGMASTER_CA"), "PEM file with who signs the masters' certificates; speaks TLS (RINGMASTER_CA)")
	role := flags.String("role", "demo", "the role to share as")
	cpus := flags.String("cpus", "0.2", "cpus of one task")
	mem := flags.String("mem", "64MiB", "memory of one task")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(errs)
			flags.Usage()
		}
		return settings{}, err
	}
	s := settings{masters: strings.Split(masters, ","), role: offers.Role(*role)}
	if *tree == "" {
		return s, fmt.Errorf("--tree is empty: name the tree to count")
	}
	var err error
	if s.tree, err = filepath.Abs(*tree); err != nil {
		return s, fmt.Errorf("--tree: %w", err)
	}
	if s.each.Amounts[offers.CPUs], err = offers.ParseScalar(offers.CPUs, *cpus); err != nil {
		return s, fmt.Errorf("--cpus: %w", err)
	}
	if s.each.Amounts[offers.Mem], err = offers.ParseSize(*mem); err != nil {
		return s, fmt.Errorf("--mem: %w", err)
	}
	s.door, err = door.Open(door.Config{Token: cmp.Or(*token, os.Getenv("RINGMASTER_TOKEN")), CAFile: *ca})
	return s, err
}

// folders returns the folders at the top of tree, by name.
func folders(tree string) ([]string, error) {
	entries, err := os.ReadDir(tree)
	if err != nil {
		return nil, fmt.Errorf("--tree: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("--tree: %s has no folders", tree)
	}
	return names, nil
}

// script prints "files lines checksum" of the folder in $TREE: of the contents
// in the order of their names, so that it is the same everywhere.
const script = `set -e
cd "$TREE"
files=$(find . -type f | wc -l)
lines=$(find . -type f -print0 | xargs -r0 cat | wc -l)
sum=$(find . -type f -print0 | sort -z | xargs -r0 cat | cksum | cut -d ' ' -f 1)
echo $files $lines $sum`

func tasks(s settings, names []string) []offers.Task {
	out := make([]offers.Task, len(names))
	for i, name := range names {
		out[i] = offers.Task{
			ID: offers.TaskID(fmt.Sprintf("count-%d", i)), Name: name, Resources: s.each,
			Command: &offers.Command{Shell: script, Env: map[string]string{
				"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin", "TREE": filepath.Join(s.tree, name),
			}},
		}
	}
	return out
}

// count runs the batch and shows it; finished tells whether every task did.
func count(ctx context.Context, s settings, out io.Writer) (finished bool, err error) {
	names, err := folders(s.tree)
	if err != nil {
		return false, err
	}
	minute := offers.Duration(time.Minute)
	client, err := framework.Connect(ctx, framework.Config{
		Masters: s.masters, Door: s.door,
		Info: wire.FrameworkInfo{Name: "treecount", Role: s.role, FailoverTimeout: &minute},
	})
	if err != nil {
		return false, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if gone := client.Teardown(end); err == nil {
			err = gone
		}
	}()
	start := time.Now()
	bar := newProgress(out, len(names))
	results, err := framework.RunBatch(ctx, client, tasks(s, names), framework.BatchOptions{OnUpdate: bar.update})
	bar.end()
	if err != nil {
		return false, err
	}
	took := time.Since(start)
	rows, err := collect(ctx, s, client.ID(), names, results)
	if err != nil {
		return false, err
	}
	table(out, rows, took)
	return !slices.ContainsFunc(results, func(r framework.BatchResult) bool { return !r.Finished() }), nil
}

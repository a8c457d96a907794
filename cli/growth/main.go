// Growth draws what BenchmarkGrowth of master/lead measured: it reads what
// go test -bench printed, writes a table in Markdown, and with -svg a plot. What
// was measured several times is shown by its median, with the least and the
// greatest.
//
//	go test -run '^$' -bench Growth -benchtime 20x -count 3 ./master/lead | go run ./cli/growth -svg master/lead/growth.svg
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(command(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// command does as args say: 0 done, 1 not, 2 wrong usage.
func command(args []string, in io.Reader, out, problems io.Writer) int {
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	flags.SetOutput(problems)
	svg := flags.String("svg", "", "the `file` of the plot; none when empty")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintln(problems, "growth: there are no arguments but flags; see -help")
		return 2
	}
	lines, err := read(in)
	if err == nil {
		_, err = io.WriteString(out, table(lines))
	}
	if err == nil && *svg != "" {
		err = os.WriteFile(*svg, []byte(plot(lines)), 0o644)
	}
	if err != nil {
		fmt.Fprintln(problems, "growth:", err)
		return 1
	}
	return 0
}

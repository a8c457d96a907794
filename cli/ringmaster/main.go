// Command ringmaster is masters, agents and every client command in one binary.
package main

import (
	"context"
	"os"

	"github.com/ringmaster-project/ringmaster/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}

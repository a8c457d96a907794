// Package cli is the command line: one file per command, the configuration
// (flags, RINGMASTER_ variables, a YAML file) and the wiring of master, agent
// and framework, which know nothing of each other. It alone reads flags, the
// environment and signals.
//
// It is not a place for decisions about the cluster: a client command is an
// HTTP request and a table. Below it are master, agent and framework;
// [github.com/ringmaster-project/ringmaster/cli/ringmaster] is its only caller.
//
// [Main] runs one command as a function of its arguments and streams, and
// waits for every goroutine that the command starts. Its test of the import
// order holds the floors of the whole module.
package cli

// Package state is what Raft replicates.
package state

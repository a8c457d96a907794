// Package embedded puts programs that the agent carries within itself where
// they can be run. It starts no goroutine and knows none of them.
package embedded

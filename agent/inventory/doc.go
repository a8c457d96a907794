// Package inventory says what an agent has: what its operator declares
// ("cpus=4,mem=8GiB,gpu=2x24GiB") and, for what is not named there, what can
// be seen of the host. It keeps nothing and starts no goroutine.
package inventory

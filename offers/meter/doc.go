// Package meter declares the metrics of a daemon, so that what is exported
// and what the reference says of it are one.
//
// It keeps no counts, has no goroutines and no registry: daemons declare into a
// [List] of their own and make of it what Prometheus' library offers.
package meter

// Package dockertest gives tests a Docker engine: the host's own, with an
// image of one static program in it, and one that is made up, for what a real
// one does not do on demand.
package dockertest

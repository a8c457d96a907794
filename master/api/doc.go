// Package api is the HTTP interface of a master: what it answers, as Go types;
// its [Routes]; and a [Client] that finds the leader among several masters.
//
// A master writes its answers from these types, the command line and other
// programs read them into the same, and the description that every master
// serves (GET /v1/openapi.json) is made from the types and routes of this
// package. A change here is a change of the interface: fields are added and
// never renamed.
//
// Sizes are bytes, cpus cores with at most three decimals, times RFC 3339 in
// UTC. Errors are [offers.Error] with the code that the master gave.
package api

// Package frameworktest lets authors test their frameworks without a cluster.
// [Master] is a scripted master on a real websocket: the test says what it
// answers, message by message. [Cluster] answers by itself: it offers room,
// runs tasks at once and remembers what is durable over any number of
// connections, so that a test can break them wherever it likes.
//
// A Master owns its server and connections until the end of the test; a
// Cluster starts no goroutine.
package frameworktest

// Package match is the thread-unsafe core of a leading master.
package match

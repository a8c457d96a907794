// Package processtest gives tests the program that watches one task, as the
// tree that they test makes it.
package processtest

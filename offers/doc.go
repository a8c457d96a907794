// Package offers is the vocabulary of Ringmaster.
package offers

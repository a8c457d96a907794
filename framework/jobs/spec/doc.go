// Package spec is the job file: what may stand in it, how it is read, and the
// sentences that say where it is wrong. The types are at once the file, what
// the jobs framework stores, and the body of a request to it; [Schema] is the
// JSON schema of the same types.
//
// [Parse] reads YAML and says line and column of the first mistake, with the
// key that was probably meant. Nothing else in here knows YAML. The package
// decides nothing about running jobs (package scheduler does), reads no file
// but those that a job's each names, and has no goroutine, clock or log.
package spec

// Package witness keeps, outside of a data folder, how far that folder has come.
// A copy of a folder that is put back looks whole; only what is not copied with
// it can tell that more was done since.
//
// A witness is a small file on a file system that ends with the host's run. It
// is written after a change is durable and before anything is done because of
// it. So a folder that is behind its witness is an older copy, however young,
// and one that is not behind holds all that was ever acted upon. It is not
// synced: after a restart of the host there is none, and that shows as well.
//
// It starts no goroutine. A Witness is used by one goroutine at a time.
package witness

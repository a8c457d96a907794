// Package checkpoint keeps what an agent must not forget in one bbolt file:
// its id and the highest term it has heard of, every launch, and every task's
// progress with the reports that are not acknowledged.
//
//	meta      "meta"          -> Meta, whose it is, its epoch, the number of tasks
//	launches  framework NUL task -> Launch, written once
//	progress  framework NUL task -> Progress, replaced at every change
//
// Each value carries a checksum over its bucket, its key and itself, because
// bbolt returns flipped bits as if nothing were wrong. [Open] reads the file
// without writing to it, copies what is good into a new one, and sets a file
// with damage in it aside, so that no run ever writes into a damaged file and
// none crashes on it twice. A task whose record is damaged comes back as lost;
// it is never taken for one that was not there.
//
// The epoch counts the changes. A small file outside the data folder, the
// witness, knows it too, so that an older copy shows, were it a single change
// behind; the masters know a token of the last registration, see tasks.Meta.
// Where nothing speaks for the file, because the host has restarted, the file
// was damaged or is a copy, the content comes with a doubt, and nothing that it
// says is not running is started because of it. A copy of the whole host,
// memory included, shows only where it is from before the last registration.
//
// A Store is used by one goroutine and starts none. After a failed [Store.Commit]
// nobody knows what is on the disk: the daemon ends then.
package checkpoint

// Package artifact fetches the files that a task wants in its sandbox before
// it starts, over http, https or from folders that the operator has opened,
// and unpacks archives. What is fetched is kept in a cache that all tasks of
// the agent share, so that a thousand tasks of one job fetch a file once.
//
//	task's list ─▶ Store.Stage ─┬▶ flight (one per thing wanted) ─▶ http, file ─▶ cache
//	                            └▶ place: copy or unpack from the cache into the sandbox
//
//	DIR/<sha256>/data    the bytes, under the name of their content
//	DIR/<sha256>/names   URIs that led to them, hashed, and the servers' marks of that version
//	DIR/tmp/             downloads on their way; emptied by Open
//
// Nothing is used that was not checked: content is hashed as it comes in, and
// once more when it is first used in a later run, since a crash may have cut
// it. An artifact with a sha256 is found by that, whoever fetched it; another
// is used again only if its server says that it has not changed.
//
// Frameworks are not trusted. A URI leads to no file outside the configured
// roots, to no metadata service of a cloud (asked of the address that is
// dialled, so that names and redirects don't matter), and from https never
// back to http. Downloads and archives are bounded in size and time, and
// everything in a sandbox is opened beneath it, whatever links an archive or
// another process puts there. No credentials of the agent are sent anywhere,
// and no message holds those of a URI. Who knows the sha256 of something in
// the cache gets it without asking its server again.
//
// Goroutines: one per download, owned by the Store and ended by [Store.Close].
package artifact

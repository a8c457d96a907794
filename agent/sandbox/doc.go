// Package sandbox keeps the folders that tasks work in and lets others read
// them, over HTTP, without a way out: every path is opened beneath the task's
// own folder, whatever links the task has put there.
//
//	DIR/<framework>/<task>/          the task's, mode 0700
//	DIR/<framework>/<task>/stdout    what it wrote
//	DIR/<framework>/<task>/stderr
//
// Folders of tasks that are forgotten stay until newer ones push them out, they
// have become old, or the disk is nearly full. Logs that have become too long
// lose their beginnings, see [Store.TrimLogs]; offsets in them stay what they
// were. It starts no goroutine; [Store.Collect] and TrimLogs are called by one.
package sandbox

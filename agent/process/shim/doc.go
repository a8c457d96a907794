// The shim starts one task and waits for it, so that the task's end is known
// whatever becomes of the agent. An agent runs one shim per task, and some that
// wait for tasks to come; everything a shim has to say lies in its task's folder,
// where it goes when its gate opens (see package record).
//
//	agent ── starts ─▶ shim ── gate opens ─▶ task (own process group)
//	  ▲                 │ waits, reaps, kills what is left of the task
//	  └── exit record ◀─┘
//
// Until its gate opens it does nothing: the agent has written its identity down
// by then. The task is born in its cgroups and without its privileges: the
// thread that starts it joins the cgroups and drops the privileges before. The
// shim has the namespaces of its task, since one of them ends with its first
// process, which is the shim. It is born in them, but for that of its mounts: the
// mounts are those of the moment that the gate opens. A gate that closes without a
// specification means that the agent died first; the shim ends without a trace,
// and that is how the agent knows, later, that nothing of the task has run.
// SIGTERM to the shim goes on to the task's process group, SIGUSR1 kills
// everything the task started. It becomes the parent of whatever the task
// leaves behind, so nothing escapes it by forking twice.
//
// Given --beside in place of a folder it supervises nothing: when its gate
// opens it runs the program that it is told, in the cgroups and namespaces and
// with the user of a task, such as a check of its health. Given --try it finds
// out whether this host lets tasks be isolated as they are to be.
//
// It is a program of its own, and not a subcommand, because a subcommand
// would run every package's start-up in each of hundreds of processes. It
// imports the standard library, x/sys and package record, and its runtime need
// not find out how many processors there are (go:debug): it is told one. It is
// built with
//
//	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o agent/process/shim/embedded/shim ./agent/process/shim
//
// and embedded into the agent from there.
package main

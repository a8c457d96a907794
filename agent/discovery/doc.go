// Package discovery finds devices by asking programs: the one that is built in
// for NVIDIA's driver (see agent/discovery/nvidia), and the operator's plugins.
// A driver may hang or crash who calls it, so every source is a process of its
// own; whatever it does, the agent goes on with the last good report.
//
// # Plugins
//
// A plugin is an executable. It is started without arguments and writes JSON
// objects to its standard output, each a complete report of what is there now:
//
//	{"devices": [{
//	  "class": "npu",                      what demands ask for
//	  "id": "NPU-7f31",                    unique in its class on this host, and always the same
//	  "capacity": "32GiB",                 bytes or a size, or another quota that can be divided
//	  "attributes": {"model": "N2"},       shown, at most 64
//	  "numa": 0,                           shown as the attribute numa
//	  "links": {"NPU-7f32": 100},          how close another device of the class is; larger is closer
//	  "nodes": ["/dev/npu0"],              files through which it is used
//	  "cdi": "vendor.com/npu=0",           its name for containers
//	  "enforcement": "hardware",           hardware, driver, watch or left out: what holds a task to its part
//	  "health": "",                        empty or "ok": well; else why it can't be used, in one sentence
//	  "processes": [{"pid": 4711, "memory": 1073741824}]   who uses how much of it now
//	}]}
//
// Only class, id and capacity must be there; fields that are not known are
// ignored. processes, even an empty list, has tasks that use more of the device
// than they were given warned, and ended.
//
// A plugin may end after one report, with status 0: then it is started again
// after 10 s. Or it goes on and reports whenever it likes, every 30 s at least.
// A device that is not in a report any more is unwell until it is back. A
// program that is silent for longer, writes more than 4 MiB a report or
// something that is no report, or ends with another status, is ended and
// started again after a pause, and what is wrong is logged once in one
// sentence.
//
// [Source.Run] is the whole of it: it runs in its caller's goroutine, has one
// of its own that reads the program's standard error, and waits for it.
// [Decode] reads one report and is pure.
package discovery

// Package nvidia finds NVIDIA's GPUs through the driver's own library (NVML),
// which is loaded when the program runs. It needs cgo, so the agent, which is
// built without, does not import it: agent/discovery/nvidia/helper is a program
// of its own around it, embedded in the agent and spoken to as any plugin. That
// also keeps a driver that hangs or crashes away from the agent.
//
//	library ──▶ Driver.Look ──▶ discovery.Report ──▶ helper's output ──▶ agent
//	        ──▶ Driver.Wait (XID errors as they happen)
//
// A GPU is the class gpu with its UUID as id. One in MIG mode is not offered;
// its instances are, each as a device. A device is unwell when the driver has
// lost it, after an XID error that is the hardware's (until the agent, and this
// with it, is started anew), with memory errors that were not corrected since
// its last reset, or when no memory is left to replace bad rows.
//
// A [Driver] starts no goroutine and is not safe for concurrent use.
package nvidia

// Package isolation says what tasks are kept from: which parts of it an
// operator asks for, which capabilities and limits are left to tasks, and the
// specification that the shims carry out (see agent/process/record). Whether a
// host can do it is found out by agent/process and agent/limits.
package isolation

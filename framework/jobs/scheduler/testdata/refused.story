# A demand that the masters refuse is stated again after a while.
settled
submit
| name: odd
| command: [echo, hi]
| resources: {cpus: 0.1}
  running run 1 version 1
  write job/odd
  write run/odd/1
written
  demand odd.1 1
refused odd.1
wait
  at 30s
  demand odd.1 1
hopeless odd odd.1
  waits for an agent that is not there: no agent that is known has npu
offer odd.1 1 a1
  accept o1 odd.1.0.1: echo hi
  write instances/odd/1/0/0
update odd.1.0.1 rejected reason=bad_task
  write instances/odd/1/0/0
  write run/odd/1
look odd
  failed, run 1, version 1, 0 asked for
  0 failed odd.1.0.1 on a1 bad_task

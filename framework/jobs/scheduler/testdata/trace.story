# Instances whose launches are traced: each launch is a trace, told at its end,
# by whichever daemon works then.
trace
restart
settled
submit
| name: pair
| count: 2
| retries: 1
| command: work
| resources: {cpus: 0.1}
  running run 1 version 1
  write job/pair
  write run/pair/1
wait 1s
  at 1s
written
  demand pair.1 2
wait 2s
  at 3s
offer pair.1 2 a1
  accept o1 pair.1.0.1: /bin/sh -c work
  accept o1 pair.1.1.1: /bin/sh -c work
  write instances/pair/1/0/0
wait 3s
  at 6s
update pair.1.0.1 running
update pair.1.0.1 finished exit=0
  span instance pair.1.0.1 of trace 1, 1s to 6s: finished 
  write instances/pair/1/0/0
update pair.1.0.1 finished exit=0
wait 1s
  at 7s
# One ends after a restart of the daemon, and runs again under another trace.
restart
update pair.1.1.1 failed exit=3 reason=x
  span instance pair.1.1.1 of trace 2, 1s to 7s: failed exit code 3
  write instances/pair/1/0/0
settled
wait 2s
  at 9s
  demand pair.1 1
offer pair.1 1 a1
  accept o2 pair.1.1.2: /bin/sh -c work
  write instances/pair/1/0/0
lost pair.1.1.2
  span instance pair.1.1.2 of trace 3, 9s to 9s: dropped offer is gone
  write instances/pair/1/0/0
# What was lost on the way to the masters ends its trace, too.
wait 1s
  at 10s
  demand pair.1 1
offer pair.1 1 a1
  accept o3 pair.1.1.3: /bin/sh -c work
  write instances/pair/1/0/0
update pair.1.1.3 running
update pair.1.1.3 killed signal=SIGTERM
  span instance pair.1.1.3 of trace 4, 10s to 10s: killed ended by SIGTERM
  write instances/pair/1/0/0
  write run/pair/1

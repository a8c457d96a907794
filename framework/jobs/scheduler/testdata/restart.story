# Everything that is not written may be lost; the masters tell what runs.
settled
submit
| name: long
| count: 4
| command: sleep 100
| resources: {cpus: 0.1}
  running run 1 version 1
  write job/long
  write run/long/1
written
  demand long.1 4
offer long.1 3 a1
  accept o1 long.1.0.1: /bin/sh -c sleep 100
  accept o1 long.1.1.1: /bin/sh -c sleep 100
  accept o1 long.1.2.1: /bin/sh -c sleep 100
  write instances/long/1/0/0
update long.1.0.1 finished exit=0
  write instances/long/1/0/0
restart
# A daemon that begins anew demands nothing yet. One instance runs, one has
# ended meanwhile, of one the masters know nothing, and one was never launched.
update long.1.1.1 running reason=reconciliation
settled
  demand long.1 1
  ask long.1.2.1
update long.1.2.1 dropped reason=unknown_task
  write instances/long/1/0/0
wait
  at 100ms
look long
  running, run 1, version 1, 1 asked for
  0 done long.1.0.1 on a1
  1 running long.1.1.1 on a1 reconciliation
  2 waiting long.1.2.1 on a1 unknown_task
  3 waiting
# Tasks of other launches and other runs are strangers and end.
update long.1.0.1 running
  kill long.1.0.1
update long.7.0.1 running
  kill long.7.0.1
update web.1.0.1 running
  kill web.1.0.1
update long.1.3.2 running
update long.1.3.1 running
  kill long.1.3.1
look long
  running, run 1, version 1, 1 asked for
  0 done long.1.0.1 on a1
  1 running long.1.1.1 on a1 reconciliation
  2 waiting long.1.2.1 on a1 unknown_task
  3 running long.1.3.2 on
stop long
  stopping run 1 version 1
  demand long.1 0
  kill long.1.1.1
  kill long.1.3.2
  write instances/long/1/0/0
  write run/long/1
restart
# A stop holds over a restart.
update long.1.1.1 running reason=reconciliation
  kill long.1.1.1
settled
  ask long.1.3.2
update long.1.1.1 killed
  write instances/long/1/0/0
update long.1.3.2 killed
  write instances/long/1/0/0
  write run/long/1
update long.1.2.1 dropped reason=unknown_task
look long
  stopped, run 1, version 1, 0 asked for
  0 done long.1.0.1 on a1
  1 stopped long.1.1.1 on a1
  2 stopped long.1.2.1 on a1 unknown_task
  3 stopped long.1.3.2 on

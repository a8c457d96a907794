# A gang of three on two agents starts as a whole. One fails: the others are
# killed, and all run again after the pause, also the one that had ended well.
settled
submit
| name: ring
| count: 3
| gang: 30s
| retries: 1
| backoff: {first: 2s}
| command: [allreduce]
| resources: {cpus: 0.1}
  running run 1 version 1
  write job/ring
  write run/ring/1
written
  demand ring.1 3 gang=30s
together ring.1 2 a1 1 a2
  accept o1 ring.1.0.1: allreduce
  accept o1 ring.1.1.1: allreduce
  accept o2 ring.1.2.1: allreduce
  write instances/ring/1/0/0
update ring.1.0.1 running
update ring.1.1.1 running
update ring.1.2.1 running
update ring.1.0.1 finished exit=0
  write instances/ring/1/0/0
update ring.1.1.1 failed exit=3
  kill ring.1.2.1
  write instances/ring/1/0/0
look ring
  running, run 1, version 1, 0 asked for
  0 done ring.1.0.1 on a1
  1 waiting ring.1.1.1 on a1
  2 running ring.1.2.1 on a2
# Another fails over it before it is killed: that is the same failure.
update ring.1.2.1 failed exit=1
  write instances/ring/1/0/0
look ring
  running, run 1, version 1, 0 asked for
  0 waiting ring.1.0.1 on a1
  1 waiting ring.1.1.1 on a1
  2 waiting ring.1.2.1 on a2
wait
  at 2s
  demand ring.1 3 gang=30s
together ring.1 2 a1 1 a2
  accept o3 ring.1.0.2: allreduce
  accept o3 ring.1.1.2: allreduce
  accept o4 ring.1.2.2: allreduce
  write instances/ring/1/0/0
update ring.1.0.2 running
update ring.1.1.2 running
# An agent is lost: no retry is used up.
update ring.1.2.2 gone reason=agent_lost
  kill ring.1.0.2
  kill ring.1.1.2
  write instances/ring/1/0/0
update ring.1.0.2 killed signal=SIGTERM
  write instances/ring/1/0/0
update ring.1.1.2 killed signal=SIGTERM
  demand ring.1 3 gang=30s
  write instances/ring/1/0/0
# One launch reaches no agent. What runs of it ends too.
together ring.1 3 a1
  accept o5 ring.1.0.3: allreduce
  accept o5 ring.1.1.3: allreduce
  accept o5 ring.1.2.3: allreduce
  write instances/ring/1/0/0
update ring.1.1.3 dropped reason=offer_gone
  kill ring.1.0.3
  kill ring.1.2.3
  write instances/ring/1/0/0
update ring.1.0.3 killed signal=SIGTERM
  write instances/ring/1/0/0
update ring.1.2.3 killed signal=SIGTERM
  write instances/ring/1/0/0
wait
  at 2.1s
  demand ring.1 3 gang=30s
# Only two of its offers are there when it is cut off: nothing runs alone.
offer ring.1 2 a1
  demand ring.1 0 gang=30s
  accept o6 ring.1.0.4: allreduce
  accept o6 ring.1.1.4: allreduce
  kill ring.1.0.4
  kill ring.1.1.4
  write instances/ring/1/0/0
update ring.1.0.4 killed
  write instances/ring/1/0/0
update ring.1.1.4 killed
  demand ring.1 3 gang=30s
  write instances/ring/1/0/0
# The daemon begins anew when one of three accepts is not known to anybody.
together ring.1 1 a1 1 a2 1 a3
  accept o7 ring.1.0.5: allreduce
  accept o8 ring.1.1.5: allreduce
  accept o9 ring.1.2.5: allreduce
  write instances/ring/1/0/0
restart
update ring.1.0.5 running reason=reconciliation
update ring.1.1.5 running reason=reconciliation
settled
  ask ring.1.2.5
update ring.1.2.5 dropped reason=unknown_task
  kill ring.1.0.5
  kill ring.1.1.5
  write instances/ring/1/0/0
update ring.1.0.5 killed
  write instances/ring/1/0/0
update ring.1.1.5 killed
  write instances/ring/1/0/0
wait
  at 2.2s
  demand ring.1 3 gang=30s
# The last retry has failed: the others end for good, and so does the run.
together ring.1 3 a1
  accept o10 ring.1.0.6: allreduce
  accept o10 ring.1.1.6: allreduce
  accept o10 ring.1.2.6: allreduce
  write instances/ring/1/0/0
update ring.1.0.6 finished exit=0
  write instances/ring/1/0/0
update ring.1.2.6 failed exit=3
  kill ring.1.1.6
  write instances/ring/1/0/0
update ring.1.1.6 killed
  write instances/ring/1/0/0
  write run/ring/1
look ring
  failed, run 1, version 1, 0 asked for
  0 done ring.1.0.6 on a1
  1 stopped ring.1.1.6 on a1
  2 failed ring.1.2.6 on a1
# Somebody kills one: nothing runs again.
submit
| name: ring
| count: 2
| gang: 30s
| retries: 9
| command: [allreduce]
| resources: {cpus: 0.1}
  running run 2 version 2
  write job/ring
  write run/ring/2
written
  demand ring.2 2 gang=30s
together ring.2 2 a1
  accept o11 ring.2.0.1: allreduce
  accept o11 ring.2.1.1: allreduce
  write instances/ring/2/0/0
update ring.2.0.1 killed signal=SIGTERM
  kill ring.2.1.1
  write instances/ring/2/0/0
update ring.2.1.1 killed signal=SIGTERM
  write instances/ring/2/0/0
  write run/ring/2
look ring
  failed, run 2, version 2, 0 asked for
  0 failed ring.2.0.1 on a1
  1 stopped ring.2.1.1 on a1
# A stop while it is being gathered anew.
submit
| name: ring
| count: 2
| gang: 30s
| retries: 9
| command: [allreduce]
| resources: {cpus: 0.1}
  running run 3 version 2
  write job/ring
  write run/ring/3
written
  demand ring.3 2 gang=30s
together ring.3 2 a1
  accept o12 ring.3.0.1: allreduce
  accept o12 ring.3.1.1: allreduce
  write instances/ring/3/0/0
update ring.3.0.1 failed exit=3
  kill ring.3.1.1
  write instances/ring/3/0/0
stop ring
  stopping run 3 version 2
  kill ring.3.1.1
  write instances/ring/3/0/0
  write run/ring/3
update ring.3.1.1 killed signal=SIGTERM
  write instances/ring/3/0/0
  write run/ring/3
look ring
  stopped, run 3, version 2, 0 asked for
  0 stopped ring.3.0.1 on a1
  1 stopped ring.3.1.1 on a1

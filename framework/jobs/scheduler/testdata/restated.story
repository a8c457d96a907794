# More places come free while an offer may be on its way. To state the demand
# anew would take that offer back, and what is launched out of it would be
# dropped: what more is wanted is asked for when the demand is met, or after a
# while.
settled
submit
| name: many
| count: 6
| parallelism: 2
| command: echo
| resources: {cpus: 0.1}
  running run 1 version 1
  write job/many
  write run/many/1
written
  demand many.1 2
offer many.1 2 a1
  accept o1 many.1.0.1: /bin/sh -c echo
  accept o1 many.1.1.1: /bin/sh -c echo
  write instances/many/1/0/0
update many.1.0.1 finished exit=0
  demand many.1 1
  write instances/many/1/0/0
update many.1.1.1 finished exit=0
  write instances/many/1/0/0
offer many.1 1 a1
  demand many.1 1
  accept o2 many.1.2.1: /bin/sh -c echo
  write instances/many/1/0/0
update many.1.2.1 finished exit=0
  write instances/many/1/0/0
wait
  at 1s
  demand many.1 2
# Less than was asked for is told at once.
stop many
  stopping run 1 version 1
  demand many.1 0
  write instances/many/1/0/0
  write run/many/1

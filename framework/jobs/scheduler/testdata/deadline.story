# A deadline counts from the beginning of the run, however late a demand is
# stated; one that has passed is as near as can be.
settled
submit
| name: soon
| count: 2
| parallelism: 1
| retries: 1
| placement: match
| deadline: 1m
| runtime: 10s
| price: 2.5
| command: [x]
| resources: {cpus: 0.1}
  running run 1 version 1
  write job/soon
  write run/soon/1
written
  demand soon.1 1 deadline=1m0s runtime=10s price=2.5
far 10s
offer soon.1 1 a1
  accept o1 soon.1.0.1: x
  write instances/soon/1/0/0
update soon.1.0.1 finished exit=0
  demand soon.1 1 deadline=50s runtime=10s price=2.5
  write instances/soon/1/0/0
offer soon.1 1 a1
  accept o2 soon.1.1.1: x
  write instances/soon/1/0/0
far 55s
update soon.1.1.1 failed exit=1
  write instances/soon/1/0/0
wait
  at 1m6s
  demand soon.1 1 deadline=1ms runtime=10s price=2.5

# A batch of three, at most two at a time. Nothing is launched before the
# masters have told what runs and the run is written.
submit
| name: hello
| count: 3
| parallelism: 2
| command: [echo, "{{index}} of {{count}} on {{agent}}"]
| resources: {cpus: 0.1}
  running run 1 version 1
  write job/hello
  write run/hello/1
settled
written
  demand hello.1 2
offer hello.1 2 a1
  accept o1 hello.1.0.1: echo 0 of 3 on a1
  accept o1 hello.1.1.1: echo 1 of 3 on a1
  write instances/hello/1/0/0
update hello.1.0.1 running
update hello.1.0.1 finished exit=0
  demand hello.1 1
  write instances/hello/1/0/0
# The same file again while it runs changes nothing; another one is refused.
submit
| name: hello
| count: 3
| parallelism: 2
| command: [echo, "{{index}} of {{count}} on {{agent}}"]
| resources: {cpus: 0.1}
  running run 1 version 1
submit
| name: hello
| command: [echo, no]
  error: job hello is running from another file (run 1): stop it first with ringmaster job stop hello
offer hello.1 1 a2
  accept o2 hello.1.2.1: echo 2 of 3 on a2
  write instances/hello/1/0/0
# An offer that nobody waits for goes back.
offer hello.1 1 a2
  decline o3
update hello.1.1.1 finished exit=0
  write instances/hello/1/0/0
update hello.1.2.1 finished exit=0
  write instances/hello/1/0/0
  write run/hello/1
look hello
  complete, run 1, version 1, 0 asked for
  0 done hello.1.0.1 on a1
  1 done hello.1.1.1 on a1
  2 done hello.1.2.1 on a2
# What was acknowledged too late comes again and changes nothing.
update hello.1.2.1 finished exit=0
# Another file after the end is a new version and a new run.
submit
| name: hello
| command: echo again
  running run 2 version 2
  write job/hello
  write run/hello/2
written
  demand hello.2 1
offer hello.2 1 a1
  accept o4 hello.2.0.1: /bin/sh -c echo again
  write instances/hello/2/0/0
stop hello
  stopping run 2 version 2
  kill hello.2.0.1
  write run/hello/2
update hello.2.0.1 killed signal=SIGTERM
  write instances/hello/2/0/0
  write run/hello/2
look hello
  stopped, run 2, version 2, 0 asked for
  0 stopped hello.2.0.1 on a1
purge hello
  write floor
  delete instances/hello/1/0/0
  delete instances/hello/2/0/0
  delete job/hello
  delete run/hello/1
  delete run/hello/2
restart
settled
submit
| name: fresh
| command: [echo, hi]
  running run 3 version 1
  write job/fresh
  write run/fresh/3
look hello
  error: there is no job "hello"; see ringmaster job list

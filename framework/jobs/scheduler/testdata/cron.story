# Every ten minutes, and not while another run goes on.
settled
submit
| name: tidy
| type: cron
| cron: {schedule: "*/10 * * * *"}
| command: [tidy]
| resources: {cpus: 0.1}
  scheduled run 0 version 1
  write job/tidy
look tidy
  next at 10m0s
  scheduled, run 0, version 1, 0 asked for
wait
  at 10m0s
  write job/tidy
  write run/tidy/1
written
  demand tidy.1 1
offer tidy.1 1 a1
  accept o1 tidy.1.0.1: tidy
  write instances/tidy/1/0/0
wait
  at 20m0s
  write job/tidy
wait 1m
  at 21m0s
update tidy.1.0.1 finished exit=0
  write instances/tidy/1/0/0
  write run/tidy/1
look tidy
  next at 30m0s
  scheduled, run 1, version 1, 0 asked for
  0 done tidy.1.0.1 on a1
# A new version begins with the next run.
submit
| name: tidy
| type: cron
| cron: {schedule: "*/10 * * * *", overlap: replace, missed: one}
| command: [tidy, --well]
| resources: {cpus: 0.1}
  scheduled run 1 version 2
  write job/tidy
wait
  at 30m0s
  write job/tidy
  write run/tidy/2
written
  demand tidy.2 1
offer tidy.2 1 a1
  accept o2 tidy.2.0.1: tidy --well
  write instances/tidy/2/0/0
wait
  at 40m0s
  kill tidy.2.0.1
  write job/tidy
  write run/tidy/2
  write run/tidy/3
written
  demand tidy.3 1
update tidy.2.0.1 killed
  write instances/tidy/2/0/0
  write run/tidy/2
offer tidy.3 1 a1
  accept o3 tidy.3.0.1: tidy --well
  write instances/tidy/3/0/0
update tidy.3.0.1 finished exit=0
  write instances/tidy/3/0/0
  write run/tidy/3
# Nobody is there for an hour: one run makes up for those that were missed.
far 65m
wait 0s
  at 1h45m0s
  write job/tidy
  write run/tidy/4
written
  demand tidy.4 1
offer tidy.4 1 a1
  accept o4 tidy.4.0.1: tidy --well
  write instances/tidy/4/0/0
update tidy.4.0.1 finished exit=0
  write instances/tidy/4/0/0
  write run/tidy/4
restart
settled
look tidy
  next at 1h50m0s
  scheduled, run 4, version 2, 0 asked for
  0 done tidy.4.0.1 on a1
# With skip they are not made up for; with allow runs go on side by side.
submit
| name: tidy
| type: cron
| cron: {schedule: "*/10 * * * *", overlap: allow}
| command: [tidy]
| resources: {cpus: 0.1}
  scheduled run 4 version 3
  write job/tidy
far 65m
wait 0s
  at 2h50m0s
  write job/tidy
  write run/tidy/5
wait
  at 3h0m0s
  write job/tidy
  write run/tidy/6
written
  demand tidy.5 1
  demand tidy.6 1
wait
  at 3h10m0s
  write job/tidy
  write run/tidy/7
written
  demand tidy.7 1
look tidy
  next at 3h20m0s
  running, run 7, version 3, 1 asked for
  0 waiting
stop tidy
  stopping run 7 version 3
  demand tidy.5 0
  demand tidy.6 0
  demand tidy.7 0
  write instances/tidy/5/0/0
  write instances/tidy/6/0/0
  write instances/tidy/7/0/0
  write job/tidy
  write run/tidy/5
  write run/tidy/6
  write run/tidy/7
look tidy
  stopped, run 7, version 3, 0 asked for
  0 stopped
wait
  at 3h10m0s
purge tidy
  write floor
  delete instances/tidy/1/0/0
  delete instances/tidy/2/0/0
  delete instances/tidy/3/0/0
  delete instances/tidy/4/0/0
  delete instances/tidy/5/0/0
  delete instances/tidy/6/0/0
  delete instances/tidy/7/0/0
  delete job/tidy
  delete run/tidy/1
  delete run/tidy/2
  delete run/tidy/3
  delete run/tidy/4
  delete run/tidy/5
  delete run/tidy/6
  delete run/tidy/7

# A version that fails is given up; what is wanted is the first again.
settled
submit
| name: web
| type: service
| command: [serve]
| resources: {cpus: 0.1}
| update: {max_failures: 1}
  running run 1 version 1
  write job/web
  write run/web/1
written
  demand web.1.v1 1
offer web.1.v1 1 a1
  accept o1 web.1.0.1: serve
  write instances/web/1/0/0
update web.1.0.1 running
wait
  at 5s
  write job/web
  write run/web/1
submit
| name: web
| type: service
| command: [serve, --worse]
| resources: {cpus: 0.1}
| update: {max_failures: 1}
  running run 1 version 2
  kill web.1.0.1
  write instances/web/1/0/0
  write job/web
  write run/web/1
update web.1.0.1 killed signal=SIGTERM
  demand web.1.v2 1
  write instances/web/1/0/0
offer web.1.v2 1 a1
  accept o2 web.1.0.2: serve --worse
  write instances/web/1/0/0
update web.1.0.2 failed exit=1
  write instances/web/1/0/0
wait
  at 6s
  demand web.1.v2 1
offer web.1.v2 1 a1
  accept o3 web.1.0.3: serve --worse
  write instances/web/1/0/0
update web.1.0.3 failed exit=1
  demand web.1.v3 1
  write instances/web/1/0/0
  write job/web
  write run/web/1
look web
  running, run 1, version 3, 1 asked for
  rollout to 3 rolling 
  0 waiting web.1.0.3 on a1
# There is none to go back to but the one that failed.
rollback web 0
  error: job web has no other version that was not given up; name one of ringmaster job history web
# Of a third version it goes back to the first, not to the one that failed, and from there forward again.
submit
| name: web
| type: service
| command: [serve, --better]
| resources: {cpus: 0.1}
| update: {max_failures: 1}
  running run 1 version 4
  demand web.1.v3 0
  demand web.1.v4 1
  write job/web
  write run/web/1
rollback web 0
  running run 1 version 5
  demand web.1.v4 0
  demand web.1.v5 1
  write job/web
  write run/web/1
rollback web 1
  error: job web is at version 5, which is version 1 again, already
rollback web 0
  running run 1 version 6
  demand web.1.v5 0
  demand web.1.v6 1
  write job/web
  write run/web/1
rollback web 4
  error: job web is at version 6, which is version 4 again, already
# Who names it gets it.
rollback web 2
  running run 1 version 7
  demand web.1.v6 0
  demand web.1.v7 1
  write job/web
  write run/web/1

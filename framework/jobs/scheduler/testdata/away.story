# An agent that is away for too long: its instances run elsewhere, and the old
# launch is killed when it comes back.
settled
submit
| name: web
| type: service
| command: [serve]
| resources: {cpus: 0.1}
| replace_after: 30s
| restart: on_failure
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
update web.1.0.1 unreachable
wait 10s
  at 15s
update web.1.0.1 running
update web.1.0.1 unreachable
wait
  at 45s
  demand web.1.v1 1
  kill web.1.0.1
  write instances/web/1/0/0
offer web.1.v1 1 a2
  accept o2 web.1.0.2: serve
  write instances/web/1/0/0
update web.1.0.2 running
update web.1.0.1 running
  kill web.1.0.1
update web.1.0.1 killed
look web
  running, run 1, version 1, 0 asked for
  rollout to 1 done 
  0 running web.1.0.2 on a2
# The daemon begins anew while an instance is being replaced.
submit
| name: web
| type: service
| command: [serve, --better]
| resources: {cpus: 0.1}
| restart: on_failure
  running run 1 version 2
  write job/web
  write run/web/1
wait
  at 50s
  kill web.1.0.2
  write instances/web/1/0/0
restart
update web.1.0.2 running reason=reconciliation
  kill web.1.0.2
settled
update web.1.0.2 killed
  demand web.1.v2 1
  write instances/web/1/0/0
offer web.1.v2 1 a2
  accept o3 web.1.0.3: serve --better
  write instances/web/1/0/0
update web.1.0.3 running
wait
  at 55s
  write job/web
  write run/web/1
# With on_failure one that ends well is done, and so is the service.
update web.1.0.3 finished exit=0
  write instances/web/1/0/0
  write run/web/1
look web
  complete, run 1, version 2, 0 asked for
  rollout to 2 done 
  0 done web.1.0.3 on a2

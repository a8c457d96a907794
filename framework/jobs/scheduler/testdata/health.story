# An instance with a health check counts once it is healthy; a first version
# that never comes up is given up and goes on trying.
settled
submit
| name: web
| type: service
| count: 2
| command: [serve]
| resources: {cpus: 0.1, ports: [8080]}
| health: {http: {}}
| update: {healthy_for: 2s, deadline: 30s}
  running run 1 version 1
  write job/web
  write run/web/1
written
  demand web.1.v1 2
offer web.1.v1 1 a1
  accept o1 web.1.0.1: serve
  write instances/web/1/0/0
offer web.1.v1 1 a2
  accept o2 web.1.1.1: serve
  write instances/web/1/0/0
update web.1.0.1 running
update web.1.1.1 running
wait 20s
  at 20s
update web.1.0.1 running healthy=true
wait 1s
  at 21s
look web
  running, run 1, version 1, 0 asked for
  rollout to 1 rolling 
  0 running web.1.0.1 on a1
  1 running web.1.1.1 on a2
update web.1.0.1 running healthy=false
wait
  at 30s
  write job/web
  write run/web/1
look web
  running, run 1, version 1, 0 asked for
  rollout to 1 failed it was not everywhere within 30s
  0 running web.1.0.1 on a1
  1 running web.1.1.1 on a2
update web.1.0.1 failed reason=health
  write instances/web/1/0/0
wait
  at 31s
  demand web.1.v1 1
offer web.1.v1 1 a1
  accept o3 web.1.0.2: serve
  write instances/web/1/0/0
update web.1.0.2 running
update web.1.0.2 running healthy=true
update web.1.1.1 running healthy=true
wait 10s
  at 41s
  write job/web
  write run/web/1
look web
  running, run 1, version 1, 0 asked for
  rollout to 1 done it was not everywhere within 30s
  0 running web.1.0.2 on a1
  1 running web.1.1.1 on a2

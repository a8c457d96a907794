# A service of three comes up; it is well once each has run well for 5 s.
settled
submit
| name: web
| type: service
| count: 3
| command: [serve]
| resources: {cpus: 0.1}
| update: {max_unavailable: 1, max_failures: 1, deadline: 1m}
  running run 1 version 1
  write job/web
  write run/web/1
written
  demand web.1.v1 3
offer web.1.v1 3 a1
  accept o1 web.1.0.1: serve
  accept o1 web.1.1.1: serve
  accept o1 web.1.2.1: serve
  write instances/web/1/0/0
update web.1.0.1 running
update web.1.1.1 running
wait 1s
  at 1s
update web.1.2.1 running
wait 4s
  at 5s
wait
  at 6s
  write job/web
  write run/web/1
look web
  running, run 1, version 1, 0 asked for
  rollout to 1 done 
  0 running web.1.0.1 on a1
  1 running web.1.1.1 on a1
  2 running web.1.2.1 on a1
# One that ends runs again after a pause; one whose agent is lost at once.
update web.1.1.1 failed exit=1
  write instances/web/1/0/0
wait
  at 7s
  demand web.1.v1 1
offer web.1.v1 1 a2
  accept o2 web.1.1.2: serve
  write instances/web/1/0/0
update web.1.1.2 running
update web.1.2.1 gone reason=agent_lost
  demand web.1.v1 1
  write instances/web/1/0/0
offer web.1.v1 1 a2
  accept o3 web.1.2.2: serve
  write instances/web/1/0/0
update web.1.2.2 running
wait 10s
  at 17s
# A new version takes the place of one after the other.
submit
| name: web
| type: service
| count: 3
| command: [serve, --better]
| resources: {cpus: 0.1}
| update: {max_unavailable: 1, max_failures: 1, deadline: 1m}
  running run 1 version 2
  kill web.1.0.1
  write instances/web/1/0/0
  write job/web
  write run/web/1
update web.1.0.1 killing
update web.1.0.1 killed signal=SIGTERM
  demand web.1.v2 1
  write instances/web/1/0/0
# Room of the version before is no use for it.
offer web.1.v1 1 a1
  decline o4
offer web.1.v2 1 a1
  accept o5 web.1.0.2: serve --better
  write instances/web/1/0/0
update web.1.0.2 running
wait
  at 22s
  kill web.1.1.2
  write instances/web/1/0/0
update web.1.1.2 killed signal=SIGTERM
  demand web.1.v2 1
  write instances/web/1/0/0
offer web.1.v2 1 a1
  accept o6 web.1.1.3: serve --better
  write instances/web/1/0/0
update web.1.1.3 running
wait
  at 27s
  kill web.1.2.2
  write instances/web/1/0/0
update web.1.2.2 killed signal=SIGTERM
  demand web.1.v2 1
  write instances/web/1/0/0
offer web.1.v2 1 a1
  accept o7 web.1.2.3: serve --better
  write instances/web/1/0/0
update web.1.2.3 running
wait
  at 32s
  write job/web
  write run/web/1
look web
  running, run 1, version 2, 0 asked for
  rollout to 2 done 
  0 running web.1.0.2 on a1
  1 running web.1.1.3 on a1
  2 running web.1.2.3 on a1
# The count alone replaces nothing.
scale web 4
  running run 1 version 3
  demand web.1.v3 1
  write job/web
  write run/web/1
offer web.1.v3 1 a1
  accept o8 web.1.3.1: serve --better
  write instances/web/1/0/0
update web.1.3.1 running
wait
  at 37s
  write job/web
  write run/web/1
scale web 2
  running run 1 version 4
  kill web.1.2.3
  kill web.1.3.1
  write instances/web/1/0/0
  write job/web
  write run/web/1
update web.1.3.1 killed signal=SIGTERM
  write instances/web/1/0/0
  write job/web
update web.1.2.3 killed signal=SIGTERM
  write instances/web/1/0/0
  write job/web
look web
  running, run 1, version 4, 0 asked for
  rollout to 4 done 
  0 running web.1.0.2 on a1
  1 running web.1.1.3 on a1
# One that can't work goes back by itself.
submit
| name: web
| type: service
| count: 2
| command: [serve, --broken]
| resources: {cpus: 0.1}
| update: {max_unavailable: 1, max_failures: 1, deadline: 1m}
  running run 1 version 5
  kill web.1.0.2
  write instances/web/1/0/0
  write job/web
  write run/web/1
update web.1.0.2 killed signal=SIGTERM
  demand web.1.v5 1
  write instances/web/1/0/0
offer web.1.v5 1 a1
  accept o9 web.1.0.3: serve --broken
  write instances/web/1/0/0
update web.1.0.3 failed exit=1
  write instances/web/1/0/0
wait
  at 38s
  demand web.1.v5 1
offer web.1.v5 1 a1
  accept o10 web.1.0.4: serve --broken
  write instances/web/1/0/0
update web.1.0.4 failed exit=1
  demand web.1.v6 1
  write instances/web/1/0/0
  write job/web
  write run/web/1
wait
  at 1m38s
  write job/web
  write run/web/1
offer web.1.v6 1 a1
  accept o11 web.1.0.5: serve --better
  write instances/web/1/0/0
update web.1.0.5 running
wait
  at 1m43s
  write job/web
  write run/web/1
look web
  running, run 1, version 6, 0 asked for
  rollout to 6 done it was not everywhere within 1m0s
  0 running web.1.0.5 on a1
  1 running web.1.1.3 on a1
# One that gets no room goes back when its time is over.
submit
| name: web
| type: service
| count: 2
| command: [serve]
| resources: {cpus: 1000}
| update: {max_unavailable: 1, max_failures: 1, deadline: 1m}
  running run 1 version 7
  kill web.1.0.5
  write instances/web/1/0/0
  write job/web
  write run/web/1
update web.1.0.5 killed signal=SIGTERM
  demand web.1.v7 1
  write instances/web/1/0/0
wait 1m
  at 2m43s
  demand web.1.v7 0
  demand web.1.v8 1
  write job/web
  write run/web/1
offer web.1.v8 1 a1
  accept o12 web.1.0.6: serve --better
  write instances/web/1/0/0
update web.1.0.6 running
wait
  at 2m48s
  write job/web
  write run/web/1
look web
  running, run 1, version 8, 0 asked for
  rollout to 8 done 
  0 running web.1.0.6 on a1
  1 running web.1.1.3 on a1
rollback web 2
  running run 1 version 9
  demand web.1.v9 1
  write job/web
  write run/web/1
rollback web 2
  error: job web is at version 9, which is version 2 again, already
look web
  running, run 1, version 9, 1 asked for
  rollout to 9 rolling 
  0 running web.1.0.6 on a1
  1 running web.1.1.3 on a1
  2 waiting  on
scale web 3
  running run 1 version 9
offer web.1.v10 1 a1
  decline o13
stop web
  stopping run 1 version 9
  demand web.1.v9 0
  kill web.1.0.6
  kill web.1.1.3
  write instances/web/1/0/0
  write run/web/1
update web.1.0.6 killed
  write instances/web/1/0/0
update web.1.1.3 killed
  write instances/web/1/0/0
  write run/web/1
look web
  stopped, run 1, version 9, 0 asked for
  0 stopped web.1.0.6 on a1
  1 stopped web.1.1.3 on a1
  2 stopped  on

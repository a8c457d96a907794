# Ports that the cluster chooses: each instance has its own of what is offered.
submit
| name: web
| type: service
| count: 3
| command: [serve, "{{port.http}}", "{{port.admin}}", "{{port.1}}", "{{port}}"]
| resources: {cpus: 0.1, ports: [http, admin]}
| health: {tcp: {}}
  running run 1 version 1
  write job/web
  write run/web/1
written
settled
  demand web.1.v1 3
offer web.1.v1 2 a1 31004 31006-31008
  accept o1 web.1.0.1: serve 31004 31006 31006 31004
  accept o1 web.1.1.1: serve 31007 31008 31008 31007
  write instances/web/1/0/0
# An offer with too few ports is no use.
offer web.1.v1 1 a2 31000
  decline o2
# A port that a program of others uses: another try, which is no failure.
update web.1.0.1 failed reason=port_taken
  write instances/web/1/0/0
wait
  at 100ms
wait
  at 1s
  demand web.1.v1 2
offer web.1.v1 2 a1 31010-31013
  accept o3 web.1.0.2: serve 31010 31011 31011 31010
  accept o3 web.1.2.1: serve 31012 31013 31013 31012
  write instances/web/1/0/0
look web
  running, run 1, version 1, 0 asked for
  rollout to 1 rolling 
  0 staging web.1.0.2 on a1
  1 staging web.1.1.1 on a1
  2 staging web.1.2.1 on a1

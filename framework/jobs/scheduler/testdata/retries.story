# Two retries with a pause that doubles. A failure counts, a lost agent and a
# launch that reached no agent do not.
settled
submit
| name: flaky
| count: 2
| retries: 2
| backoff: {first: 1s, most: 3s}
| command: test $RINGMASTER_INDEX = 0
| resources: {cpus: 0.1}
  running run 1 version 1
  write job/flaky
  write run/flaky/1
written
  demand flaky.1 2
offer flaky.1 2 a1
  accept o1 flaky.1.0.1: /bin/sh -c test $RINGMASTER_INDEX = 0
  accept o1 flaky.1.1.1: /bin/sh -c test $RINGMASTER_INDEX = 0
  write instances/flaky/1/0/0
update flaky.1.1.1 failed exit=3
  write instances/flaky/1/0/0
wait
  at 1s
  demand flaky.1 1
offer flaky.1 1 a1
  accept o2 flaky.1.1.2: /bin/sh -c test $RINGMASTER_INDEX = 0
  write instances/flaky/1/0/0
update flaky.1.1.2 failed exit=3
  write instances/flaky/1/0/0
wait
  at 3s
  demand flaky.1 1
offer flaky.1 1 a1
  accept o3 flaky.1.1.3: /bin/sh -c test $RINGMASTER_INDEX = 0
  write instances/flaky/1/0/0
lost flaky.1.1.3
  write instances/flaky/1/0/0
wait
  at 3.1s
  demand flaky.1 1
offer flaky.1 1 a1
  accept o4 flaky.1.1.4: /bin/sh -c test $RINGMASTER_INDEX = 0
  write instances/flaky/1/0/0
update flaky.1.1.4 gone reason=agent_lost
  demand flaky.1 1
  write instances/flaky/1/0/0
offer flaky.1 1 a2
  accept o5 flaky.1.1.5: /bin/sh -c test $RINGMASTER_INDEX = 0
  write instances/flaky/1/0/0
update flaky.1.1.5 dropped reason=offer_gone
  write instances/flaky/1/0/0
wait
  at 3.2s
  demand flaky.1 1
offer flaky.1 1 a2
  accept o6 flaky.1.1.6: /bin/sh -c test $RINGMASTER_INDEX = 0
  write instances/flaky/1/0/0
update flaky.1.1.6 running
update flaky.1.1.6 failed exit=3
  write instances/flaky/1/0/0
look flaky
  running, run 1, version 1, 0 asked for
  0 staging flaky.1.0.1 on a1
  1 failed flaky.1.1.6 on a2
# An operator's kill is no success either, and is not run again.
update flaky.1.0.1 killed signal=SIGTERM
  write instances/flaky/1/0/0
  write run/flaky/1
look flaky
  failed, run 1, version 1, 0 asked for
  0 failed flaky.1.0.1 on a1
  1 failed flaky.1.1.6 on a2

# Steps follow each other; those that wait for the same run side by side.
settled
submit
| name: film
| steps:
|   - name: join
|     after: [left, right]
|     command: [join]
|     resources: {cpus: 0.1}
|   - name: left
|     after: [cut]
|     command: [left, "{{item}}"]
|     each: [a, b]
|     resources: {cpus: 0.1}
|   - name: right
|     after: [cut]
|     command: [right]
|     resources: {cpus: 0.1}
|   - name: cut
|     command: [cut]
|     resources: {cpus: 0.1}
  running run 1 version 1
  write job/film
  write run/film/1
written
  demand film.1.cut 1
offer film.1.cut 1 a1
  accept o1 film.1.cut.0.1: cut
  write instances/film/1/3/0
update film.1.cut.0.1 finished exit=0
  demand film.1.left 2
  demand film.1.right 1
  write instances/film/1/3/0
offer film.1.left 2 a1
  accept o2 film.1.left.0.1: left a
  accept o2 film.1.left.1.1: left b
  write instances/film/1/1/0
offer film.1.right 1 a1
  accept o3 film.1.right.0.1: right
  write instances/film/1/2/0
update film.1.left.0.1 finished exit=0
  write instances/film/1/1/0
update film.1.right.0.1 finished exit=0
  write instances/film/1/2/0
restart
settled
  ask film.1.left.1.1
update film.1.left.1.1 finished exit=0
  demand film.1.join 1
  write instances/film/1/1/0
offer film.1.join 1 a1
  accept o4 film.1.join.0.1: join
  write instances/film/1/0/0
update film.1.join.0.1 finished exit=0
  write instances/film/1/0/0
  write run/film/1
look film
  complete, run 1, version 1, 0 asked for
  join 0 done film.1.join.0.1 on a1
  left 0 done film.1.left.0.1 on a1
  left 1 done film.1.left.1.1 on a1
  right 0 done film.1.right.0.1 on a1
  cut 0 done film.1.cut.0.1 on a1
# After a failure what waits for it is skipped, and what waits for that.
submit
| name: film
| steps:
|   - {name: third, after: [second], command: [three], resources: {cpus: 0.1}}
|   - {name: second, after: [first], command: [two], resources: {cpus: 0.1}}
|   - {name: first, command: [one], resources: {cpus: 0.1}}
|   - {name: aside, command: [aside], resources: {cpus: 0.1}}
  running run 2 version 2
  write job/film
  write run/film/2
written
  demand film.2.first 1
  demand film.2.aside 1
offer film.2.first 1 a1
  accept o5 film.2.first.0.1: one
  write instances/film/2/2/0
update film.2.first.0.1 failed exit=1
  write instances/film/2/0/0
  write instances/film/2/1/0
  write instances/film/2/2/0
offer film.2.aside 1 a1
  accept o6 film.2.aside.0.1: aside
  write instances/film/2/3/0
update film.2.aside.0.1 finished exit=0
  write instances/film/2/3/0
  write run/film/2
look film
  failed, run 2, version 2, 0 asked for
  third 0 skipped
  second 0 skipped
  first 0 failed film.2.first.0.1 on a1
  aside 0 done film.2.aside.0.1 on a1

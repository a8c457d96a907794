package api_test

import (
	"context"
	"fmt"
	"log"
	"net/url"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

// What runs on one agent, and what ends from now on.
func Example() {
	ctx := context.Background()
	who, err := door.Open(door.Config{Token: "the cluster's"})
	if err != nil {
		log.Fatal(err)
	}
	masters := api.NewClient([]string{"m1:5050", "m2:5050", "m3:5050"}, who)
	for task, err := range api.All(ctx, masters, "/v1/tasks", url.Values{"agent": {"a1"}}, api.Tasks.Page) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(task.ID, task.State, task.Resources.CPUs)
	}
	follower := api.Follower{Client: masters, Query: url.Values{"type": {"task_ended"}}, Hear: func(data []byte) error {
		e, err := api.Event(data)
		if err == nil && e.Type == events.TaskEnded {
			fmt.Println(e.Task, e.State)
		}
		return err
	}}
	log.Fatal(follower.Run(ctx))
}

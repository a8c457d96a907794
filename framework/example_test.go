package framework_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// A whole framework: it asks for room for three tasks, launches them as offers
// come, and follows them to their end.
func Example() {
	ctx := context.Background()
	client, err := framework.Connect(ctx, framework.Config{
		Masters: []string{"127.0.0.1:5050"},
		Info:    wire.FrameworkInfo{Name: "hello", Role: "default"},
	})
	if err != nil {
		log.Fatal(err)
	}
	count, launched, ended := 3, 0, 0
	each := offers.Resources{Amounts: offers.Amounts{offers.CPUs: 100, offers.Mem: 32 << 20}} // 0.1 cpus, 32 MiB
	if err := client.Demand(offers.Demand{ID: "hello", Resources: each, Count: &count}); err != nil {
		log.Fatal(err)
	}
	for ended < count {
		event, err := client.Next(ctx) // acknowledges the update before
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case framework.Offered:
			for _, o := range e.Offers {
				var tasks []offers.Task
				for range framework.Units(o.Resources, each) {
					id := offers.TaskID(fmt.Sprintf("hello-%d", launched))
					tasks = append(tasks, offers.Task{ID: id, Resources: each, Command: &offers.Command{Shell: "echo hello"}})
					launched++
				}
				if err := client.Accept([]offers.OfferID{o.ID}, tasks...); err != nil {
					log.Fatal(err)
				}
			}
		case framework.Updated:
			fmt.Println(e.Status.Task, e.Status.State)
			if e.Status.State.Terminal() {
				ended++
			}
		}
	}
	if err := client.Teardown(ctx); err != nil {
		log.Fatal(err)
	}
}

// The same with the batch, which also launches again what was dropped.
func ExampleRunBatch() {
	ctx := context.Background()
	client, err := framework.Connect(ctx, framework.Config{
		Masters: []string{"127.0.0.1:5050"},
		Info:    wire.FrameworkInfo{Name: "hello", Role: "default"},
	})
	if err != nil {
		log.Fatal(err)
	}
	results, err := framework.RunBatch(ctx, client, framework.Repeat(offers.Task{
		ID:        "hello",
		Resources: offers.Resources{Amounts: offers.Amounts{offers.CPUs: 100}},
		Command:   &offers.Command{Shell: "echo hello"},
	}, 3), framework.BatchOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Task, r.Status.State)
	}
	if err := client.Teardown(ctx); err != nil {
		log.Fatal(err)
	}
}

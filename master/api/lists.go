package api

import (
	"context"
	"iter"
	"net/url"
)

// All yields everything on a list, page by page, as the query filters it; page is
// what the answers are read with, such as Tasks.Page. An error ends it.
//
//	for task, err := range api.All(ctx, client, "/v1/tasks", url.Values{"state": {"running"}}, api.Tasks.Page) {
func All[P, T any](ctx context.Context, cl *Client, path string, query url.Values, page func(P) ([]T, string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ask := url.Values{}
		for name, values := range query {
			ask[name] = values
		}
		for {
			var answer P
			if err := cl.Get(ctx, path+"?"+ask.Encode(), &answer); err != nil {
				var none T
				yield(none, err)
				return
			}
			items, next := page(answer)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			ask.Set("next", next)
		}
	}
}

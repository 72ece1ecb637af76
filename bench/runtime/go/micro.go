package main

import (
	"fmt"
	"math"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// figure is the cost of one operation; src/micro.rs measures ours in the same way and under the same names.
type figure struct {
	Name        string  `json:"name"`
	Nanoseconds float64 `json:"nanoseconds"`
	Allocations float64 `json:"allocations"`
}

const (
	keys    = 20_000
	batches = 15
)

// measure takes the best of some batches of calls, so that neighbours on the machine do not count.
func measure(name string, calls int, work func(i int)) figure {
	best := math.Inf(1)
	var before, after runtime.MemStats
	for batch := range batches {
		if batch == batches-1 {
			runtime.ReadMemStats(&before)
		}
		began := time.Now()
		for i := range calls {
			work(i)
		}
		best = min(best, float64(time.Since(began).Nanoseconds())/float64(calls))
	}
	runtime.ReadMemStats(&after)
	return figure{name, best, float64(after.Mallocs-before.Mallocs) / float64(calls)}
}

func micro() []figure {
	requests := make([]reconcile.Request, keys)
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{
		toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc,
	})
	names := make([]string, keys)
	for i := range requests {
		requests[i].Namespace, requests[i].Name = "noop", fmt.Sprintf("cm-%d", i)
		names[i] = requests[i].String()
		_ = store.Add(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "noop", Name: requests[i].Name, ResourceVersion: fmt.Sprint(i), UID: "8f1d3c0a-6f0e-4c39-9d44-1f6a4c1f2b3d",
				Labels: map[string]string{"app": "bench"},
			},
			Data: map[string]string{"number": "0", "text": text},
		})
	}
	queue := priorityqueue.New[reconcile.Request]("micro")
	defer queue.ShutDown()
	filled := func(i int) {
		// The queue takes additions over in batches, so that one at a time would measure the hand-over.
		if i == 0 {
			queue.AddWithOpts(priorityqueue.AddOpts{}, requests...)
		}
		request, _, _ := queue.GetWithPriority()
		queue.Done(request)
	}
	return []figure{
		measure("queue: add, get and done", keys, filled),
		measure("cache: get one ConfigMap, decoded and own", keys, func(i int) {
			object, _, _ := store.GetByKey(names[i])
			object.(*corev1.ConfigMap).DeepCopy()
		}),
	}
}

const text = "The quick brown fox jumps over the lazy dog. The quick brown fox jumps over the lazy dog. " +
	"The quick brown fox jumps over the lazy dog. The quick brown fox jumps over the lazy dog. "

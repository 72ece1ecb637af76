// The peer: the bench's scenarios on controller-runtime, built as its own documentation builds controllers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// report is one line to the bench; src/protocol.rs has the same fields.
type report struct {
	Event      string     `json:"event"`
	At         int64      `json:"at"`
	CPU        int64      `json:"cpu"`
	Resident   uint64     `json:"resident"`
	Anonymous  uint64     `json:"anonymous"`
	Peak       uint64     `json:"peak"`
	Heap       uint64     `json:"heap"`
	Objects    int        `json:"objects"`
	Reconciles int64      `json:"reconciles"`
	Errors     int64      `json:"errors"`
	Exists     int64      `json:"exists"`
	Seen       [][2]int64 `json:"seen,omitempty"`
	Figures    []figure   `json:"figures,omitempty"`
}

var output sync.Mutex

func say(line report) {
	line.At = time.Now().UnixNano()
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		line.CPU = (usage.Utime.Nano() + usage.Stime.Nano()) / 1000
	}
	line.Resident, line.Anonymous, line.Peak = memory("VmRSS"), memory("RssAnon"), memory("VmHWM")
	output.Lock()
	defer output.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(line)
}

// memory returns what the kernel counts of a kind, in bytes.
func memory(kind string) uint64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		var kilobytes uint64
		if _, err := fmt.Sscanf(line, kind+": %d kB", &kilobytes); err == nil {
			return kilobytes * 1024
		}
	}
	return 0
}

// heap returns what is alive after two collections.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// obey answers the bench's questions until it has no more; then the process is not needed either.
func obey(tally *tally) {
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		switch commands.Text() {
		case "sample":
			say(tally.report("sample"))
		case "heap":
			line := tally.report("heap")
			line.Heap = heap()
			say(line)
		case "seen":
			line := tally.report("seen")
			line.Seen = tally.seen()
			say(line)
		}
	}
	os.Exit(0)
}

func main() {
	scenario := flag.String("scenario", "", "idle, noop, owners, latency, pods or micro")
	count := flag.Int("count", 0, "how many objects to wait for")
	namespace := flag.String("namespace", "", "where the objects are")
	workers := flag.Int("workers", 8, "how many objects are reconciled at once")
	measureHeap := flag.Bool("heap", false, "whether the heap before the start is of interest")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if *scenario == "micro" {
		say(report{Event: "micro", Figures: micro()})
		return
	}
	tally := newTally(*count)
	go obey(tally)
	if err := run(*scenario, *namespace, *workers, *measureHeap, tally); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(scenario, namespace string, workers int, measureHeap bool, tally *tally) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	options := ctrl.Options{Metrics: metrics.Options{BindAddress: "0"}}
	if scenario == "owners" || scenario == "latency" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	reconciler := &reconciler{client: mgr.GetClient(), scheme: mgr.GetScheme(), namespace: namespace, tally: tally}
	builder := ctrl.NewControllerManagedBy(mgr).WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	switch scenario {
	case "idle", "noop", "latency":
		err = builder.For(&corev1.ConfigMap{}).Complete(reconciler.noop(scenario == "latency"))
	case "owners":
		err = builder.For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(reconciler.owners())
	case "pods":
		// A cache without a controller.
	default:
		return fmt.Errorf("no scenario %q", scenario)
	}
	if err != nil {
		return err
	}
	if scenario == "pods" || scenario == "idle" {
		var object ctrlObject = &corev1.Pod{}
		if scenario == "idle" {
			object = &corev1.ConfigMap{}
		}
		err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			informer, err := mgr.GetCache().GetInformer(ctx, object)
			if err != nil {
				return err
			}
			line := tally.report("done")
			if shared, ok := informer.(toolscache.SharedIndexInformer); ok {
				line.Objects = len(shared.GetStore().ListKeys())
			}
			say(line)
			return nil
		}))
		if err != nil {
			return err
		}
	}
	built := tally.report("built")
	if measureHeap {
		built.Heap = heap()
	}
	say(built)
	return mgr.Start(ctrl.SetupSignalHandler())
}

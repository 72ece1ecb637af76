// A test environment of controller-runtime with one controller in it: how long it takes to start, to reconcile and to stop.
// usage: peer ROUNDS; one line of JSON per round, in seconds and bytes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var kind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Garden"}

type round struct {
	Start     float64 `json:"start"`
	Reconcile float64 `json:"reconcile"`
	Stop      float64 `json:"stop"`
	// Memory is what the processes of the control plane have, in bytes; what two of them share counts for both.
	Memory float64 `json:"memory"`
	// Proportional is the same, but what several processes share counts once, divided among them.
	Proportional float64 `json:"proportional"`
}

type gardener struct{ client.Client }

func (g gardener) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	garden := newGarden()
	if err := g.Get(ctx, request.NamespacedName, garden); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	plants, _, err := unstructured.NestedInt64(garden.Object, "spec", "plants")
	if err != nil {
		return ctrl.Result{}, err
	}
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: request.Name, Namespace: request.Namespace}}
	_, err = controllerutil.CreateOrUpdate(ctx, g.Client, child, func() error {
		child.Data = map[string]string{}
		for number := range plants {
			child.Data[fmt.Sprintf("plant-%d", number)] = "green"
		}
		return controllerutil.SetControllerReference(garden, child, g.Scheme())
	})
	return ctrl.Result{}, err
}

func newGarden() *unstructured.Unstructured {
	garden := &unstructured.Unstructured{}
	garden.SetGroupVersionKind(kind)
	return garden
}

func definition() *apiextensions.CustomResourceDefinition {
	object := apiextensions.JSONSchemaProps{
		Type: "object",
		Properties: map[string]apiextensions.JSONSchemaProps{
			"spec": {
				Type:       "object",
				Properties: map[string]apiextensions.JSONSchemaProps{"plants": {Type: "integer"}},
			},
		},
	}
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gardens.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: kind.Group,
			Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "gardens", Singular: "garden", Kind: kind.Kind, ListKind: "GardenList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &object},
			}},
		},
	}
}

func measure() (round, error) {
	began := time.Now()
	environment := &envtest.Environment{CRDs: []*apiextensions.CustomResourceDefinition{definition()}}
	rest, err := environment.Start()
	if err != nil {
		return round{}, err
	}
	manager, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme:     scheme.Scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return round{}, err
	}
	err = ctrl.NewControllerManagedBy(manager).For(newGarden()).Owns(&corev1.ConfigMap{}).Complete(gardener{manager.GetClient()})
	if err != nil {
		return round{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	if !manager.GetCache().WaitForCacheSync(ctx) {
		return round{}, fmt.Errorf("the caches are not filled")
	}
	start := time.Since(began)

	created := time.Now()
	direct, err := client.New(rest, client.Options{})
	if err != nil {
		return round{}, err
	}
	garden := newGarden()
	garden.SetName("roses")
	garden.SetNamespace("default")
	if err := unstructured.SetNestedField(garden.Object, int64(2), "spec", "plants"); err != nil {
		return round{}, err
	}
	if err := direct.Create(ctx, garden); err != nil {
		return round{}, err
	}
	// As its users wait: Eventually asks every ten milliseconds.
	deadline := time.Now().Add(30 * time.Second)
	for {
		var child corev1.ConfigMap
		if err := direct.Get(ctx, client.ObjectKeyFromObject(garden), &child); err == nil && len(child.Data) == 2 {
			break
		}
		if time.Now().After(deadline) {
			return round{}, fmt.Errorf("the garden was not reconciled")
		}
		time.Sleep(10 * time.Millisecond)
	}
	reconcile := time.Since(created)

	memory, proportional := children()
	stopping := time.Now()
	cancel()
	if err := <-ended; err != nil {
		return round{}, err
	}
	if err := environment.Stop(); err != nil {
		// It gives up after twenty seconds and kills; that is its stop.
		fmt.Fprintln(os.Stderr, "envtest:", err)
	}
	return round{start.Seconds(), reconcile.Seconds(), time.Since(stopping).Seconds(), memory, proportional}, nil
}

// children sums the memory of the processes that this one started, as Linux tells it: resident (Rss) and proportional (Pss).
func children() (resident, proportional float64) {
	statuses, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range statuses {
		if field(path, "PPid: %f") != float64(os.Getpid()) {
			continue
		}
		rollup := filepath.Join(filepath.Dir(path), "smaps_rollup")
		resident += field(rollup, "Rss: %f kB") * 1024
		proportional += field(rollup, "Pss: %f kB") * 1024
	}
	return resident, proportional
}

// field is a number in a file of /proc, by the format of its line; 0 if there is none.
func field(path, format string) float64 {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		var value float64
		if found, _ := fmt.Sscanf(line, format, &value); found == 1 {
			return value
		}
	}
	return 0
}

func main() {
	ctrl.SetLogger(logr.Discard())
	rounds, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "usage: peer ROUNDS")
		os.Exit(2)
	}
	for range rounds {
		round, err := measure()
		if err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
			os.Exit(1)
		}
		line, _ := json.Marshal(round)
		fmt.Println(string(line))
	}
}

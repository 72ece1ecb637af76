// The scenario without controllers on envtest: a view is created and scaled, by a controller that makes what the example's makes.
// usage: peer DEFINITION ROUNDS; one line of JSON per round, in seconds.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var kind = schema.GroupVersionKind{Group: "view.zoetrope.github.io", Version: "v1", Kind: "MarkdownView"}

type round struct {
	// Start is the time until the caches of the manager are filled.
	Start float64 `json:"start"`
	// Steps is the time of all steps.
	Steps float64 `json:"steps"`
	Stop  float64 `json:"stop"`
}

type viewer struct{ client.Client }

func (v viewer) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	view := newView()
	if err := v.Get(ctx, request.NamespacedName, view); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	replicas, _, err := unstructured.NestedInt64(view.Object, "spec", "replicas")
	if err != nil {
		return ctrl.Result{}, err
	}
	markdowns, _, err := unstructured.NestedStringMap(view.Object, "spec", "markdowns")
	if err != nil {
		return ctrl.Result{}, err
	}
	labels := map[string]string{"app.kubernetes.io/name": "mdbook", "app.kubernetes.io/instance": request.Name}
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: request.Namespace}
	}

	documents := &corev1.ConfigMap{ObjectMeta: named("markdowns-" + request.Name)}
	if _, err := controllerutil.CreateOrUpdate(ctx, v.Client, documents, func() error {
		documents.Data = markdowns
		return controllerutil.SetControllerReference(view, documents, v.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	deployment := &appsv1.Deployment{ObjectMeta: named("viewer-" + request.Name)}
	if _, err := controllerutil.CreateOrUpdate(ctx, v.Client, deployment, func() error {
		deployment.Spec.Replicas = ptr.To(int32(replicas))
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		pod := &deployment.Spec.Template.Spec
		if len(pod.Containers) == 0 {
			pod.Containers = []corev1.Container{{Name: "mdbook"}}
		}
		pod.Containers[0].Image = "peaceiris/mdbook:latest"
		pod.Containers[0].Command = []string{"mdbook"}
		pod.Containers[0].Args = []string{"serve", "--hostname", "0.0.0.0"}
		return controllerutil.SetControllerReference(view, deployment, v.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	service := &corev1.Service{ObjectMeta: named("viewer-" + request.Name)}
	if _, err := controllerutil.CreateOrUpdate(ctx, v.Client, service, func() error {
		service.Spec.Selector = labels
		service.Spec.Ports = []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(3000)}}
		return controllerutil.SetControllerReference(view, service, v.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}

	// As in the example, a condition says whether there is a viewer, and of which generation that is true.
	condition := map[string]any{
		"type": "Available", "status": "False", "reason": "Unavailable", "message": "AvailableReplicas is 0",
		"observedGeneration": view.GetGeneration(), "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}
	known, _, err := unstructured.NestedSlice(view.Object, "status", "conditions")
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(known) == 1 && known[0].(map[string]any)["observedGeneration"] == view.GetGeneration() {
		return ctrl.Result{}, nil
	}
	if err := unstructured.SetNestedSlice(view.Object, []any{condition}, "status", "conditions"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, v.Status().Update(ctx, view)
}

func newView() *unstructured.Unstructured {
	view := &unstructured.Unstructured{}
	view.SetGroupVersionKind(kind)
	return view
}

// observed waits until the status is of the newest generation and the Deployment has so many replicas, as users wait: Eventually asks every
// ten milliseconds.
func observed(ctx context.Context, direct client.Client, view *unstructured.Unstructured, replicas int32) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		if err := direct.Get(ctx, client.ObjectKeyFromObject(view), view); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(view.Object, "status", "conditions")
		if err != nil {
			return err
		}
		var deployment appsv1.Deployment
		key := client.ObjectKey{Namespace: view.GetNamespace(), Name: "viewer-" + view.GetName()}
		err = direct.Get(ctx, key, &deployment)
		if err == nil && *deployment.Spec.Replicas == replicas && len(conditions) == 1 &&
			conditions[0].(map[string]any)["observedGeneration"] == view.GetGeneration() {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the view was not reconciled")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func steps(ctx context.Context, direct client.Client) error {
	view := newView()
	view.SetName("sample")
	view.SetNamespace("default")
	view.Object["spec"] = map[string]any{"markdowns": map[string]any{"SUMMARY.md": "summary"}, "replicas": int64(1)}
	if err := direct.Create(ctx, view); err != nil {
		return err
	}
	if err := observed(ctx, direct, view, 1); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(view.Object, int64(3), "spec", "replicas"); err != nil {
		return err
	}
	if err := direct.Update(ctx, view); err != nil {
		return err
	}
	return observed(ctx, direct, view, 3)
}

func measure(definition string) (round, error) {
	began := time.Now()
	environment := &envtest.Environment{CRDDirectoryPaths: []string{definition}, ErrorIfCRDPathMissing: true}
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
	builder := ctrl.NewControllerManagedBy(manager).For(newView())
	builder = builder.Owns(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{}).Owns(&corev1.Service{})
	if err := builder.Complete(viewer{manager.GetClient()}); err != nil {
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

	taking := time.Now()
	direct, err := client.New(rest, client.Options{})
	if err != nil {
		return round{}, err
	}
	if err := steps(ctx, direct); err != nil {
		return round{}, err
	}
	taken := time.Since(taking)

	stopping := time.Now()
	cancel()
	if err := <-ended; err != nil {
		return round{}, err
	}
	if err := environment.Stop(); err != nil {
		// It gives up after twenty seconds and kills; that is its stop.
		fmt.Fprintln(os.Stderr, "envtest:", err)
	}
	return round{start.Seconds(), taken.Seconds(), time.Since(stopping).Seconds()}, nil
}

func main() {
	ctrl.SetLogger(logr.Discard())
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: peer DEFINITION ROUNDS")
		os.Exit(2)
	}
	rounds, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "usage: peer DEFINITION ROUNDS")
		os.Exit(2)
	}
	for range rounds {
		round, err := measure(os.Args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
			os.Exit(1)
		}
		line, _ := json.Marshal(round)
		fmt.Println(string(line))
	}
}

package envtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type gardener struct{ client.Client }

func (g gardener) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := garden("", 0)
	if err := g.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	plants, _, err := unstructured.NestedInt64(object.Object, "spec", "plants")
	if err != nil {
		return ctrl.Result{}, err
	}
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: request.Name, Namespace: request.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, g.Client, child, func() error {
		child.Data = map[string]string{"plants": fmt.Sprint(plants)}
		return controllerutil.SetControllerReference(object, child, g.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	if err := unstructured.SetNestedField(object.Object, plants, "status", "planted"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, g.Status().Update(ctx, object)
}

// colour gives every garden a colour.
type colour struct{}

func (colour) Handle(_ context.Context, request admission.Request) admission.Response {
	object := map[string]any{}
	if err := json.Unmarshal(request.Object.Raw, &object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	object["spec"].(map[string]any)["colour"] = "green"
	changed, err := json.Marshal(object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed)
}

// plants refuses unlucky numbers.
type plants struct{}

func (plants) Handle(_ context.Context, request admission.Request) admission.Response {
	if strings.Contains(string(request.Object.Raw), `"plants":13`) {
		return admission.Denied("thirteen plants bring bad luck")
	}
	return admission.Allowed("")
}

func TestAManagerWithWebhooksReconciles(t *testing.T) {
	environment := &envtest.Environment{
		CRDDirectoryPaths:     crds(),
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{filepath.Join("testdata", "webhooks.yaml")}},
	}
	restConfig, api := start(t, environment)
	hooks := &environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:     scheme.Scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
		}),
		LeaderElection:          true,
		LeaderElectionID:        "gardens.example.com",
		LeaderElectionNamespace: "default",
	})
	if err != nil {
		t.Fatal(err)
	}
	manager.GetWebhookServer().Register("/colour", &admission.Webhook{Handler: colour{}})
	manager.GetWebhookServer().Register("/plants", &admission.Webhook{Handler: plants{}})
	if err := ctrl.NewControllerManagedBy(manager).For(garden("", 0)).Owns(&corev1.ConfigMap{}).Complete(gardener{manager.GetClient()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	object := garden("backyard", 5)
	eventually(t, "the webhooks answer", func() bool { return api.Create(t.Context(), object.DeepCopy()) == nil })
	if err := api.Create(t.Context(), garden("unlucky", 13)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "bad luck") {
		t.Fatalf("thirteen plants: %v", err)
	}
	child := &corev1.ConfigMap{}
	key := client.ObjectKeyFromObject(object)
	eventually(t, "its config map is there", func() bool { return api.Get(t.Context(), key, child) == nil })
	if child.Data["plants"] != "5" || len(child.OwnerReferences) != 1 {
		t.Fatalf("%v", child)
	}
	eventually(t, "its status is written", func() bool {
		if err := api.Get(t.Context(), key, object); err != nil {
			t.Fatal(err)
		}
		planted, _, _ := unstructured.NestedInt64(object.Object, "status", "planted")
		return planted == 5
	})
	if got, _, _ := unstructured.NestedString(object.Object, "spec", "colour"); got != "green" {
		t.Fatalf("the colour is %q", got)
	}
	// What a test does to see the operator repair something.
	if err := api.Delete(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its config map is there again", func() bool {
		again := &corev1.ConfigMap{}
		return api.Get(t.Context(), key, again) == nil && again.UID != child.UID
	})
}

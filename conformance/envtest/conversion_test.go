package envtest

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// convert answers a ConversionReview: v1 has metres, v2 has centimetres.
func convert(answer http.ResponseWriter, request *http.Request) {
	review := struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Request    map[string]any `json:"request,omitempty"`
		Response   map[string]any `json:"response"`
	}{}
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	wanted := review.Request["desiredAPIVersion"]
	converted := []any{}
	for _, item := range review.Request["objects"].([]any) {
		object := item.(map[string]any)
		spec := object["spec"].(map[string]any)
		if metres, is := spec["metres"].(float64); is && wanted == "example.com/v2" {
			object["spec"] = map[string]any{"centimetres": metres * 100}
		} else if centimetres, is := spec["centimetres"].(float64); is && wanted == "example.com/v1" {
			object["spec"] = map[string]any{"metres": centimetres / 100}
		}
		object["apiVersion"] = wanted
		converted = append(converted, object)
	}
	review.Response = map[string]any{
		"uid": review.Request["uid"], "convertedObjects": converted, "result": map[string]any{"status": "Success"},
	}
	review.Request = nil
	answer.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(answer).Encode(review); err != nil {
		panic(err)
	}
}

func TestDefinitionsAreInstalledWithTheWebhookThatConvertsThem(t *testing.T) {
	environment := &envtest.Environment{
		CRDInstallOptions:     envtest.CRDInstallOptions{Paths: []string{filepath.Join("testdata", "converted")}},
		WebhookInstallOptions: envtest.WebhookInstallOptions{IgnoreSchemeConvertible: true},
	}
	_, api := start(t, environment)
	hooks := &environment.WebhookInstallOptions
	server := webhook.NewServer(webhook.Options{
		Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
	})
	server.Register("/convert", http.HandlerFunc(convert))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	bed := func(version string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Bed"})
		object.SetNamespace("default")
		object.SetName("roses")
		return object
	}
	made := bed("v2")
	made.Object["spec"] = map[string]any{"centimetres": int64(300)}
	eventually(t, "the webhook converts", func() bool { return api.Create(t.Context(), made.DeepCopy()) == nil })
	stored := bed("v1")
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		t.Fatal(err)
	}
	if metres, _, _ := unstructured.NestedInt64(stored.Object, "spec", "metres"); metres != 3 {
		t.Fatalf("%v", stored.Object)
	}
}

package envtest

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestDeploymentsGetPodsWithControllers(t *testing.T) {
	t.Setenv("KUBEWRIGHT_CONTROLLERS", "all")
	_, api := start(t, &envtest.Environment{})
	labels := map[string]string{"app": "web"}
	replicas := int32(2)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
	if err := api.Create(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(deployment)
	eventually(t, "the deployment is available", func() bool {
		if err := api.Get(t.Context(), key, deployment); err != nil {
			t.Fatal(err)
		}
		return deployment.Status.AvailableReplicas == replicas
	})
	pods := &corev1.PodList{}
	if err := api.List(t.Context(), pods, client.InNamespace("default"), client.MatchingLabels(labels)); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning || pod.Spec.NodeName == "" {
			t.Fatalf("%s: %s on %q", pod.Name, pod.Status.Phase, pod.Spec.NodeName)
		}
	}
	if len(pods.Items) != int(replicas) {
		t.Fatalf("%d Pods", len(pods.Items))
	}
	// Nothing is left behind: the garbage collector runs, too.
	if err := api.Delete(t.Context(), deployment, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its Pods are gone", func() bool {
		left := &corev1.PodList{}
		return api.List(t.Context(), left, client.InNamespace("default")) == nil && len(left.Items) == 0
	})
}

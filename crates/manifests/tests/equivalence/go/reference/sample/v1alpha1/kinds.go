// Package v1alpha1 has the kind of Kubernetes' own sample.
// +groupName=samplecontroller.k8s.io
package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Foo asks for a Deployment.
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, experimental-only"
type Foo struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec FooSpec `json:"spec"`
	// +optional
	Status FooStatus `json:"status,omitzero"`
}

// FooSpec is the Deployment that is asked for.
type FooSpec struct {
	// DeploymentName is its name.
	// +optional
	DeploymentName string `json:"deploymentName,omitempty"`
	// Replicas is how many Pods it has.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
}

// FooStatus is what is known of the Deployment.
type FooStatus struct {
	// AvailableReplicas is how many Pods are there.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
}

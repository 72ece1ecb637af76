// Package v1alpha1 has the kind of the memos' second walkthrough.
// +groupName=samplecontroller.ginoh.github.io
package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Bar asks for a Deployment.
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Deployment",type=string,JSONPath=`.spec.deploymentName`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Bar struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec BarSpec `json:"spec"`
	// +optional
	Status BarStatus `json:"status,omitzero"`
}

// BarSpec is the Deployment that is asked for.
type BarSpec struct {
	// DeploymentName is its name.
	// +kubebuilder:validation:MinLength=1
	DeploymentName string `json:"deploymentName"`
	// Replicas is how many Pods it has.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
}

// BarStatus is what is known of the Deployment.
type BarStatus struct {
	// AvailableReplicas is how many Pods are there.
	AvailableReplicas int32 `json:"availableReplicas"`
}

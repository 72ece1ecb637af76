// Package v1 has the kind of the markdown viewer.
// +groupName=view.zoetrope.github.io
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MarkdownView shows documents.
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="REPLICAS",type="integer",JSONPath=".spec.replicas"
// +kubebuilder:printcolumn:name="AVAILABLE",type="string",JSONPath=".status.conditions[?(@.type==\"Available\")].status"
type MarkdownView struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is what is to be shown.
	// +required
	Spec MarkdownViewSpec `json:"spec"`
	// status is what is shown.
	// +optional
	Status MarkdownViewStatus `json:"status,omitzero"`
}

// MarkdownViewSpec is what is to be shown and how.
type MarkdownViewSpec struct {
	// Markdowns are the documents, by the name of their file.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinProperties=1
	Markdowns map[string]string `json:"markdowns,omitempty"`
	// Replicas is how many viewers there are.
	// +kubebuilder:default=1
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// ViewerImage is what the viewers run.
	// +optional
	ViewerImage string `json:"viewerImage,omitempty"`
}

// MarkdownViewStatus is what is known of the viewers.
type MarkdownViewStatus struct {
	// Conditions are what is known.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

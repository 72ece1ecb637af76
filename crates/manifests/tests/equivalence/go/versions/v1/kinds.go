// Package v1 is the version that is stored.
// +groupName=versions.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Evolving has had several versions.
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:subresource:status
type Evolving struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec EvolvingSpec `json:"spec"`
	// +optional
	Status EvolvingStatus `json:"status,omitzero"`
}

// EvolvingSpec is what is asked for.
type EvolvingSpec struct {
	// Size is a number.
	Size int32 `json:"size"`
	// Colour came with this version.
	// +optional
	Colour string `json:"colour,omitempty"`
}

// EvolvingStatus is what is there.
type EvolvingStatus struct {
	// Ready is how many are there.
	// +optional
	Ready int32 `json:"ready,omitempty"`
}

// Package v1beta1 is a version that is on its way out.
// +groupName=versions.example.com
package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Evolving has had several versions.
// +kubebuilder:deprecatedversion:warning="versions.example.com/v1beta1 goes away; use v1"
type Evolving struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec EvolvingSpec `json:"spec"`
}

// EvolvingSpec is what is asked for.
type EvolvingSpec struct {
	// Size is a number.
	Size int32 `json:"size"`
}

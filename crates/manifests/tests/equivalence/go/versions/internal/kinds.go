// Package internal is a version that only the program knows.
// +groupName=versions.example.com
// +versionName=v0
package internal

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Evolving has had several versions.
// +kubebuilder:skipversion
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
	Size int64 `json:"size"`
}

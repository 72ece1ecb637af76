// Package notes has a type that looks like a kind of the group and is none.
// +groupName=versions.example.com
// +kubebuilder:skip
package notes

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Evolving is not a version of the kind.
type Evolving struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
}

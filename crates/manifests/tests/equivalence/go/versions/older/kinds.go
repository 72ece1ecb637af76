// Package older is a version that is not served any more; its name is not that of its folder.
// +groupName=versions.example.com
// +versionName=v1alpha1
package older

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Evolving has had several versions.
// +kubebuilder:unservedversion
// +kubebuilder:deprecatedversion
type Evolving struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec EvolvingSpec `json:"spec"`
}

// EvolvingSpec is what is asked for.
type EvolvingSpec struct {
	// Size is a text in this version.
	Size string `json:"size"`
}

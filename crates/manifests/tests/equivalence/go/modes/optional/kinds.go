// Package optional has fields that may be left out unless they say otherwise.
// +groupName=modes.example.com
// +versionName=v1
// +kubebuilder:validation:Optional
package optional

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Lenient wants little.
type Lenient struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              LenientSpec `json:"spec"`
}

// LenientSpec wants one thing only.
type LenientSpec struct {
	// Unmarked may be left out.
	Unmarked string `json:"unmarked"`
	// Needed may not.
	// +required
	Needed string `json:"needed"`
	// Inner is an object of the same package.
	Inner LenientInner `json:"inner"`
}

// LenientInner wants nothing.
type LenientInner struct {
	// Size may be left out.
	Size int32 `json:"size"`
}

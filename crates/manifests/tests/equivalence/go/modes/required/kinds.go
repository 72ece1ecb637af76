// Package required has fields that must be there unless they say otherwise.
// +groupName=modes.example.com
// +versionName=v1
// +kubebuilder:validation:Required
package required

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Demanding wants much.
type Demanding struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              DemandingSpec `json:"spec"`
}

// DemandingSpec wants nearly everything.
type DemandingSpec struct {
	// Unmarked must be there.
	Unmarked string `json:"unmarked"`
	// Free need not.
	// +optional
	Free string `json:"free,omitempty"`
}

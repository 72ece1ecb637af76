// Package v1 has the types that controller-gen calls dangerous.
// +groupName=floats.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Measurement has fractions.
type Measurement struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec MeasurementSpec `json:"spec"`
}

// MeasurementSpec has a field of each width.
type MeasurementSpec struct {
	// Single is a number of 32 bits.
	Single float32 `json:"single"`
	// Double is a number of 64 bits.
	// +kubebuilder:validation:Minimum=0.5
	// +kubebuilder:validation:MultipleOf=0.25
	Double float64 `json:"double"`
}

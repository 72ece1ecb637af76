package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// UpperBound has numbers that may not be too great.
type UpperBound struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec UpperBoundSpec `json:"spec"`
}

// UpperBoundSpec bounds numbers from above.
type UpperBoundSpec struct {
	// Field is bounded where it stands.
	// +kubebuilder:validation:Maximum=10
	Field int32 `json:"field"`
	// Named is bounded by its type.
	Named AtMostTen `json:"named"`
	// Items are bounded where they stand.
	// +kubebuilder:validation:items:Maximum=20
	Items []int64 `json:"items"`
	// NamedItems are bounded by the type of the list.
	NamedItems ListAtMostTwenty `json:"namedItems"`
	// Declared is bounded by the marker of declarative validation.
	// +k8s:maximum=30
	Declared int32 `json:"declared"`
}

// AtMostTen is a small number.
// +kubebuilder:validation:Maximum=10
type AtMostTen int32

// ListAtMostTwenty is a list of small numbers.
// +kubebuilder:validation:items:Maximum=20
type ListAtMostTwenty []int64

// LowerBound has numbers that may not be too small.
type LowerBound struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec LowerBoundSpec `json:"spec"`
}

// LowerBoundSpec bounds numbers from below.
type LowerBoundSpec struct {
	// Field is bounded where it stands.
	// +kubebuilder:validation:Minimum=-5
	Field int32 `json:"field"`
	// Named is bounded by its type.
	Named AtLeastOne `json:"named"`
	// Items are bounded where they stand.
	// +kubebuilder:validation:items:Minimum=2
	Items []int64 `json:"items"`
	// NamedItems are bounded by the type of the list.
	NamedItems ListAtLeastTwo `json:"namedItems"`
	// Declared is bounded by the marker of declarative validation.
	// +k8s:minimum=3
	Declared int32 `json:"declared"`
	// Both has its type's bound and one of its own.
	// +kubebuilder:validation:Maximum=99
	Both AtLeastOne `json:"both"`
}

// AtLeastOne is a positive number.
// +kubebuilder:validation:Minimum=1
type AtLeastOne int32

// ListAtLeastTwo is a list of numbers above one.
// +kubebuilder:validation:items:Minimum=2
type ListAtLeastTwo []int64

// OpenUpperBound has numbers that stay below a bound.
type OpenUpperBound struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec OpenUpperBoundSpec `json:"spec"`
}

// OpenUpperBoundSpec bounds numbers from above, the bound excluded.
type OpenUpperBoundSpec struct {
	// Field is bounded where it stands.
	// +kubebuilder:validation:Maximum=10
	// +kubebuilder:validation:ExclusiveMaximum=true
	Field int32 `json:"field"`
	// Named is bounded by its type.
	Named BelowTen `json:"named"`
	// Items are bounded where they stand.
	// +kubebuilder:validation:items:Maximum=20
	// +kubebuilder:validation:items:ExclusiveMaximum=true
	Items []int64 `json:"items"`
	// NamedItems are bounded by the type of the list.
	NamedItems ListBelowTwenty `json:"namedItems"`
}

// BelowTen is a number below ten.
// +kubebuilder:validation:Maximum=10
// +kubebuilder:validation:ExclusiveMaximum=true
type BelowTen int32

// ListBelowTwenty is a list of numbers below twenty.
// +kubebuilder:validation:items:Maximum=20
// +kubebuilder:validation:items:ExclusiveMaximum=true
type ListBelowTwenty []int64

// OpenLowerBound has numbers that stay above a bound.
type OpenLowerBound struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec OpenLowerBoundSpec `json:"spec"`
}

// OpenLowerBoundSpec bounds numbers from below, the bound excluded.
type OpenLowerBoundSpec struct {
	// Field is bounded where it stands.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	Field int32 `json:"field"`
	// Named is bounded by its type.
	Named AboveZero `json:"named"`
	// Items are bounded where they stand.
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:ExclusiveMinimum=true
	Items []int64 `json:"items"`
	// NamedItems are bounded by the type of the list.
	NamedItems ListAboveOne `json:"namedItems"`
}

// AboveZero is a positive number.
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:ExclusiveMinimum=true
type AboveZero int32

// ListAboveOne is a list of numbers above one.
// +kubebuilder:validation:items:Minimum=1
// +kubebuilder:validation:items:ExclusiveMinimum=true
type ListAboveOne []int64

// Multiple has numbers of a raster.
type Multiple struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec MultipleSpec `json:"spec"`
}

// MultipleSpec has only multiples.
type MultipleSpec struct {
	// Field is a multiple where it stands.
	// +kubebuilder:validation:MultipleOf=5
	Field int32 `json:"field"`
	// Named is a multiple by its type.
	Named Even `json:"named"`
	// Items are multiples where they stand.
	// +kubebuilder:validation:items:MultipleOf=3
	Items []int64 `json:"items"`
	// NamedItems are multiples by the type of the list.
	NamedItems ListOfEven `json:"namedItems"`
}

// Even is an even number.
// +kubebuilder:validation:MultipleOf=2
type Even int32

// ListOfEven is a list of even numbers.
// +kubebuilder:validation:items:MultipleOf=2
type ListOfEven []int64

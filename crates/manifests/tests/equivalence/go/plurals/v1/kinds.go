// Package v1 has kinds whose names have a plural that is more than an s.
// +groupName=plurals.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Policy is a kind.
type Policy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Box is a kind.
type Box struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Gateway is a kind.
type Gateway struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Index is a kind.
type Index struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Analysis is a kind.
type Analysis struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Status is a kind.
type Status struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Child is a kind.
type Child struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Quiz is a kind.
type Quiz struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Leaf is a kind.
type Leaf struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Bus is a kind.
type Bus struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Proxy is a kind.
type Proxy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Dish is a kind.
type Dish struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Hero is a kind.
type Hero struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Mouse is a kind.
type Mouse struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Endpoints is a kind.
type Endpoints struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Data is a kind.
type Data struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Ingress is a kind.
type Ingress struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Kafka is a kind.
type Kafka struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Series is a kind.
type Series struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Sheep is a kind.
type Sheep struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// DNS is a kind.
type DNS struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Photo is a kind.
type Photo struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec Nothing `json:"spec"`
}

// Nothing has no fields.
type Nothing struct{}

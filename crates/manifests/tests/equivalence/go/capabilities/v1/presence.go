package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Obligatory has fields that must be there.
type Obligatory struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ObligatorySpec `json:"spec"`
}

// ObligatorySpec has required fields.
type ObligatorySpec struct {
	// Unmarked is required because it is always written.
	Unmarked string `json:"unmarked"`
	// Marked is required although it may be empty.
	// +required
	Marked string `json:"marked,omitempty"`
	// Kubebuilder is required by kubebuilder's marker.
	// +kubebuilder:validation:Required
	Kubebuilder string `json:"kubebuilder,omitempty"`
	// Text is required by the marker of declarative validation and may not be empty.
	// +k8s:required
	Text string `json:"text,omitempty"`
	// List is required by the marker of declarative validation and may not be empty.
	// +k8s:required
	List []string `json:"list,omitempty"`
	// Map is required by the marker of declarative validation and may not be empty.
	// +k8s:required
	Map map[string]string `json:"map,omitempty"`
	// Object is required by the marker of declarative validation and may not be empty.
	// +k8s:required
	Object PresenceObject `json:"object,omitzero"`
	// Number is required by the marker of declarative validation and may be zero.
	// +k8s:required
	Number *int32 `json:"number,omitempty"`
}

// PresenceObject is an object.
type PresenceObject struct {
	// Name is a text.
	// +optional
	Name string `json:"name,omitempty"`
}

// Voluntary has fields that may be left out.
type Voluntary struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec VoluntarySpec `json:"spec"`
}

// VoluntarySpec has optional fields.
type VoluntarySpec struct {
	// Omitempty is optional because it is not written when empty.
	Omitempty string `json:"omitempty,omitempty"`
	// Omitzero is optional because it is not written when zero.
	Omitzero PresenceObject `json:"omitzero,omitzero"`
	// Pointer is optional.
	Pointer *bool `json:"pointer,omitempty"`
	// Marked is optional although it is always written.
	// +optional
	Marked string `json:"marked"`
	// Kubebuilder is optional by kubebuilder's marker.
	// +kubebuilder:validation:Optional
	Kubebuilder int32 `json:"kubebuilder"`
	// Declared is optional by the marker of declarative validation.
	// +k8s:optional
	Declared []string `json:"declared"`
}

// Exclusive allows no two of its fields.
type Exclusive struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ExclusiveSpec `json:"spec"`
}

// ExclusiveSpec has fields that exclude each other.
// +kubebuilder:validation:AtMostOneOf=one;two
// +kubebuilder:validation:AtMostOneOf=three;four
type ExclusiveSpec struct {
	// +optional
	One *string `json:"one,omitempty"`
	// +optional
	Two *string `json:"two,omitempty"`
	// +optional
	Three *string `json:"three,omitempty"`
	// +optional
	Four *string `json:"four,omitempty"`
}

// Union has one of its fields.
type Union struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec UnionSpec `json:"spec"`
}

// UnionSpec has exactly one of its fields.
// +kubebuilder:validation:ExactlyOneOf=one;two
type UnionSpec struct {
	// +optional
	One *string `json:"one,omitempty"`
	// +optional
	Two *UnionMember `json:"two,omitempty"`
}

// UnionMember is a part of a union.
type UnionMember struct {
	// Name is a text.
	Name string `json:"name"`
}

// MoreThanNone wants one of its fields.
type MoreThanNone struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec MoreThanNoneSpec `json:"spec"`
}

// MoreThanNoneSpec has at least one of its fields.
// +kubebuilder:validation:AtLeastOneOf=one;two;three
type MoreThanNoneSpec struct {
	// +optional
	One *string `json:"one,omitempty"`
	// +optional
	Two *string `json:"two,omitempty"`
	// +optional
	Three *string `json:"three,omitempty"`
}

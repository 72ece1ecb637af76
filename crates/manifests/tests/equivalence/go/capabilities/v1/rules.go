package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Ruled has rules in CEL.
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() < 20",message="the name is too long"
type Ruled struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec RuledSpec `json:"spec"`
}

// RuledSpec has rules on fields, types and items.
// +kubebuilder:validation:XValidation:rule="self.least <= self.most",message="least is above most",reason=FieldValueForbidden,fieldPath=.least
// +kubebuilder:validation:XValidation:rule="self.most < 100",messageExpression="self.most > 1000 ? 'far too many' : 'too many'"
type RuledSpec struct {
	// Least is the lower one.
	Least int32 `json:"least"`
	// Most is the upper one.
	Most int32 `json:"most"`
	// Field has a rule where it stands.
	// +kubebuilder:validation:XValidation:rule="self.startsWith('a')"
	Field string `json:"field"`
	// Transition has a rule that sees the object before.
	// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || self >= oldSelf.value()",optionalOldSelf=true,message="it may not shrink"
	Transition int32 `json:"transition"`
	// Items have a rule where they stand.
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=10
	// +kubebuilder:validation:items:XValidation:rule="self != 'forbidden'",reason=FieldValueInvalid
	Items []string `json:"items"`
	// NamedItems have a rule that the list's type says.
	// +kubebuilder:validation:MaxItems=10
	NamedItems PositiveNumbers `json:"namedItems"`
	// Named has the rules of its type and one of its own.
	// +kubebuilder:validation:XValidation:rule="self != 13"
	Named OddNumber `json:"named"`
}

// PositiveNumbers is a list of positive numbers.
// +kubebuilder:validation:items:XValidation:rule="self > 0"
type PositiveNumbers []int32

// OddNumber is an odd number.
// +kubebuilder:validation:XValidation:rule="self % 2 == 1",message="it is even"
type OddNumber int32

// Constant has fields that never change.
type Constant struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ConstantSpec `json:"spec"`
}

// ConstantSpec has immutable fields.
type ConstantSpec struct {
	// Required never changes.
	// +required
	// +k8s:immutable
	Required string `json:"required"`
	// Optional never changes once it is set.
	// +optional
	// +k8s:immutable
	Optional *string `json:"optional,omitempty"`
	// Object never changes once it is set.
	// +optional
	// +k8s:immutable
	Object *ConstantObject `json:"object,omitempty"`
}

// ConstantObject is an object.
type ConstantObject struct {
	// Name is a text.
	Name string `json:"name"`
}

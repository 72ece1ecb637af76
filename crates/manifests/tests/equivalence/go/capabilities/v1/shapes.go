package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Matryoshka holds whole objects.
type Matryoshka struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec MatryoshkaSpec `json:"spec"`
}

// MatryoshkaSpec has objects in it.
type MatryoshkaSpec struct {
	// Field is any object.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Field runtime.RawExtension `json:"field"`
	// Alias is any object, said with the other marker.
	// +kubebuilder:validation:XEmbeddedResource
	Alias runtime.RawExtension `json:"alias"`
	// Named is any object by its type.
	Named InnerObject `json:"named"`
	// Items are any objects.
	// +kubebuilder:validation:items:XEmbeddedResource
	// +kubebuilder:validation:items:XPreserveUnknownFields
	Items []runtime.RawExtension `json:"items"`
	// NamedItems are objects by the type of the list.
	NamedItems InnerObjects `json:"namedItems"`
}

// InnerObject is a whole object.
// +kubebuilder:validation:XEmbeddedResource
type InnerObject struct {
	// APIVersion is its version.
	APIVersion string `json:"apiVersion"`
	// Kind is its kind.
	Kind string `json:"kind"`
	// Metadata is what all objects have.
	// +optional
	Metadata metav1.ObjectMeta `json:"metadata,omitzero"`
	// Data is what it holds.
	// +optional
	Data map[string]string `json:"data,omitempty"`
}

// InnerObjects is a list of whole objects.
// +kubebuilder:validation:items:XEmbeddedResource
type InnerObjects []runtime.RawExtension

// Keeper keeps what it does not know.
type Keeper struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec KeeperSpec `json:"spec"`
}

// KeeperSpec keeps unknown fields.
type KeeperSpec struct {
	// Field keeps them where it stands.
	// +kubebuilder:pruning:PreserveUnknownFields
	Field KeptObject `json:"field"`
	// Alias keeps them, said with the other marker.
	// +kubebuilder:validation:XPreserveUnknownFields
	Alias KeptObject `json:"alias"`
	// Named keeps them by its type.
	Named KeepingObject `json:"named"`
	// NamedAlias keeps them by its type, said with the other marker.
	NamedAlias KeepingObjectToo `json:"namedAlias"`
	// Items keep them where they stand.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	Items []KeptObject `json:"items"`
	// NamedItems keep them by the type of the list.
	NamedItems KeptObjects `json:"namedItems"`
	// Anything is any JSON.
	Anything apiextensionsv1.JSON `json:"anything"`
	// Raw is any object.
	Raw runtime.RawExtension `json:"raw"`
}

// KeptObject is an object with one known field.
type KeptObject struct {
	// Name is a text.
	// +optional
	Name string `json:"name,omitempty"`
}

// KeepingObject keeps what it does not know.
// +kubebuilder:pruning:PreserveUnknownFields
type KeepingObject struct {
	// Name is a text.
	// +optional
	Name string `json:"name,omitempty"`
}

// KeepingObjectToo keeps what it does not know.
// +kubebuilder:validation:XPreserveUnknownFields
type KeepingObjectToo struct {
	// Name is a text.
	// +optional
	Name string `json:"name,omitempty"`
}

// KeptObjects is a list of objects that keep what they do not know.
// +kubebuilder:validation:items:XPreserveUnknownFields
type KeptObjects []KeptObject

// Shapeless has fields without a schema.
type Shapeless struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ShapelessSpec `json:"spec"`
}

// ShapelessSpec has a field of which only this is known.
type ShapelessSpec struct {
	// Field is of no shape.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Field ShapelessObject `json:"field"`
	// Typed is an object of no known fields.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Typed ShapelessObject `json:"typed"`
}

// ShapelessObject is an object nobody sees the fields of.
type ShapelessObject struct {
	// Name is a text.
	Name string `json:"name"`
}

// EitherWay has fields that are numbers or texts.
type EitherWay struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec EitherWaySpec `json:"spec"`
}

// EitherWaySpec has numbers or texts.
type EitherWaySpec struct {
	// Port is Kubernetes' own type.
	Port intstr.IntOrString `json:"port"`
	// Bounded is Kubernetes' own type, the text of a form.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^[0-9]+%$"
	Bounded intstr.IntOrString `json:"bounded"`
	// Field says it where it stands.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	Field intstr.IntOrString `json:"field"`
	// Items say it where they stand.
	// +kubebuilder:validation:items:XIntOrString
	Items []intstr.IntOrString `json:"items"`
	// NamedItems say it by the type of the list.
	NamedItems Percentages `json:"namedItems"`
	// Named says it by its type.
	Named Percentage `json:"named"`
}

// Percentages is a list of numbers or texts.
// +kubebuilder:validation:items:XIntOrString
type Percentages []intstr.IntOrString

// Percentage is a number or a text.
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:Type=""
type Percentage string

package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Choice has fields of which only some values are allowed.
type Choice struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ChoiceSpec `json:"spec"`
}

// ChoiceSpec has enumerations.
type ChoiceSpec struct {
	// Field lists its values where it stands.
	// +kubebuilder:validation:Enum=Always;Never;IfNotPresent
	Field string `json:"field"`
	// Number lists numbers.
	// +kubebuilder:validation:Enum=1;2;3
	Number int32 `json:"number"`
	// Named lists its values by its type.
	Named Protocol `json:"named"`
	// Items list their values where they stand.
	// +kubebuilder:validation:items:Enum=red;green
	Items []string `json:"items"`
	// NamedItems list their values by the type of the list.
	NamedItems Colours `json:"namedItems"`
	// OfNamed is a list of a type with values.
	OfNamed []Protocol `json:"ofNamed"`
	// Declared takes its values from the constants of its type.
	Declared Season `json:"declared"`
}

// Protocol is one of two.
// +kubebuilder:validation:Enum=TCP;UDP
type Protocol string

// Colours is a list of colours.
// +kubebuilder:validation:items:Enum=red;green
type Colours []string

// Season is a part of the year.
// +k8s:enum
type Season string

const (
	// Spring comes first.
	Spring Season = "Spring"
	// Autumn comes later.
	Autumn Season = "Autumn"
)

// Defaulted has fields with values of their own.
type Defaulted struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec DefaultedSpec `json:"spec"`
}

// DefaultedSpec has defaults of each type.
type DefaultedSpec struct {
	// Text is a text.
	// +optional
	// +kubebuilder:default=hello
	Text string `json:"text,omitempty"`
	// Number is a number.
	// +optional
	// +kubebuilder:default=3
	Number int32 `json:"number,omitempty"`
	// Switch is a truth.
	// +optional
	// +kubebuilder:default=true
	Switch bool `json:"switch,omitempty"`
	// List is a list.
	// +optional
	// +kubebuilder:default={a,b}
	List []string `json:"list,omitempty"`
	// EmptyList is a list with nothing in it.
	// +optional
	// +kubebuilder:default={}
	EmptyList []string `json:"emptyList,omitempty"`
	// Map is a map.
	// +optional
	// +kubebuilder:default={one: "1"}
	Map map[string]string `json:"map,omitempty"`
	// Object is an object, whose own fields have defaults.
	// +optional
	// +kubebuilder:default={}
	Object DefaultedObject `json:"object,omitempty"`
	// Plain has Kubernetes' own marker.
	// +optional
	// +default="plain"
	Plain string `json:"plain,omitempty"`
	// PlainObject has Kubernetes' own marker with an object.
	// +optional
	// +default={"size": 2}
	PlainObject DefaultedObject `json:"plainObject,omitempty"`
	// Required has a default all the same.
	// +required
	// +kubebuilder:default=7
	Required int64 `json:"required"`
}

// DefaultedObject has a default of its own.
type DefaultedObject struct {
	// Size is a number.
	// +optional
	// +kubebuilder:default=1
	Size int32 `json:"size,omitempty"`
}

// Exemplary has examples.
type Exemplary struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ExemplarySpec `json:"spec"`
}

// ExemplarySpec has an example of each type.
type ExemplarySpec struct {
	// Text is a text.
	// +kubebuilder:example=hello
	Text string `json:"text"`
	// Number is a number.
	// +kubebuilder:example=3
	Number int32 `json:"number"`
	// Map is a map.
	// +kubebuilder:example={one: "1"}
	Map map[string]string `json:"map"`
}

// Titled has titles.
type Titled struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec TitledSpec `json:"spec"`
}

// TitledSpec has titles on fields and types.
type TitledSpec struct {
	// Field has a title where it stands.
	// +kubebuilder:title="A field"
	Field string `json:"field"`
	// Named has the title of its type.
	Named TitledText `json:"named"`
	// Both has a title of its own.
	// +kubebuilder:title="Its own"
	Both TitledText `json:"both"`
}

// TitledText is a text with a title.
// +kubebuilder:title="A text"
type TitledText string

// NullFriend has fields that may be null.
type NullFriend struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec NullFriendSpec `json:"spec"`
}

// NullFriendSpec tells null from nothing.
type NullFriendSpec struct {
	// Required may be null, but not be left out.
	// +nullable
	// +required
	Required *string `json:"required"`
	// Optional may be null or left out.
	// +nullable
	// +optional
	Optional *int32 `json:"optional,omitempty"`
	// Object may be null.
	// +nullable
	// +optional
	Object *NullObject `json:"object,omitempty"`
	// Pointer may not be null: it may only be left out.
	// +optional
	Pointer *string `json:"pointer,omitempty"`
}

// NullObject is an object.
type NullObject struct {
	// Name is a text.
	Name string `json:"name"`
}

// Retyped has fields that are written otherwise than their Go type says.
type Retyped struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec RetypedSpec `json:"spec"`
}

// RetypedSpec says types of its own.
type RetypedSpec struct {
	// Field says its type where it stands.
	// +kubebuilder:validation:Type=string
	Field int `json:"field,string"`
	// Named is said by its type.
	Named Fahrenheit `json:"named"`
	// Items say their type where they stand.
	// +kubebuilder:validation:items:Type=string
	Items []int `json:"items"`
	// NamedItems are said by the type of the list.
	NamedItems NumbersAsText `json:"namedItems"`
	// Text writes itself as text.
	Text Hexadecimal `json:"text"`
}

// Fahrenheit writes itself as JSON in a way that it tells.
// +kubebuilder:validation:Type=string
type Fahrenheit struct{}

// MarshalJSON writes a text.
func (Fahrenheit) MarshalJSON() ([]byte, error) { return []byte(`"68 F"`), nil }

// NumbersAsText is a list of numbers that are written as texts.
// +kubebuilder:validation:items:Type=string
type NumbersAsText []int

// Hexadecimal writes itself as text.
type Hexadecimal struct{}

// MarshalText writes a text.
func (Hexadecimal) MarshalText() ([]byte, error) { return []byte("ff"), nil }

// Twofold has fields that say something and types that say it too.
type Twofold struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec TwofoldSpec `json:"spec"`
}

// TwofoldSpec has bounds of its own on types with bounds.
type TwofoldSpec struct {
	// Narrower asks for more than its type.
	// +kubebuilder:validation:Minimum=5
	Narrower TwofoldNumber `json:"narrower"`
	// Wider asks for less than its type; both hold.
	// +kubebuilder:validation:Minimum=-5
	Wider TwofoldNumber `json:"wider"`
	// Text has two forms.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^[a-z]+$"
	Text TwofoldText `json:"text"`
	// Same says what its type says.
	// +kubebuilder:validation:MaxLength=10
	Same TwofoldText `json:"same"`
	// List has bounds on itself and on its items, as have their types.
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=5
	List []TwofoldText `json:"list"`
}

// TwofoldNumber is a positive number.
// +kubebuilder:validation:Minimum=1
type TwofoldNumber int32

// TwofoldText is a short text.
// +kubebuilder:validation:MaxLength=10
// +kubebuilder:validation:Pattern="^[a-z0-9]+$"
type TwofoldText string

package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Ordered has lists of each topology.
type Ordered struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec OrderedSpec `json:"spec"`
}

// OrderedSpec says how appliers share lists.
type OrderedSpec struct {
	// Atomic has one owner.
	// +listType=atomic
	Atomic []OrderedItem `json:"atomic"`
	// Set has an owner for each value.
	// +listType=set
	Set []string `json:"set"`
	// Named is a set by its type.
	Named SharedTexts `json:"named"`
	// Declared is atomic by the marker of declarative validation.
	// +k8s:listType=atomic
	Declared []string `json:"declared"`
	// NamedDeclared is a set by its type and the marker of declarative validation.
	NamedDeclared DeclaredTexts `json:"namedDeclared"`
}

// SharedTexts is a set.
// +listType=set
type SharedTexts []string

// DeclaredTexts is a set.
// +k8s:listType=set
type DeclaredTexts []string

// OrderedItem is an item.
type OrderedItem struct {
	// Name tells it from the others.
	Name string `json:"name"`
	// Protocol tells it too.
	// +kubebuilder:default=TCP
	Protocol string `json:"protocol"`
	// Port is what it says.
	// +optional
	Port int32 `json:"port,omitempty"`
}

// Keyed has lists whose items have keys.
type Keyed struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec KeyedSpec `json:"spec"`
}

// KeyedSpec has lists that are maps.
type KeyedSpec struct {
	// One has one key.
	// +listType=map
	// +listMapKey=name
	One []OrderedItem `json:"one"`
	// Two has two keys.
	// +listType=map
	// +listMapKey=name
	// +listMapKey=protocol
	Two []OrderedItem `json:"two"`
	// Named has the keys of its type.
	Named KeyedItems `json:"named"`
	// Declared has a key by the markers of declarative validation.
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Declared []OrderedItem `json:"declared"`
	// NamedDeclared has the key of its type by the markers of declarative validation.
	NamedDeclared DeclaredItems `json:"namedDeclared"`
}

// KeyedItems is a list with a key.
// +listType=map
// +listMapKey=name
type KeyedItems []OrderedItem

// DeclaredItems is a list with a key.
// +k8s:listType=map
// +k8s:listMapKey=name
type DeclaredItems []OrderedItem

// Owned has maps and objects of each topology.
type Owned struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec OwnedSpec `json:"spec"`
}

// OwnedSpec says how appliers share maps and objects.
type OwnedSpec struct {
	// AtomicMap has one owner.
	// +mapType=atomic
	AtomicMap map[string]string `json:"atomicMap"`
	// GranularMap has an owner for each entry.
	// +mapType=granular
	GranularMap map[string]string `json:"granularMap"`
	// NamedMap is as its type says.
	NamedMap OwnedMap `json:"namedMap"`
	// AtomicObject has one owner.
	// +structType=atomic
	AtomicObject OwnedObject `json:"atomicObject"`
	// GranularObject has an owner for each field.
	// +structType=granular
	GranularObject OwnedObject `json:"granularObject"`
	// NamedObject is as its type says.
	NamedObject OwnedWhole `json:"namedObject"`
}

// OwnedMap has one owner.
// +mapType=atomic
type OwnedMap map[string]string

// OwnedObject is an object.
type OwnedObject struct {
	// Name is a text.
	// +optional
	Name string `json:"name,omitempty"`
}

// OwnedWhole is an object with one owner.
// +structType=atomic
type OwnedWhole struct {
	// Name is a text.
	// +optional
	Name string `json:"name,omitempty"`
}

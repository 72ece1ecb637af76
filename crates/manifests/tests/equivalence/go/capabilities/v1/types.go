package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scalar has each simple type.
type Scalar struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ScalarSpec `json:"spec"`
}

// ScalarSpec has a field of each simple type.
type ScalarSpec struct {
	// Text is a text.
	Text string `json:"text"`
	// Switch is a truth.
	Switch bool `json:"switch"`
	// Small is a number of 32 bits.
	Small int32 `json:"small"`
	// Large is a number of 64 bits.
	Large int64 `json:"large"`
	// Machine is a number of the machine's width.
	Machine int `json:"machine"`
	// Byte is a number of 8 bits.
	Byte int8 `json:"byte"`
	// Short is a number of 16 bits.
	Short int16 `json:"short"`
	// UnsignedSmall is a number of 32 bits that is not negative.
	UnsignedSmall uint32 `json:"unsignedSmall"`
	// UnsignedLarge is a number of 64 bits that is not negative.
	UnsignedLarge uint64 `json:"unsignedLarge"`
	// Bytes are written in base64.
	Bytes []byte `json:"bytes"`
}

// Container has lists and maps.
type Container struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ContainerSpec `json:"spec"`
}

// ContainerSpec has lists and maps in each other.
type ContainerSpec struct {
	// List is a list.
	List []string `json:"list"`
	// Map is a map.
	Map map[string]int32 `json:"map"`
	// Objects is a list of objects.
	Objects []ContainerItem `json:"objects"`
	// Pointers is a list of objects that are pointed to.
	Pointers []*ContainerItem `json:"pointers"`
	// MapOfObjects is a map of objects.
	MapOfObjects map[string]ContainerItem `json:"mapOfObjects"`
	// MapOfLists is a map of lists.
	MapOfLists map[string][]string `json:"mapOfLists"`
	// MapOfMaps is a map of maps.
	MapOfMaps map[string]map[string]string `json:"mapOfMaps"`
	// Keyed is a map whose keys have a type of their own.
	Keyed map[ContainerKey]string `json:"keyed"`
}

// ContainerKey is a key.
type ContainerKey string

// ContainerItem is an item.
type ContainerItem struct {
	// Name is a text.
	Name string `json:"name"`
}

// Wellknown has types of Kubernetes itself.
type Wellknown struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec WellknownSpec `json:"spec"`
}

// WellknownSpec has types that Kubernetes' own kinds use.
type WellknownSpec struct {
	// Time is a moment.
	Time metav1.Time `json:"time"`
	// Precise is a moment with microseconds.
	Precise metav1.MicroTime `json:"precise"`
	// Duration is a span.
	Duration metav1.Duration `json:"duration"`
	// Quantity is an amount.
	Quantity resource.Quantity `json:"quantity"`
	// Selector selects by labels.
	Selector metav1.LabelSelector `json:"selector"`
	// Condition is a condition.
	Condition metav1.Condition `json:"condition"`
	// Object refers to an object.
	Object corev1.ObjectReference `json:"object"`
	// Local refers to an object of the same namespace.
	Local corev1.LocalObjectReference `json:"local"`
	// Secret is a key of a Secret.
	Secret corev1.SecretKeySelector `json:"secret"`
	// Resources are what is asked for.
	Resources corev1.ResourceRequirements `json:"resources"`
	// Tolerations are what is endured.
	Tolerations []corev1.Toleration `json:"tolerations"`
	// Env are variables.
	Env []corev1.EnvVar `json:"env"`
}

// Inlined has another object's fields among its own.
type Inlined struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec InlinedSpec `json:"spec"`
}

// InlinedSpec has more fields than it says.
type InlinedSpec struct {
	InlinedPart `json:",inline"`
	// Own is its own.
	Own string `json:"own"`
}

// InlinedPart is a part of others.
type InlinedPart struct {
	// Name is a text.
	Name string `json:"name"`
	// Size is a number.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Size int32 `json:"size,omitempty"`
}

// Concealed has fields that are not what they are called, or not there.
type Concealed struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ConcealedSpec `json:"spec"`
}

// ConcealedSpec has a field of another name and one that is never written.
type ConcealedSpec struct {
	// Renamed is written with another name.
	Renamed string `json:"x-name"`
	// Hidden is never written.
	Hidden string `json:"-"`
}

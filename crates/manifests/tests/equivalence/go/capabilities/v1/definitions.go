package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Observed has a status of its own.
// +kubebuilder:subresource:status
type Observed struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ObservedSpec `json:"spec"`
	// +optional
	Status ObservedStatus `json:"status,omitzero"`
}

// ObservedSpec is what is asked for.
type ObservedSpec struct {
	// Size is a number.
	// +optional
	Size int32 `json:"size,omitempty"`
}

// ObservedStatus is what is there.
type ObservedStatus struct {
	// Ready is how many are there.
	// +optional
	Ready int32 `json:"ready,omitempty"`
	// Conditions are what is known of it.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Scalable can be scaled.
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
type Scalable struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ScalableSpec `json:"spec"`
	// +optional
	Status ScalableStatus `json:"status,omitzero"`
}

// ScalableSpec is how many are wanted.
type ScalableSpec struct {
	// Replicas is how many.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
}

// ScalableStatus is how many are there.
type ScalableStatus struct {
	// Replicas is how many.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// Selector finds them.
	// +optional
	Selector string `json:"selector,omitempty"`
}

// Tabular is shown in columns.
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="How many",format=int32
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type Tabular struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec TabularSpec `json:"spec"`
}

// TabularSpec has something to show.
type TabularSpec struct {
	// Size is a number.
	Size int32 `json:"size"`
}

// Christened has names of its own.
// +kubebuilder:resource:path=names,singular=name,shortName=nm;nms,categories=all;namings,scope=Cluster
type Christened struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ChristenedSpec `json:"spec"`
}

// ChristenedSpec has nothing special.
type ChristenedSpec struct {
	// Size is a number.
	Size int32 `json:"size"`
}

// Labelled has labels and annotations on its definition.
// +kubebuilder:metadata:annotations="example.com/team=shop";"example.com/note=a=b",labels="tier=back"
// +kubebuilder:metadata:labels="app=shop"
type Labelled struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec LabelledSpec `json:"spec"`
}

// LabelledSpec has nothing special.
type LabelledSpec struct {
	// Size is a number.
	Size int32 `json:"size"`
}

// Searchable can be found by its fields.
// +kubebuilder:selectablefield:JSONPath=.spec.colour
// +kubebuilder:selectablefield:JSONPath=".spec.size"
type Searchable struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec SearchableSpec `json:"spec"`
}

// SearchableSpec has fields to be found by.
type SearchableSpec struct {
	// Colour is a text.
	Colour string `json:"colour"`
	// Size is a number.
	Size int32 `json:"size"`
}

// Referenced has documents elsewhere.
type Referenced struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ReferencedSpec `json:"spec"`
}

// ReferencedSpec has documents for a field and a type.
type ReferencedSpec struct {
	// Field has documents where it stands.
	// +kubebuilder:externalDocs:url="https://example.com/field",description="all about it"
	Field string `json:"field"`
	// Named has the documents of its type.
	Named DocumentedText `json:"named"`
}

// DocumentedText is a text.
// +kubebuilder:externalDocs:url="https://example.com/text"
type DocumentedText string

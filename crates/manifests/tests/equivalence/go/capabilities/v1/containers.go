package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LongestList has lists that may not be too long.
type LongestList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec LongestListSpec `json:"spec"`
}

// LongestListSpec bounds the length of lists from above.
type LongestListSpec struct {
	// Field is bounded where it stands.
	// +kubebuilder:validation:MaxItems=3
	Field []string `json:"field"`
	// Named is bounded by its type.
	Named ShortList `json:"named"`
	// Items are lists bounded where they stand.
	// +kubebuilder:validation:items:MaxItems=4
	Items [][]string `json:"items"`
	// NamedItems are lists bounded by the type of the outer list.
	NamedItems ListOfShortLists `json:"namedItems"`
	// Declared is bounded by the marker of declarative validation.
	// +k8s:maxItems=5
	Declared []string `json:"declared"`
}

// ShortList is a short list.
// +kubebuilder:validation:MaxItems=2
type ShortList []string

// ListOfShortLists is a list of short lists.
// +kubebuilder:validation:items:MaxItems=2
type ListOfShortLists [][]string

// ShortestList has lists that may not be too short.
type ShortestList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ShortestListSpec `json:"spec"`
}

// ShortestListSpec bounds the length of lists from below.
type ShortestListSpec struct {
	// Field is bounded where it stands.
	// +kubebuilder:validation:MinItems=1
	Field []string `json:"field"`
	// Named is bounded by its type.
	Named LongList `json:"named"`
	// Items are lists bounded where they stand.
	// +kubebuilder:validation:items:MinItems=2
	Items [][]string `json:"items"`
	// NamedItems are lists bounded by the type of the outer list.
	NamedItems ListOfLongLists `json:"namedItems"`
}

// LongList is a long list.
// +kubebuilder:validation:MinItems=10
type LongList []string

// ListOfLongLists is a list of long lists.
// +kubebuilder:validation:items:MinItems=10
type ListOfLongLists [][]string

// UniqueList has lists without doubles.
type UniqueList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec UniqueListSpec `json:"spec"`
}

// UniqueListSpec has lists that say whether their items are unique.
type UniqueListSpec struct {
	// Field says it where it stands.
	// +kubebuilder:validation:UniqueItems=true
	Field []string `json:"field"`
	// Named says it by its type.
	Named UniqueTexts `json:"named"`
	// Items are lists that say it where they stand.
	// +kubebuilder:validation:items:UniqueItems=true
	Items [][]string `json:"items"`
	// NamedItems are lists whose outer list says it.
	NamedItems ListOfUniqueTexts `json:"namedItems"`
}

// UniqueTexts is a list without doubles.
// +kubebuilder:validation:UniqueItems=true
type UniqueTexts []string

// ListOfUniqueTexts is a list of lists without doubles.
// +kubebuilder:validation:items:UniqueItems=true
type ListOfUniqueTexts [][]string

// FullestMap has maps that may not have too many entries.
type FullestMap struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec FullestMapSpec `json:"spec"`
}

// FullestMapSpec bounds the size of maps from above.
type FullestMapSpec struct {
	// Field is bounded where it stands.
	// +kubebuilder:validation:MaxProperties=3
	Field map[string]string `json:"field"`
	// Named is bounded by its type.
	Named SmallMap `json:"named"`
	// Items are maps bounded where they stand.
	// +kubebuilder:validation:items:MaxProperties=4
	Items []map[string]string `json:"items"`
	// NamedItems are maps bounded by the type of the list.
	NamedItems ListOfSmallMaps `json:"namedItems"`
}

// SmallMap is a small map.
// +kubebuilder:validation:MaxProperties=2
type SmallMap map[string]string

// ListOfSmallMaps is a list of small maps.
// +kubebuilder:validation:items:MaxProperties=2
type ListOfSmallMaps []map[string]string

// EmptiestMap has maps that may not have too few entries.
type EmptiestMap struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec EmptiestMapSpec `json:"spec"`
}

// EmptiestMapSpec bounds the size of maps and objects from below.
type EmptiestMapSpec struct {
	// Field is bounded where it stands.
	// +kubebuilder:validation:MinProperties=1
	Field map[string]string `json:"field"`
	// Named is bounded by its type.
	Named NonEmptyObject `json:"named"`
	// Items are maps bounded where they stand.
	// +kubebuilder:validation:items:MinProperties=2
	Items []map[string]string `json:"items"`
	// NamedItems are maps bounded by the type of the list.
	NamedItems ListOfNonEmptyMaps `json:"namedItems"`
}

// NonEmptyObject has at least one of its fields.
// +kubebuilder:validation:MinProperties=1
type NonEmptyObject struct {
	// One is the first.
	// +optional
	One string `json:"one,omitempty"`
	// Two is the second.
	// +optional
	Two string `json:"two,omitempty"`
}

// ListOfNonEmptyMaps is a list of maps with entries.
// +kubebuilder:validation:items:MinProperties=1
type ListOfNonEmptyMaps []map[string]string

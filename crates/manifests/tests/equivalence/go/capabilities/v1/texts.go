package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LongestText has texts that may not be too long.
type LongestText struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec LongestTextSpec `json:"spec"`
}

// LongestTextSpec bounds the length of texts from above.
type LongestTextSpec struct {
	// Field is bounded where it stands.
	// +kubebuilder:validation:MaxLength=63
	Field string `json:"field"`
	// Named is bounded by its type.
	Named ShortText `json:"named"`
	// Items are bounded where they stand.
	// +kubebuilder:validation:items:MaxLength=20
	Items []string `json:"items"`
	// NamedItems are bounded by the type of the list.
	NamedItems ShortTexts `json:"namedItems"`
}

// ShortText is a short text.
// +kubebuilder:validation:MaxLength=10
type ShortText string

// ShortTexts is a list of short texts.
// +kubebuilder:validation:items:MaxLength=10
type ShortTexts []string

// ShortestText has texts that may not be too short.
type ShortestText struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec ShortestTextSpec `json:"spec"`
}

// ShortestTextSpec bounds the length of texts from below.
type ShortestTextSpec struct {
	// Field is bounded where it stands.
	// +kubebuilder:validation:MinLength=1
	Field string `json:"field"`
	// Named is bounded by its type.
	Named LongText `json:"named"`
	// Items are bounded where they stand.
	// +kubebuilder:validation:items:MinLength=2
	Items []string `json:"items"`
	// NamedItems are bounded by the type of the list.
	NamedItems LongTexts `json:"namedItems"`
}

// LongText is a long text.
// +kubebuilder:validation:MinLength=10
type LongText string

// LongTexts is a list of long texts.
// +kubebuilder:validation:items:MinLength=10
type LongTexts []string

// Patterned has texts that must match.
type Patterned struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec PatternedSpec `json:"spec"`
}

// PatternedSpec has texts of a form.
type PatternedSpec struct {
	// Field has a form where it stands.
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Field string `json:"field"`
	// Named has the form of its type.
	Named Digits `json:"named"`
	// Items have a form where they stand.
	// +kubebuilder:validation:items:Pattern=`^\w+\s\\$`
	Items []string `json:"items"`
	// NamedItems have the form the list says.
	NamedItems DigitTexts `json:"namedItems"`
}

// Digits is a text of digits.
// +kubebuilder:validation:Pattern="^[0-9]+$"
type Digits string

// DigitTexts is a list of texts of digits.
// +kubebuilder:validation:items:Pattern="^[0-9]+$"
type DigitTexts []string

// Formatted has texts of a well-known format.
type Formatted struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec FormattedSpec `json:"spec"`
}

// FormattedSpec has texts of formats.
type FormattedSpec struct {
	// Field has a format where it stands.
	// +kubebuilder:validation:Format=uri
	Field string `json:"field"`
	// Named has the format of its type.
	Named Address `json:"named"`
	// Items have a format where they stand.
	// +kubebuilder:validation:items:Format=email
	Items []string `json:"items"`
	// NamedItems have the format the list says.
	NamedItems Addresses `json:"namedItems"`
}

// Address is an address of version four.
// +kubebuilder:validation:Format=ipv4
type Address string

// Addresses is a list of addresses.
// +kubebuilder:validation:items:Format=ipv4
type Addresses []string

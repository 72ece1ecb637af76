// Package v1 has much to say.
// +groupName=described.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Described tells what it is.
// It takes two lines for it.
//
// And a second paragraph.
type Described struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is what is asked for
	// +required
	Spec DescribedSpec `json:"spec"`
}

// DescribedSpec is described where it is used and where it is written.
type DescribedSpec struct {
	// One line.
	One string `json:"one"`
	// Several lines of one paragraph, which are
	// joined or not, that is the question.
	Lines string `json:"lines"`
	// A first paragraph.
	//
	// A second one, with a list:
	//   - one
	//   - two
	Paragraphs string `json:"paragraphs"`

	Undocumented string `json:"undocumented"`
	// The field has its own words.
	Worded DescribedPart `json:"worded"`

	Wordless DescribedPart `json:"wordless"`
	// Parts are many.
	Parts []DescribedPart `json:"parts"`
	// A rather long description that says one thing first. Then it says another thing, which nobody needs to know.
	Long string `json:"long"`
}

// DescribedPart has words of its own.
type DescribedPart struct {
	// Name is a text.
	Name string `json:"name"`
}

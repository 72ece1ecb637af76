//! Words.

/// DescribedSpec is described where it is used and where it is written.
#[kubewright::resource(
    group = "described.example.com",
    version = "v1",
    kind = "Described",
    namespaced,
    doc = "Described tells what it is.\nIt takes two lines for it.\n\nAnd a second paragraph."
)]
pub struct DescribedSpec {
    /// One line.
    pub one: String,
    /// Several lines of one paragraph, which are
    /// joined or not, that is the question.
    pub lines: String,
    /// A first paragraph.
    ///
    /// A second one, with a list:
    ///   - one
    ///   - two
    pub paragraphs: String,
    pub undocumented: String,
    /// The field has its own words.
    pub worded: DescribedPart,
    pub wordless: DescribedPart,
    /// Parts are many.
    pub parts: Vec<DescribedPart>,
    /// A rather long description that says one thing first. Then it says another thing, which nobody needs to know.
    pub long: String,
}

/// DescribedPart has words of its own.
#[kubewright::schema]
pub struct DescribedPart {
    /// Name is a text.
    pub name: String,
}

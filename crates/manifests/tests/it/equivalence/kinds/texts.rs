//! Forms of texts.

/// LongestTextSpec bounds the length of texts from above.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "LongestText",
    namespaced,
    doc = "LongestText has texts that may not be too long."
)]
pub struct LongestTextSpec {
    /// Field is bounded where it stands.
    #[schema(max_length = 63)]
    pub field: String,
    /// Named is bounded by its type.
    pub named: ShortText,
    /// Items are bounded where they stand.
    #[schema(items(max_length = 20))]
    pub items: Vec<String>,
    /// NamedItems are bounded by the type of the list.
    pub named_items: ShortTexts,
}

/// ShortText is a short text.
#[kubewright::schema]
#[schema(max_length = 10)]
pub struct ShortText(pub String);

/// ShortTexts is a list of short texts.
#[kubewright::schema]
#[schema(items(max_length = 10))]
pub struct ShortTexts(pub Vec<String>);

/// ShortestTextSpec bounds the length of texts from below.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "ShortestText",
    namespaced,
    doc = "ShortestText has texts that may not be too short."
)]
pub struct ShortestTextSpec {
    /// Field is bounded where it stands.
    #[schema(min_length = 1)]
    pub field: String,
    /// Named is bounded by its type.
    pub named: LongText,
    /// Items are bounded where they stand.
    #[schema(items(min_length = 2))]
    pub items: Vec<String>,
    /// NamedItems are bounded by the type of the list.
    pub named_items: LongTexts,
}

/// LongText is a long text.
#[kubewright::schema]
#[schema(min_length = 10)]
pub struct LongText(pub String);

/// LongTexts is a list of long texts.
#[kubewright::schema]
#[schema(items(min_length = 10))]
pub struct LongTexts(pub Vec<String>);

/// PatternedSpec has texts of a form.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Patterned",
    namespaced,
    doc = "Patterned has texts that must match."
)]
pub struct PatternedSpec {
    /// Field has a form where it stands.
    #[schema(pattern = r"^[a-z]([-a-z0-9]*[a-z0-9])?$")]
    pub field: String,
    /// Named has the form of its type.
    pub named: Digits,
    /// Items have a form where they stand.
    #[schema(items(pattern = r"^\w+\s\\$"))]
    pub items: Vec<String>,
    /// NamedItems have the form the list says.
    pub named_items: DigitTexts,
}

/// Digits is a text of digits.
#[kubewright::schema]
#[schema(pattern = "^[0-9]+$")]
pub struct Digits(pub String);

/// DigitTexts is a list of texts of digits.
#[kubewright::schema]
#[schema(items(pattern = "^[0-9]+$"))]
pub struct DigitTexts(pub Vec<String>);

/// FormattedSpec has texts of formats.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Formatted",
    namespaced,
    doc = "Formatted has texts of a well-known format."
)]
pub struct FormattedSpec {
    /// Field has a format where it stands.
    #[schema(format = "uri")]
    pub field: String,
    /// Named has the format of its type.
    pub named: Address,
    /// Items have a format where they stand.
    #[schema(items(format = "email"))]
    pub items: Vec<String>,
    /// NamedItems have the format the list says.
    pub named_items: Addresses,
}

/// Address is an address of version four.
#[kubewright::schema]
#[schema(format = "ipv4")]
pub struct Address(pub String);

/// Addresses is a list of addresses.
#[kubewright::schema]
#[schema(items(format = "ipv4"))]
pub struct Addresses(pub Vec<String>);

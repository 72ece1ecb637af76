//! What values a field may have, has by itself, and what is told of it.

use std::collections::BTreeMap;

/// ChoiceSpec has enumerations.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Choice",
    namespaced,
    doc = "Choice has fields of which only some values are allowed."
)]
pub struct ChoiceSpec {
    /// Field lists its values where it stands.
    #[schema(enum("Always", "Never", "IfNotPresent"))]
    pub field: String,
    /// Number lists numbers.
    #[schema(enum(1, 2, 3))]
    pub number: i32,
    /// Named lists its values by its type.
    pub named: Protocol,
    /// Items list their values where they stand.
    #[schema(items(enum("red", "green")))]
    pub items: Vec<String>,
    /// NamedItems list their values by the type of the list.
    pub named_items: Colours,
    /// OfNamed is a list of a type with values.
    pub of_named: Vec<Protocol>,
    /// Declared takes its values from the constants of its type.
    pub declared: Season,
}

/// Protocol is one of two.
#[kubewright::schema]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    Tcp,
    Udp,
}

/// Colours is a list of colours.
#[kubewright::schema]
#[schema(items(enum("red", "green")))]
pub struct Colours(pub Vec<String>);

/// Season is a part of the year.
#[kubewright::schema]
pub enum Season {
    Spring,
    Autumn,
}

/// DefaultedSpec has defaults of each type.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Defaulted",
    namespaced,
    doc = "Defaulted has fields with values of their own."
)]
pub struct DefaultedSpec {
    /// Text is a text.
    #[schema(default = "hello")]
    pub text: String,
    /// Number is a number.
    #[schema(default = 3)]
    pub number: i32,
    /// Switch is a truth.
    #[schema(default = true)]
    pub switch: bool,
    /// List is a list.
    #[schema(default = ["a", "b"])]
    pub list: Vec<String>,
    /// EmptyList is a list with nothing in it.
    #[schema(default)]
    pub empty_list: Vec<String>,
    /// Map is a map.
    #[schema(default = [("one", "1")])]
    pub map: BTreeMap<String, String>,
    /// Object is an object, whose own fields have defaults.
    #[schema(default = DefaultedObject { size: 1 })]
    pub object: DefaultedObject,
    /// Plain has Kubernetes' own marker.
    #[schema(default = "plain")]
    pub plain: String,
    /// PlainObject has Kubernetes' own marker with an object.
    #[schema(default = DefaultedObject { size: 2 })]
    pub plain_object: DefaultedObject,
    /// Required has a default all the same.
    #[schema(required, default = 7)]
    pub required: i64,
}

/// DefaultedObject has a default of its own.
#[kubewright::schema]
pub struct DefaultedObject {
    /// Size is a number.
    #[schema(default = 1)]
    pub size: i32,
}

/// ExemplarySpec has an example of each type.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Exemplary",
    namespaced,
    doc = "Exemplary has examples."
)]
pub struct ExemplarySpec {
    /// Text is a text.
    #[schema(example = "hello")]
    pub text: String,
    /// Number is a number.
    #[schema(example = 3)]
    pub number: i32,
    /// Map is a map.
    #[schema(example = { "one": "1" })]
    pub map: BTreeMap<String, String>,
}

/// TitledSpec has titles on fields and types.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Titled",
    namespaced,
    doc = "Titled has titles."
)]
pub struct TitledSpec {
    /// Field has a title where it stands.
    #[schema(title = "A field")]
    pub field: String,
    /// Named has the title of its type.
    pub named: TitledText,
    /// Both has a title of its own.
    #[schema(title = "Its own")]
    pub both: TitledText,
}

/// TitledText is a text with a title.
#[kubewright::schema]
#[schema(title = "A text")]
pub struct TitledText(pub String);

/// NullFriendSpec tells null from nothing.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "NullFriend",
    namespaced,
    doc = "NullFriend has fields that may be null."
)]
pub struct NullFriendSpec {
    /// Required may be null, but not be left out.
    #[schema(required, nullable)]
    pub required: Option<String>,
    /// Optional may be null or left out.
    #[schema(nullable)]
    pub optional: Option<i32>,
    /// Object may be null.
    #[schema(nullable)]
    pub object: Option<NullObject>,
    /// Pointer may not be null: it may only be left out.
    pub pointer: Option<String>,
}

/// NullObject is an object.
#[kubewright::schema]
pub struct NullObject {
    /// Name is a text.
    pub name: String,
}

/// RetypedSpec says types of its own.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Retyped",
    namespaced,
    doc = "Retyped has fields that are written otherwise than their Go type says."
)]
pub struct RetypedSpec {
    /// Field says its type where it stands.
    #[schema(type = "string")]
    pub field: i64,
    /// Named is said by its type.
    pub named: Fahrenheit,
    /// Items say their type where they stand.
    #[schema(items(type = "string"))]
    pub items: Vec<i64>,
    /// NamedItems are said by the type of the list.
    pub named_items: NumbersAsText,
    /// Text writes itself as text.
    pub text: Hexadecimal,
}

/// Fahrenheit writes itself as JSON in a way that it tells.
#[kubewright::schema]
#[schema(type = "string")]
#[serde(into = "String", from = "String")]
pub struct Fahrenheit(pub String);

impl From<String> for Fahrenheit {
    fn from(text: String) -> Self {
        Fahrenheit(text)
    }
}

impl From<Fahrenheit> for String {
    fn from(temperature: Fahrenheit) -> Self {
        temperature.0
    }
}

/// NumbersAsText is a list of numbers that are written as texts.
#[kubewright::schema]
#[schema(items(type = "string"))]
pub struct NumbersAsText(pub Vec<i64>);

/// Hexadecimal writes itself as text.
#[kubewright::schema]
#[serde(into = "String", from = "String")]
pub struct Hexadecimal(pub String);

impl From<String> for Hexadecimal {
    fn from(text: String) -> Self {
        Hexadecimal(text)
    }
}

impl From<Hexadecimal> for String {
    fn from(number: Hexadecimal) -> Self {
        number.0
    }
}

/// TwofoldSpec has bounds of its own on types with bounds.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Twofold",
    namespaced,
    doc = "Twofold has fields that say something and types that say it too."
)]
pub struct TwofoldSpec {
    /// Narrower asks for more than its type.
    #[schema(minimum = 5)]
    pub narrower: TwofoldNumber,
    /// Wider asks for less than its type; both hold.
    #[schema(minimum = -5)]
    pub wider: TwofoldNumber,
    /// Text has two forms.
    #[schema(max_length = 20, pattern = "^[a-z]+$")]
    pub text: TwofoldText,
    /// Same says what its type says.
    #[schema(max_length = 10)]
    pub same: TwofoldText,
    /// List has bounds on itself and on its items, as have their types.
    #[schema(max_items = 3, items(max_length = 5))]
    pub list: Vec<TwofoldText>,
}

/// TwofoldNumber is a positive number.
#[kubewright::schema]
#[schema(minimum = 1)]
pub struct TwofoldNumber(pub i32);

/// TwofoldText is a short text.
#[kubewright::schema]
#[schema(max_length = 10, pattern = "^[a-z0-9]+$")]
pub struct TwofoldText(pub String);

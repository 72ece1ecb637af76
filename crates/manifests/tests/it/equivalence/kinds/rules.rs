//! Rules in CEL.

/// RuledSpec has rules on fields, types and items.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Ruled",
    namespaced,
    rule("self.metadata.name.size() < 20", message = "the name is too long"),
    doc = "Ruled has rules in CEL."
)]
#[schema(
    rule(
        "self.least <= self.most",
        message = "least is above most",
        reason = "FieldValueForbidden",
        field_path = ".least"
    ),
    rule(
        "self.most < 100",
        message_expression = "self.most > 1000 ? 'far too many' : 'too many'"
    )
)]
pub struct RuledSpec {
    /// Least is the lower one.
    pub least: i32,
    /// Most is the upper one.
    pub most: i32,
    /// Field has a rule where it stands.
    #[schema(rule("self.startsWith('a')"))]
    pub field: String,
    /// Transition has a rule that sees the object before.
    #[schema(rule(
        "!oldSelf.hasValue() || self >= oldSelf.value()",
        optional_old_self,
        message = "it may not shrink"
    ))]
    pub transition: i32,
    /// Items have a rule where they stand.
    #[schema(
        max_items = 10,
        items(max_length = 10, rule("self != 'forbidden'", reason = "FieldValueInvalid"))
    )]
    pub items: Vec<String>,
    /// NamedItems have a rule that the list's type says.
    #[schema(max_items = 10)]
    pub named_items: PositiveNumbers,
    /// Named has the rules of its type and one of its own.
    #[schema(rule("self != 13"))]
    pub named: OddNumber,
}

/// PositiveNumbers is a list of positive numbers.
#[kubewright::schema]
#[schema(items(rule("self > 0")))]
pub struct PositiveNumbers(pub Vec<i32>);

/// OddNumber is an odd number.
#[kubewright::schema]
#[schema(rule("self % 2 == 1", message = "it is even"))]
pub struct OddNumber(pub i32);

/// ConstantSpec has immutable fields.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Constant",
    namespaced,
    doc = "Constant has fields that never change."
)]
pub struct ConstantSpec {
    /// Required never changes.
    #[schema(immutable)]
    pub required: String,
    /// Optional never changes once it is set.
    #[schema(immutable)]
    pub optional: Option<String>,
    /// Object never changes once it is set.
    #[schema(immutable)]
    pub object: Option<ConstantObject>,
}

/// ConstantObject is an object.
#[kubewright::schema]
pub struct ConstantObject {
    /// Name is a text.
    pub name: String,
}

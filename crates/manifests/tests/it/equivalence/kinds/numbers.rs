//! Bounds of numbers.

/// UpperBoundSpec bounds numbers from above.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "UpperBound",
    namespaced,
    doc = "UpperBound has numbers that may not be too great."
)]
pub struct UpperBoundSpec {
    /// Field is bounded where it stands.
    #[schema(maximum = 10)]
    pub field: i32,
    /// Named is bounded by its type.
    pub named: AtMostTen,
    /// Items are bounded where they stand.
    #[schema(items(maximum = 20))]
    pub items: Vec<i64>,
    /// NamedItems are bounded by the type of the list.
    pub named_items: ListAtMostTwenty,
    /// Declared is bounded by the marker of declarative validation.
    #[schema(maximum = 30)]
    pub declared: i32,
}

/// AtMostTen is a small number.
#[kubewright::schema]
#[schema(maximum = 10)]
pub struct AtMostTen(pub i32);

/// ListAtMostTwenty is a list of small numbers.
#[kubewright::schema]
#[schema(items(maximum = 20))]
pub struct ListAtMostTwenty(pub Vec<i64>);

/// LowerBoundSpec bounds numbers from below.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "LowerBound",
    namespaced,
    doc = "LowerBound has numbers that may not be too small."
)]
pub struct LowerBoundSpec {
    /// Field is bounded where it stands.
    #[schema(minimum = -5)]
    pub field: i32,
    /// Named is bounded by its type.
    pub named: AtLeastOne,
    /// Items are bounded where they stand.
    #[schema(items(minimum = 2))]
    pub items: Vec<i64>,
    /// NamedItems are bounded by the type of the list.
    pub named_items: ListAtLeastTwo,
    /// Declared is bounded by the marker of declarative validation.
    #[schema(minimum = 3)]
    pub declared: i32,
    /// Both has its type's bound and one of its own.
    #[schema(maximum = 99)]
    pub both: AtLeastOne,
}

/// AtLeastOne is a positive number.
#[kubewright::schema]
#[schema(minimum = 1)]
pub struct AtLeastOne(pub i32);

/// ListAtLeastTwo is a list of numbers above one.
#[kubewright::schema]
#[schema(items(minimum = 2))]
pub struct ListAtLeastTwo(pub Vec<i64>);

/// OpenUpperBoundSpec bounds numbers from above, the bound excluded.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "OpenUpperBound",
    namespaced,
    doc = "OpenUpperBound has numbers that stay below a bound."
)]
pub struct OpenUpperBoundSpec {
    /// Field is bounded where it stands.
    #[schema(maximum = 10, exclusive_maximum)]
    pub field: i32,
    /// Named is bounded by its type.
    pub named: BelowTen,
    /// Items are bounded where they stand.
    #[schema(items(maximum = 20, exclusive_maximum))]
    pub items: Vec<i64>,
    /// NamedItems are bounded by the type of the list.
    pub named_items: ListBelowTwenty,
}

/// BelowTen is a number below ten.
#[kubewright::schema]
#[schema(maximum = 10, exclusive_maximum)]
pub struct BelowTen(pub i32);

/// ListBelowTwenty is a list of numbers below twenty.
#[kubewright::schema]
#[schema(items(maximum = 20, exclusive_maximum))]
pub struct ListBelowTwenty(pub Vec<i64>);

/// OpenLowerBoundSpec bounds numbers from below, the bound excluded.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "OpenLowerBound",
    namespaced,
    doc = "OpenLowerBound has numbers that stay above a bound."
)]
pub struct OpenLowerBoundSpec {
    /// Field is bounded where it stands.
    #[schema(minimum = 0, exclusive_minimum)]
    pub field: i32,
    /// Named is bounded by its type.
    pub named: AboveZero,
    /// Items are bounded where they stand.
    #[schema(items(minimum = 1, exclusive_minimum))]
    pub items: Vec<i64>,
    /// NamedItems are bounded by the type of the list.
    pub named_items: ListAboveOne,
}

/// AboveZero is a positive number.
#[kubewright::schema]
#[schema(minimum = 0, exclusive_minimum)]
pub struct AboveZero(pub i32);

/// ListAboveOne is a list of numbers above one.
#[kubewright::schema]
#[schema(items(minimum = 1, exclusive_minimum))]
pub struct ListAboveOne(pub Vec<i64>);

/// MultipleSpec has only multiples.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Multiple",
    namespaced,
    doc = "Multiple has numbers of a raster."
)]
pub struct MultipleSpec {
    /// Field is a multiple where it stands.
    #[schema(multiple_of = 5)]
    pub field: i32,
    /// Named is a multiple by its type.
    pub named: Even,
    /// Items are multiples where they stand.
    #[schema(items(multiple_of = 3))]
    pub items: Vec<i64>,
    /// NamedItems are multiples by the type of the list.
    pub named_items: ListOfEven,
}

/// Even is an even number.
#[kubewright::schema]
#[schema(multiple_of = 2)]
pub struct Even(pub i32);

/// ListOfEven is a list of even numbers.
#[kubewright::schema]
#[schema(items(multiple_of = 2))]
pub struct ListOfEven(pub Vec<i64>);

//! What is required by itself in a whole module.

pub mod optional {
    use kubewright::optional::{resource, schema};

    /// LenientSpec wants one thing only.
    #[resource(
        group = "modes.example.com",
        version = "v1",
        kind = "Lenient",
        namespaced,
        doc = "Lenient wants little."
    )]
    pub struct LenientSpec {
        /// Unmarked may be left out.
        pub unmarked: String,
        /// Needed may not.
        #[schema(required)]
        pub needed: String,
        /// Inner is an object of the same package.
        pub inner: LenientInner,
    }

    /// LenientInner wants nothing.
    #[schema]
    #[derive(Default)]
    pub struct LenientInner {
        /// Size may be left out.
        pub size: i32,
    }
}

pub mod required {
    /// DemandingSpec wants nearly everything.
    #[kubewright::resource(
        group = "modes.example.com",
        version = "v1",
        kind = "Demanding",
        namespaced,
        doc = "Demanding wants much."
    )]
    pub struct DemandingSpec {
        /// Unmarked must be there.
        pub unmarked: String,
        /// Free need not.
        pub free: Option<String>,
    }
}

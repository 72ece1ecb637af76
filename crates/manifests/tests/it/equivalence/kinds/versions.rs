//! One kind in several versions; what only the program knows is not given to the operator.

pub mod v1 {
    /// EvolvingSpec is what is asked for.
    #[kubewright::resource(
        group = "versions.example.com",
        version = "v1",
        kind = "Evolving",
        namespaced,
        printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"),
        status = "EvolvingStatus",
        doc = "Evolving has had several versions."
    )]
    pub struct EvolvingSpec {
        /// Size is a number.
        pub size: i32,
        /// Colour came with this version.
        pub colour: Option<String>,
    }

    /// EvolvingStatus is what is there.
    #[kubewright::schema]
    pub struct EvolvingStatus {
        /// Ready is how many are there.
        pub ready: Option<i32>,
    }
}

pub mod v1beta1 {
    /// EvolvingSpec is what is asked for.
    #[kubewright::resource(
        group = "versions.example.com",
        version = "v1beta1",
        kind = "Evolving",
        namespaced,
        storage = false,
        deprecated = "versions.example.com/v1beta1 goes away; use v1",
        doc = "Evolving has had several versions."
    )]
    pub struct EvolvingSpec {
        /// Size is a number.
        pub size: i32,
    }
}

pub mod v1alpha1 {
    /// EvolvingSpec is what is asked for.
    #[kubewright::resource(
        group = "versions.example.com",
        version = "v1alpha1",
        kind = "Evolving",
        namespaced,
        storage = false,
        served = false,
        deprecated,
        doc = "Evolving has had several versions."
    )]
    pub struct EvolvingSpec {
        /// Size is a text in this version.
        pub size: String,
    }
}

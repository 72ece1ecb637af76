{{header}}//! `{{kind}}`: what its users write, and what is observed of it.

/// What {{a_kind}} asks for.
{{resource}}
#[derive(Default{{convert}})]
{{#if spoke}}
#[convert(hub = {{hub}}Spec)]
{{/if}}
pub struct {{kind}}Spec {
    // Add fields here: `#[schema(…)]` says which values they take. Then run `make manifests`.
    /// An example. Edit `{{module}}.rs` to remove or change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// What is observed of {{a_kind}}.
#[kubewright::schema]
#[derive(Default{{convert}})]
{{#if spoke}}
#[convert(hub = {{hub}}Status)]
{{/if}}
pub struct {{kind}}Status {
    // Add what your controller finds out; it must be able to find it out again.
    /// How it stands: `Available`, and what else you add.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<kubewright::prelude::Condition>,
}

{{header}}//! `{{kind}}`: what its users write, and what is observed of it.

/// What {{a_kind}} asks for.
{{resource}}
{{#if spoke}}
#[derive(kubewright::conversion::Convert)]
#[convert(hub = {{hub}}Spec)]
{{/if}}
pub struct {{kind}}Spec {
    /// How many pods run the image.
    #[schema(default = 1, minimum = 0, maximum = 3)]
    pub size: i32,
{{#if port}}

    /// Where the container listens.
    #[schema(default = {{port}}, minimum = 1, maximum = 65535)]
    pub container_port: i32,
{{/if}}
}

/// What is observed of {{a_kind}}.
#[kubewright::schema]
#[derive(Default{{convert}})]
{{#if spoke}}
#[convert(hub = {{hub}}Status)]
{{/if}}
pub struct {{kind}}Status {
    /// `Available`: as many pods run as were asked for.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<kubewright::prelude::Condition>,
}

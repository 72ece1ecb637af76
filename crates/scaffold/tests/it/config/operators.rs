//! Operators as projects have them: without anything, with kinds, with webhooks, with versions, with several groups.

use k8s_openapi::api::apps::v1::Deployment;
use kube::CustomResource;
use kubewright_extension::ExtensionServer;
use kubewright_manifests::definitions::DefinitionOptions;
use kubewright_manifests::install::RenderedManifests;
use kubewright_runtime::controller::Controller;
use kubewright_runtime::conversion::Conversion;
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_runtime::policy::Policy;
use kubewright_runtime::webhook::{AdmissionRequest, Validator, Webhook};
use kubewright_scaffold::project::TEMPLATES;
use kubewright_scaffold::{Project, config};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod v1 {
    use super::*;

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "shop.example.com",
        version = "v1",
        kind = "Cart",
        namespaced,
        storage = false
    )]
    pub(crate) struct CartSpec {
        pub(crate) items: Vec<String>,
    }
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "shop.example.com", version = "v2", kind = "Cart", namespaced)]
pub(crate) struct CartSpec {
    /// What is in it.
    pub(crate) items: Vec<String>,
    pub(crate) limit: Option<u32>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "post.example.com", version = "v1", kind = "Parcel")]
pub(crate) struct ParcelSpec {
    pub(crate) weight: u32,
}

impl From<v1::Cart> for Cart {
    fn from(cart: v1::Cart) -> Self {
        let spec = CartSpec {
            items: cart.spec.items,
            limit: None,
        };
        Cart {
            metadata: cart.metadata,
            spec,
        }
    }
}

impl From<Cart> for v1::Cart {
    fn from(cart: Cart) -> Self {
        let spec = v1::CartSpec { items: cart.spec.items };
        v1::Cart {
            metadata: cart.metadata,
            spec,
        }
    }
}

/// A project, and the operator that is in its code.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) project: Project,
    pub(crate) manifests: RenderedManifests,
}

impl Case {
    fn new(name: &'static str, project: &str, operator: &Operator) -> Case {
        let text = format!("version: \"3\"\nprojectName: shop\ndomain: example.com\n{project}");
        let mut project = Project::parse(&text).unwrap();
        project.plugins.settings.templates = Some(TEMPLATES);
        "0.1.0".clone_into(&mut project.cli_version);
        let settings = config::settings(&project);
        let manifests = RenderedManifests::render(&operator.describe(), &DefinitionOptions::default(), &settings);
        Case {
            name,
            project,
            manifests: manifests.unwrap(),
        }
    }
}

/// PROJECT of the kind.
const CART: &str = "resources:\n- api: {crdVersion: v1, namespaced: true}\n  controller: true\n  domain: example.com\n  group: shop\n  kind: Cart\n  version: v2\n";
const SWITCHES: &str = "plugins:\n  kubewright.dev/v1:\n";

fn carts() -> Operator {
    Operator::new("shop")
        .resource::<Cart>()
        .controller(Controller::of::<Cart>().owns::<Deployment>())
        .rule(Rule::new(["apps"], ["deployments"], ["patch", "create"]))
}

/// Refuses nothing.
struct Anything;

impl Validator<Cart> for Anything {}

fn with_webhooks() -> Operator {
    carts().webhook(
        Webhook::of::<Cart>()
            .defaulter(|_: &mut Cart, _: &AdmissionRequest| Ok(()))
            .validator(Anything),
    )
}

fn with_policies() -> Operator {
    carts()
        .policy(
            Policy::validating("few-items")
                .of::<Cart>()
                .rule("object.spec.items.size() < 100", "a cart holds less than 100 items"),
        )
        .policy(
            Policy::mutating("limit")
                .of::<Cart>()
                .condition("has-none", "!has(object.spec.limit)")
                .apply("Object{spec: Object.spec{limit: 100}}"),
        )
}

fn with_conversion() -> Operator {
    with_webhooks()
        .resource::<v1::Cart>()
        .conversion(Conversion::hub::<Cart>().spoke::<v1::Cart>())
}

/// All that the two ways of installing have to agree on.
const AGGREGATED: &str =
    "resources:\n- api: {aggregated: true}\n  domain: example.com\n  group: post\n  kind: Parcel\n  version: v1\n";

fn with_extension() -> Operator {
    Operator::new("shop").extension(ExtensionServer::new().stored::<Parcel>())
}

pub(crate) fn cases() -> Vec<Case> {
    let webhooks = format!("{CART}  webhooks: {{defaulting: true, validation: true, webhookVersion: v1}}\n");
    let conversion = format!(
        "{CART}  webhooks: {{defaulting: true, validation: true, conversion: true, spoke: [v1], webhookVersion: v1}}\n- api: \
         {{crdVersion: v1, namespaced: true}}\n  domain: example.com\n  group: shop\n  kind: Cart\n  version: v1\n"
    );
    let switched = |switches: &str| format!("{conversion}{SWITCHES}{switches}");
    let parcels = "- api: {crdVersion: v1}\n  controller: true\n  domain: example.com\n  group: post\n  kind: Parcel\n  version: v1\n";
    let all = "    certManager: true\n    prometheus: true\n    networkPolicy: true\n";
    vec![
        Case::new("empty", "", &Operator::new("shop")),
        Case::new("aggregated", AGGREGATED, &with_extension()),
        Case::new(
            "aggregated-cert-manager",
            &format!("{AGGREGATED}{SWITCHES}{all}"),
            &with_extension(),
        ),
        Case::new("plain", CART, &carts()),
        Case::new("policies", CART, &with_policies()),
        Case::new("webhooks", &webhooks, &with_webhooks()),
        Case::new("conversion", &conversion, &with_conversion()),
        Case::new("cert-manager", &switched("    certManager: true\n"), &with_conversion()),
        Case::new("prometheus", &switched("    prometheus: true\n"), &with_conversion()),
        Case::new(
            "grafana",
            &format!("{CART}{SWITCHES}    prometheus: true\n    grafana: true\n"),
            &carts(),
        ),
        Case::new(
            "network-policy",
            &switched("    networkPolicy: true\n"),
            &with_conversion(),
        ),
        Case::new("all-switches", &switched(all), &with_conversion()),
        Case::new("switches-without-webhooks", &format!("{CART}{SWITCHES}{all}"), &carts()),
        Case::new("namespaced", &format!("namespaced: true\n{webhooks}"), &with_webhooks()),
        Case::new(
            "other-namespaces",
            CART,
            &carts()
                .rule(Rule::new([""], ["secrets"], ["get"]).in_namespace("vault"))
                .rule(Rule::new([""], ["configmaps"], ["get"]).in_namespace("library")),
        ),
        Case::new(
            "namespaced-and-other-namespaces",
            &format!("namespaced: true\n{CART}"),
            &carts().rule(Rule::new([""], ["secrets"], ["get"]).in_namespace("vault")),
        ),
        Case::new(
            "multigroup",
            &format!("multigroup: true\n{conversion}{parcels}"),
            &with_conversion()
                .resource::<Parcel>()
                .controller(Controller::of::<Parcel>().named("parcels")),
        ),
        Case::new(
            "namespaced-multigroup",
            &format!("multigroup: true\nnamespaced: true\n{CART}{parcels}"),
            &carts()
                .resource::<Parcel>()
                .controller(Controller::of::<Parcel>().named("parcels")),
        ),
    ]
}

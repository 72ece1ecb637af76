//! The files of Rust code of a project, from their templates.

use super::code_paths::CodePaths;
use super::header::header;
use super::rust;
use crate::template::{TemplateValues, fill};
use crate::{File, Project, Resource, builtin_kinds, names};

/// A template that has changed since the first generation, as the project's generation has it.
macro_rules! changed {
    ($project:expr, $name:literal) => {
        $project.template(
            include_str!(concat!("../../templates/1/code/", $name)),
            include_str!(concat!("../../templates/code/", $name)),
        )
    };
}

/// `src/main.rs`.
pub(super) fn main(project: &Project) -> File {
    File::new(
        "src/main.rs",
        fill(include_str!("../../templates/code/main.rs"), &of_project(project)),
    )
}

/// `src/lib.rs` before anything was created.
pub(super) fn library(project: &Project) -> File {
    File::new(
        super::LIBRARY,
        fill(include_str!("../../templates/code/lib.rs"), &of_project(project)),
    )
}

/// The types of a kind.
pub(super) fn api(project: &Project, resource: &Resource) -> String {
    let hub = project.hub_of(resource);
    let hub_type = hub.map(|hub| format!("crate::{}", CodePaths::new(project, hub).type_path()));
    let port = project.image_of(resource).and_then(|image| image.port);
    let convert = project.template(", Convert", ", kubewright::conversion::Convert");
    let values = of_kind(project, resource)
        .text("resource", resource_attribute(project, resource))
        .flag("spoke", hub.is_some())
        .text("convert", if hub.is_some() { convert } else { "" })
        .text("hub", hub_type.unwrap_or_default())
        .flag("port", port.is_some())
        .text("port", port.unwrap_or_default().to_string());
    let template = match project.image_of(resource) {
        Some(_) => changed!(project, "api_image.rs"),
        None => changed!(project, "api.rs"),
    };
    fill(template, &values)
}

fn resource_attribute(project: &Project, resource: &Resource) -> String {
    let pair = |key: &str, value: &str| format!("{key} = \"{value}\"");
    let mut arguments = vec![
        pair("group", &resource.api_group()),
        pair("version", &resource.version),
        pair("kind", &resource.kind),
    ];
    if !resource.plural.is_empty() {
        arguments.push(pair("plural", &resource.plural));
    }
    if resource.namespaced() {
        arguments.push("namespaced".to_owned());
    }
    arguments.push(pair("status", &format!("{}Status", resource.kind)));
    if !project.is_stored(resource) {
        arguments.push("storage = false".to_owned());
    }
    rust::attribute("kubewright::resource", &arguments)
}

/// The controller of a kind.
pub(super) fn controller(project: &Project, resource: &Resource) -> String {
    let template = match (project.image_of(resource), &resource.api) {
        (Some(_), _) => include_str!("../../templates/code/controller_image.rs"),
        (None, Some(_)) => include_str!("../../templates/code/controller.rs"),
        (None, None) => include_str!("../../templates/code/controller_foreign.rs"),
    };
    let image = project.image_of(resource).cloned().unwrap_or_default();
    let get = [
        "self".to_owned(),
        ".client".to_owned(),
        format!(".get_opt::<{}>(&request)", resource.kind),
        ".await?".to_owned(),
    ];
    let mut watched = vec![format!("Controller::of::<{}>()", resource.kind)];
    if project.image_of(resource).is_some() {
        watched.push(".owns::<Deployment>()".to_owned());
    }
    watched.push(".reconcile_with(Self::new)".to_owned());
    let rbac = |subresource: &str, verbs: &str| {
        rust::attribute(
            "rbac",
            &[
                format!("groups = \"{}\"", resource.api_group()),
                format!("resources = \"{}{subresource}\"", resource.plural()),
                format!("verbs = \"{verbs}\""),
            ],
        )
    };
    let objects = [
        "&self".to_owned(),
        format!("mut object: {}", resource.kind),
        "deployment: &Deployment".to_owned(),
    ];
    let report = rust::signature(4, "async fn report", &objects, " -> Result {");
    let object = ["&self".to_owned(), format!("object: &{}", resource.kind)];
    let deployment = rust::signature(4, "fn deployment", &object, " -> Result<DeploymentApply> {");
    let values = of_kind(project, resource)
        .text(
            "imports",
            rust::imports(vec!["kubewright::prelude::*".to_owned(), foreign_type(resource)]),
        )
        .text("use", type_import(project, resource))
        .text("get", rust::let_else(8, "Some(object)", &get))
        .text("controller", rust::chain(8, &watched))
        .text("report", report)
        .text("deployment", deployment)
        .text("rbac_update", rbac("", "update"))
        .text("rbac_status", rbac("/status", "update"))
        .text("rbac_finalizers", rbac("/finalizers", "update"))
        .text("image", rust::quoted(&image.image))
        .text("variable", resource.module().trim_end_matches('_').to_uppercase())
        .flag("command", !image.command.is_empty())
        // rustfmt breaks longer lists, where depends on the words.
        .flag("long_command", command(&image.command).len() > 58)
        .text("command", command(&image.command))
        .flag("port", image.port.is_some())
        .text("port_name", port_name(&resource.lowercase()))
        .flag("user", image.run_as_user.is_some())
        .text("user", image.run_as_user.unwrap_or_default().to_string());
    fill(template, &values)
}

/// A list of texts in Rust.
fn command(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| rust::quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

/// The name of a port has at most 15 characters and ends in none but a letter or digit.
fn port_name(kind: &str) -> String {
    kind.chars().take(15).collect()
}

/// The webhooks of a kind.
pub(super) fn webhook(project: &Project, resource: &Resource) -> String {
    let kind = &resource.kind;
    let one = project.one_of(kind);
    let doc = match (resource.defaults(), resource.validates(), resource.converts()) {
        (true, true, _) => format!("What {one} is given before it is stored, and what it must be."),
        (true, false, _) => format!("What {one} is given before it is stored."),
        (false, true, _) => format!("What {one} must be to be stored."),
        (false, false, _) => format!("The versions of {one}."),
    };
    let mut webhook = vec![format!("Webhook::of::<{kind}>()")];
    if resource.defaults() {
        webhook.push(format!(".defaulter({kind}Defaulter)"));
    }
    if resource.validates() {
        webhook.push(format!(".validator({kind}Validator)"));
    }
    let mut conversion = vec![format!("Conversion::hub::<{kind}>()")];
    for spoke in project.spokes_of(resource) {
        conversion.push(format!(
            ".spoke::<crate::{}>()",
            CodePaths::new(project, spoke).type_path()
        ));
    }
    conversion.push(".into()".to_owned());
    let method = |name: &str, objects: &[String], returns: &str| {
        let head = format!("async fn {name}");
        let mut arguments = vec!["&self".to_owned()];
        arguments.extend_from_slice(objects);
        arguments.push("_: &AdmissionRequest".to_owned());
        rust::signature(4, &head, &arguments, &format!(" -> {returns} {{"))
    };
    let object = format!("object: &{kind}");
    let mut imports = Vec::new();
    if resource.admits() {
        imports.push("kubewright::prelude::*");
    } else {
        imports.push("kubewright::conversion::Conversion");
    }
    if resource.validates() {
        imports.extend(["kubewright::webhook::Verdict", "kubewright::webhook::field::ErrorList"]);
    }
    let mut imports: Vec<String> = imports.into_iter().map(str::to_owned).collect();
    if resource.api.is_none() {
        imports.push(foreign_type(resource));
    }
    let values = of_kind(project, resource)
        .text("doc", format!("//! {doc}"))
        .text("imports", rust::imports(imports))
        .text("use", type_import(project, resource))
        .flag("foreign", resource.api.is_none())
        .flag("admits", resource.admits())
        .flag("defaults", resource.defaults())
        .flag("validates", resource.validates())
        .flag("converts", resource.converts())
        .text("webhook", rust::chain(4, &webhook))
        .text("conversion", rust::chain(4, &conversion))
        .text(
            "impl_defaulter",
            rust::implementation(&format!("Defaulter<{kind}>"), &format!("{kind}Defaulter")),
        )
        .text(
            "impl_validator",
            rust::implementation(&format!("Validator<{kind}>"), &format!("{kind}Validator")),
        )
        .text(
            "set_defaults",
            method(
                "set_defaults",
                &[format!("object: &mut {kind}")],
                "Result<(), Rejection>",
            ),
        )
        .text(
            "validate_create",
            method("validate_create", std::slice::from_ref(&object), "Verdict"),
        )
        .text(
            "validate_update",
            method("validate_update", &[format!("_old: &{kind}"), object], "Verdict"),
        );
    fill(include_str!("../../templates/code/webhook.rs"), &values)
}

/// Where the objects of an aggregated kind come from.
pub(super) fn rows(project: &Project, resource: &Resource) -> String {
    let kind = &resource.kind;
    let types = [kind.clone(), format!("{kind}Spec")];
    let module = format!("crate::{}", CodePaths::new(project, resource).api_path());
    let values = of_kind(project, resource)
        .text("use_spec", rust::import(&module, &types))
        .text(
            "impl_rows",
            rust::implementation(&format!("Rows<{kind}>"), &format!("{kind}Rows")),
        )
        .flag("namespaced", resource.namespaced())
        .flag("cluster_wide", !resource.namespaced());
    fill(include_str!("../../templates/code/rows.rs"), &values)
}

/// The test of an aggregated kind.
pub(super) fn rows_test(project: &Project, resource: &Resource) -> String {
    let kind = &resource.kind;
    let imports = vec![
        "kubewright::kube::Api".to_owned(),
        "kubewright::testing::TestEnv".to_owned(),
        format!(
            "{}::{}",
            project.crate_name(),
            CodePaths::new(project, resource).type_path()
        ),
    ];
    let api = if resource.namespaced() {
        format!("let objects: Api<{kind}> = Api::namespaced(env.kube(), \"default\");")
    } else {
        format!("let objects: Api<{kind}> = Api::all(env.kube());")
    };
    let values = of_kind(project, resource)
        .text("imports", rust::imports(imports))
        .text("api", api);
    fill(include_str!("../../templates/code/test_rows.rs"), &values)
}

/// The test of a controller.
pub(super) fn controller_test(project: &Project, resource: &Resource) -> String {
    let template = match (project.image_of(resource), &resource.api) {
        (Some(_), _) => changed!(project, "test_image.rs"),
        (None, Some(_)) => changed!(project, "test_controller.rs"),
        (None, None) => include_str!("../../templates/code/test_foreign.rs"),
    };
    let is_first = project.templates() == 1;
    let is_of_image = project.image_of(resource).is_some();
    let mut imports = vec![format!(
        "{}::{}",
        project.crate_name(),
        CodePaths::new(project, resource).type_path()
    )];
    if is_first || is_of_image {
        imports.push("kubewright::prelude::*".to_owned());
    }
    if is_of_image {
        imports.push("kubewright::k8s_openapi::api::apps::v1::Deployment".to_owned());
    }
    let testing = if is_of_image && !is_first {
        "kubewright::testing::{TestEnv, matchers}"
    } else {
        "kubewright::testing::TestEnv"
    };
    imports.push(testing.to_owned());
    let statement = |method: &str| rust::awaited(4, &format!("env.{method}::<{}>(NAME)", resource.kind));
    let available = format!("env.eventually_matches::<{}>(NAME, available)", resource.kind);
    let values = of_test(project, resource)
        .text("imports", rust::imports(imports))
        .text("available", rust::awaited(4, &available))
        .text("delete", statement("delete"))
        .text("gone", statement("eventually_gone"));
    fill(template, &values)
}

/// The test that explores the samples.
pub(super) fn explore_test(project: &Project) -> File {
    File::new(
        "tests/explore.rs",
        fill(
            include_str!("../../templates/code/test_explore.rs"),
            &of_project(project),
        ),
    )
}

/// The test of defaults and validation.
pub(super) fn webhook_test(project: &Project, resource: &Resource) -> String {
    let Resource { kind, api, .. } = resource;
    let (crate_name, paths) = (project.crate_name(), CodePaths::new(project, resource));
    let (template, imports) = if api.is_some() {
        let imports = vec![
            "kubewright::testing::TestEnv".to_owned(),
            format!("{crate_name}::{}", paths.type_path()),
        ];
        (include_str!("../../templates/code/test_webhook.rs"), imports)
    } else {
        let types = [
            resource.defaults().then(|| format!("{kind}Defaulter")),
            resource.validates().then(|| format!("{kind}Validator")),
        ];
        let types: Vec<String> = types.into_iter().flatten().collect();
        let imports = vec![
            foreign_type(resource),
            "kubewright::prelude::*".to_owned(),
            rust::import(&format!("{crate_name}::{}", paths.webhook_path()), &types),
        ];
        (include_str!("../../templates/code/test_webhook_foreign.rs"), imports)
    };
    let call = |name: &str, receiver: &str, call: &str| {
        rust::binding(
            4,
            name,
            &[format!("{kind}{receiver}"), call.to_owned(), ".await".to_owned()],
        )
    };
    let values = of_test(project, resource)
        .text("imports", rust::imports(imports))
        .flag("defaults", resource.defaults())
        .flag("validates", resource.validates())
        .text(
            "call_defaulter",
            call("defaulted", "Defaulter", ".set_defaults(&mut object, &request)"),
        )
        .text(
            "call_validator",
            call("verdict", "Validator", ".validate_create(&object, &request)"),
        );
    fill(template, &values)
}

/// The test of a conversion.
pub(super) fn conversion_test(project: &Project, resource: &Resource) -> String {
    let Resource { kind, .. } = resource;
    let path = |resource| {
        format!(
            "{}::{}",
            project.crate_name(),
            CodePaths::new(project, resource).api_path()
        )
    };
    let version = names::module(&resource.version);
    let mut imports = vec!["kubewright::testing::conversion_round_trips".to_owned(), path(resource)];
    imports.extend(project.spokes_of(resource).map(path));
    let mut text = format!(
        "{}//! Nothing gets lost between the versions of {}.\n\n{}\n",
        header(project),
        project.one_of(kind),
        rust::imports(imports)
    );
    for spoke in project.spokes_of(resource) {
        let other = names::module(&spoke.version);
        let types = [format!("{version}::{kind}"), format!("{other}::{kind}")];
        let call = rust::generic_call(4, "conversion_round_trips", &types);
        let checked = format!("\n#[test]\nfn {other}_and_{version}_hold_the_same() {{\n    {call};\n}}\n");
        text.push_str(&checked);
    }
    text
}

/// What a file imports to name the type of a kind.
fn type_import(project: &Project, resource: &Resource) -> String {
    if resource.api.is_some() {
        return format!("crate::{}", CodePaths::new(project, resource).type_path());
    }
    foreign_type(resource)
}

/// The path of a type the project does not define.
fn foreign_type(resource: &Resource) -> String {
    match builtin_kinds::find(&resource.group, &resource.version, &resource.kind) {
        Some(group) if resource.core => {
            let Resource { version, kind, .. } = resource;
            format!("kubewright::k8s_openapi::api::{}::{version}::{kind}", group.module)
        }
        _ => format!("{}::{}", resource.path, resource.kind),
    }
}

fn of_project(project: &Project) -> TemplateValues {
    TemplateValues::default()
        .text("header", header(project))
        .text("name", &project.name)
        .text("crate", project.crate_name())
}

fn of_kind(project: &Project, resource: &Resource) -> TemplateValues {
    of_project(project)
        .text("kind", &resource.kind)
        .text("a_kind", project.one_of(&resource.kind))
        .text("module", resource.module())
        .text("lowercase", resource.lowercase())
        .text("group", resource.api_group())
}

fn of_test(project: &Project, resource: &Resource) -> TemplateValues {
    of_kind(project, resource)
        .text("sample_constant", rust::constant("SAMPLE", &resource.sample_path()))
        .text("name_constant", rust::constant("NAME", &resource.sample_name()))
}

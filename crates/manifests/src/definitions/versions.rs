//! Merges the versions of a kind into one definition: names they must agree on, the stored version, conversion.

use kubewright_description::{ConversionDescription, DefinitionDescription, Description};
use serde_json::{Map, Value, json};

use super::{DefinitionOptions, KindVersions, VERSION_ANNOTATION, root};
use crate::Problem;

/// The definition of a kind; `None` if problems were added.
pub(super) fn merge(
    kind: &KindVersions<'_>,
    operator: &Description,
    options: &DefinitionOptions,
    problems: &mut Vec<Problem>,
) -> Option<Value> {
    let before = problems.len();
    for version in &kind.versions {
        if let Some(problem) = &version.problem {
            problems.push(Problem::of_type(&version.ty, &problem.message, &problem.hint));
        }
    }
    let conversion = operator
        .conversions
        .iter()
        .find(|conversion| converts(conversion, kind));
    let names = names(kind, problems);
    let mut metadata = metadata(kind, problems);
    let stored = stored(kind, conversion, problems);
    check_served(kind, problems);
    check_converted(kind, conversion, problems);
    let schemas: Vec<Option<Value>> = kind
        .versions
        .iter()
        .map(|version| root::schema(version, options, problems))
        .collect();
    if problems.len() > before {
        return None;
    }
    let versions: Vec<Value> = kind
        .versions
        .iter()
        .zip(schemas)
        .map(|(version, schema)| version_entry(version, Some(version.version.as_str()) == stored, schema))
        .collect();
    let first = kind.versions.first()?;
    let mut spec = json!({
        "group": first.group,
        "names": names,
        "scope": if first.namespaced { "Namespaced" } else { "Cluster" },
        "versions": versions,
    });
    if let (Some(_), Some(service)) = (conversion, &options.conversion) {
        spec["conversion"] = service.conversion();
        if let Some(certificate) = &options.inject_ca_from {
            metadata["annotations"]["cert-manager.io/inject-ca-from"] = certificate.as_str().into();
        }
    }
    if options.version_annotation {
        metadata["annotations"][VERSION_ANNOTATION] = env!("CARGO_PKG_VERSION").into();
    }
    Some(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }))
}

fn converts(conversion: &ConversionDescription, kind: &KindVersions<'_>) -> bool {
    kind.versions.first().is_some_and(|first| {
        let group = conversion.hub.split_once('/').map_or("", |(group, _)| group);
        conversion.kind == first.kind && group == first.group
    })
}

/// One version, as it stands in the definition.
fn version_entry(version: &DefinitionDescription, storage: bool, schema: Option<Value>) -> Value {
    let mut written = declared(version).cloned().unwrap_or_default();
    // Empty fields are left out, as an API server leaves them out.
    written.retain(|_, value| !value.is_null() && *value != json!([]));
    written.insert("name".into(), version.version.as_str().into());
    written.insert("served".into(), is_served(version).into());
    written.insert("storage".into(), storage.into());
    if let Some(schema) = schema {
        written.insert("schema".into(), json!({ "openAPIV3Schema": schema }));
    }
    written.into()
}

/// What the type's own definition declares for the version.
fn declared(version: &DefinitionDescription) -> Option<&Map<String, Value>> {
    version.definition.pointer("/spec/versions/0")?.as_object()
}

fn flag(version: &DefinitionDescription, name: &str) -> bool {
    declared(version)
        .and_then(|declared| declared.get(name)?.as_bool())
        .unwrap_or(true)
}

fn is_served(version: &DefinitionDescription) -> bool {
    flag(version, "served")
}

/// The names of a kind. Versions that declare a name must agree on it.
fn names(kind: &KindVersions<'_>, problems: &mut Vec<Problem>) -> Value {
    let mut agreed = Agreement::default();
    for version in &kind.versions {
        agreed.add(
            "the scope",
            &json!(if version.namespaced { "Namespaced" } else { "Cluster" }),
            version,
        );
        agreed.add("plural", &version.plural.as_str().into(), version);
        for (name, value) in version
            .definition
            .pointer("/spec/names")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            agreed.add(name, value, version);
        }
    }
    let hint = "write the same on every version of the kind, or leave it out on all but one";
    let mut names = agreed.finish("what is", hint, problems);
    names.remove("the scope");
    if let Some(first) = kind.versions.first() {
        names.insert("kind".into(), first.kind.as_str().into());
        names
            .entry("listKind")
            .or_insert_with(|| format!("{}List", first.kind).into());
        names
            .entry("singular")
            .or_insert_with(|| first.kind.to_lowercase().into());
    }
    names.into()
}

/// Name, labels and annotations, those of all versions together.
fn metadata(kind: &KindVersions<'_>, problems: &mut Vec<Problem>) -> Value {
    let mut metadata = Map::new();
    if let Some(first) = kind.versions.first() {
        metadata.insert("name".into(), format!("{}.{}", first.plural, first.group).into());
    }
    for (field, what) in [("annotations", "the annotation"), ("labels", "the label")] {
        let mut agreed = Agreement::default();
        for version in &kind.versions {
            let given = version
                .definition
                .pointer(&format!("/metadata/{field}"))
                .and_then(Value::as_object);
            for (name, value) in given.into_iter().flatten() {
                agreed.add(name, value, version);
            }
        }
        let all = agreed.finish(
            what,
            "a definition has one for all versions: write the same on each",
            problems,
        );
        if !all.is_empty() {
            metadata.insert(field.into(), all.into());
        }
    }
    metadata.into()
}

/// Values that several versions declare under one name.
#[derive(Default)]
struct Agreement<'d> {
    values: Vec<(String, Value, &'d DefinitionDescription)>,
    conflicts: Vec<(String, &'d DefinitionDescription, &'d DefinitionDescription)>,
}

impl<'d> Agreement<'d> {
    fn add(&mut self, name: &str, value: &Value, version: &'d DefinitionDescription) {
        if value.is_null() || *value == json!([]) {
            return;
        }
        match self.values.iter().find(|(known, _, _)| known == name) {
            None => self.values.push((name.to_owned(), value.clone(), version)),
            Some((_, known, _)) if known == value => {}
            Some((_, _, other)) => self.conflicts.push((name.to_owned(), other, version)),
        }
    }

    fn finish(self, what: &str, hint: &str, problems: &mut Vec<Problem>) -> Map<String, Value> {
        for (name, one, other) in self.conflicts {
            let what = if what == "what is" {
                name
            } else {
                format!("{what} {name}")
            };
            let problem = format!(
                "{what} of {}/{} is not what {} says for version {}",
                other.kind, other.version, one.ty, one.version
            );
            problems.push(Problem::of_type(&other.ty, problem, hint));
        }
        self.values.into_iter().map(|(name, value, _)| (name, value)).collect()
    }
}

/// The version whose form is stored: exactly one.
fn stored<'d>(
    kind: &KindVersions<'d>,
    conversion: Option<&ConversionDescription>,
    problems: &mut Vec<Problem>,
) -> Option<&'d str> {
    for pair in kind.versions.windows(2) {
        if let [one, other] = pair
            && one.version == other.version
        {
            let problem = format!("{} {} is what {} is, too", other.kind, other.version, one.ty);
            problems.push(Problem::of_type(
                &other.ty,
                problem,
                "give one of them another version or kind",
            ));
            return None;
        }
    }
    if let [only] = kind.versions.as_slice() {
        return Some(&only.version);
    }
    let claiming: Vec<&DefinitionDescription> = kind
        .versions
        .iter()
        .copied()
        .filter(|version| flag(version, "storage"))
        .collect();
    if let [only] = claiming.as_slice() {
        return Some(&only.version);
    }
    // kube's derive declares every version as stored; then the hub is stored.
    let hub = conversion.and_then(|conversion| conversion.hub.rsplit('/').next());
    if let Some(hub) = kind
        .versions
        .iter()
        .find(|version| Some(version.version.as_str()) == hub)
    {
        return Some(&hub.version);
    }
    let named = |versions: &[&DefinitionDescription]| -> String {
        let named: Vec<String> = versions
            .iter()
            .map(|version| format!("{} ({})", version.version, version.ty))
            .collect();
        named.join(" and ")
    };
    let first = kind.versions.first()?;
    let (problem, hint) = if claiming.is_empty() {
        let problem = format!("no version of {} is stored: {}", first.kind, named(&kind.versions));
        (problem, "write `storage = true` on the one whose form is stored")
    } else {
        let problem = format!("several versions of {} are stored: {}", first.kind, named(&claiming));
        (
            problem,
            "write `storage = false` on all but the one whose form is stored, or name a hub (`.conversion(…)`)",
        )
    };
    problems.push(Problem::of_type(&first.ty, problem, hint));
    None
}

fn check_served(kind: &KindVersions<'_>, problems: &mut Vec<Problem>) {
    if let Some(first) = kind.versions.first()
        && !kind.versions.iter().any(|version| is_served(version))
    {
        let problem = format!("no version of {} is served", first.kind);
        problems.push(Problem::of_type(
            &first.ty,
            problem,
            "take `served = false` off one of them",
        ));
    }
}

/// A kind that is converted is converted in all its versions.
fn check_converted(kind: &KindVersions<'_>, conversion: Option<&ConversionDescription>, problems: &mut Vec<Problem>) {
    let Some(conversion) = conversion else { return };
    for version in &kind.versions {
        if !conversion.versions.contains(&version.version) {
            let problem = format!(
                "{} is converted, but not to and from {} (only {})",
                version.kind,
                version.version,
                conversion.versions.join(", ")
            );
            problems.push(Problem::of_type(
                &version.ty,
                problem,
                "add the version as a spoke of its conversion",
            ));
        }
    }
}

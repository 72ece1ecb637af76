//! Definitions and sample objects of well-known projects, read from their Go modules when they are needed. Nothing of them is kept here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize as _;
use serde_json::{Value, json};
use thiserror::Error;

use super::classes::of_definition;
use super::generated::{GeneratedCase, Step};
use super::random::Choices;
use super::weights::Class;

/// The modules, with the version that is read.
pub const MODULES: [&str; 12] = [
    "sigs.k8s.io/gateway-api@v1.2.1",
    "github.com/cert-manager/cert-manager@v1.16.2",
    "github.com/prometheus-operator/prometheus-operator@v0.79.2",
    "sigs.k8s.io/cluster-api@v1.9.3",
    "sigs.k8s.io/kueue@v0.10.1",
    "github.com/argoproj/argo-rollouts@v1.7.2",
    "github.com/kedacore/keda/v2@v2.16.1",
    "github.com/vmware-tanzu/velero@v1.15.1",
    "github.com/crossplane/crossplane@v1.18.2",
    "github.com/tektoncd/pipeline@v0.66.0",
    "sigs.k8s.io/karpenter@v1.1.1",
    "github.com/external-secrets/external-secrets@v0.12.1",
];

/// How many samples of a kind take part.
const SAMPLES: usize = 8;

/// How many requests for custom resources a case has.
const REQUESTS: usize = 24;

/// A definition of a project, with samples of its kind.
#[derive(Clone, Debug)]
pub struct Project {
    /// The module that it is of.
    pub module: String,
    /// The definition; its group begins with `${unique}`.
    pub definition: Value,
    /// Objects of the kind, whose apiVersion has the same group.
    pub samples: Vec<Value>,
}

/// The reason why a module cannot be read.
#[derive(Debug, Error)]
pub enum CorpusError {
    /// Go is missing or cannot download the module.
    #[error("go mod download {0} failed: {1}")]
    Download(String, String),
}

/// The definitions of all modules that can be read, in the order in which a run with this seed takes them. A module that cannot be
/// downloaded is named and left out.
pub fn load(seed: u64) -> Vec<Project> {
    let mut modules = Vec::new();
    for module in MODULES {
        match folder(module) {
            Ok(folder) => modules.push(of_folder(module, &folder)),
            Err(error) => eprintln!("{error}"),
        }
    }
    in_turn(modules, seed)
}

/// One definition of each module in turn, so that a short run meets all of them. The seed decides which ones come first.
fn in_turn(mut modules: Vec<Vec<Project>>, seed: u64) -> Vec<Project> {
    // A place that no case of the run has.
    let mut choices = Choices::new(seed, u64::MAX);
    for definitions in &mut modules {
        shuffle(&mut choices, definitions);
    }
    shuffle(&mut choices, &mut modules);
    let mut left: Vec<_> = modules.into_iter().map(Vec::into_iter).collect();
    let mut ordered = Vec::new();
    loop {
        let before = ordered.len();
        ordered.extend(left.iter_mut().filter_map(Iterator::next));
        if ordered.len() == before {
            return ordered;
        }
    }
}

fn shuffle<T>(choices: &mut Choices, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, choices.below(last + 1));
    }
}

/// How many definitions of each module so many cases are about, one line each.
pub fn coverage(projects: &[Project], cases: u64) -> String {
    let mut covered: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (at, project) in projects.iter().enumerate() {
        let (reached, all) = covered.entry(&project.module).or_default();
        *reached += usize::from((at as u64) < cases.div_ceil(2));
        *all += 1;
    }
    let lines = covered
        .into_iter()
        .map(|(module, (reached, all))| format!("{module}: {reached} of {all} definitions\n"));
    lines.collect()
}

/// The folder of a module in Go's module cache.
fn folder(module: &str) -> Result<PathBuf, CorpusError> {
    let failed = |problem: String| CorpusError::Download(module.to_owned(), problem);
    let output = Command::new("go")
        .args(["mod", "download", "-json", module])
        .current_dir(std::env::temp_dir())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["Dir"].as_str() {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Err(failed(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// The definitions below the folder of a module, each with its samples.
pub fn of_folder(module: &str, folder: &Path) -> Vec<Project> {
    let mut documents = Vec::new();
    read(folder, &mut documents);
    let mut definitions: BTreeMap<(String, String), Value> = BTreeMap::new();
    for document in documents
        .iter()
        .filter(|document| document["kind"] == "CustomResourceDefinition")
    {
        let text = |place: &str| document.pointer(place).and_then(Value::as_str).map(str::to_owned);
        if let (Some(group), Some(kind)) = (text("/spec/group"), text("/spec/names/kind")) {
            definitions.entry((group, kind)).or_insert_with(|| document.clone());
        }
    }
    definitions
        .into_iter()
        .map(|((group, kind), definition)| {
            let mut samples: Vec<Value> = Vec::new();
            for document in &documents {
                let of_group = document["apiVersion"]
                    .as_str()
                    .and_then(|version| version.split_once('/'));
                if document["kind"] == kind.as_str()
                    && of_group.is_some_and(|(of, _)| of == group)
                    && samples.len() < SAMPLES
                    && !samples.contains(document)
                {
                    samples.push(document.clone());
                }
            }
            for sample in &mut samples {
                let version = sample["apiVersion"].as_str().unwrap_or_default().to_owned();
                sample["apiVersion"] = json!(format!("${{unique}}.{version}"));
                sample["metadata"] = json!({"name": "x", "labels": sample["metadata"]["labels"]});
            }
            Project {
                module: module.to_owned(),
                definition: moved(definition, &group),
                samples,
            }
        })
        .collect()
}

/// The definition in a group of its own, so that cases do not meet. Its conversion is None, since no webhook is there.
fn moved(mut definition: Value, group: &str) -> Value {
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap_or_default();
    let mut metadata = json!({"name": format!("{plural}.${{unique}}.{group}")});
    if group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io") {
        metadata["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, for a test"});
    }
    definition["metadata"] = metadata;
    definition["spec"]["group"] = json!(format!("${{unique}}.{group}"));
    if let Some(fields) = definition.as_object_mut() {
        fields.remove("status");
    }
    if let Some(spec) = definition["spec"].as_object_mut() {
        spec.remove("conversion");
    }
    without_references(&mut definition);
    definition
}

/// `${` begins a reference in a case file, so that descriptions must not contain it.
fn without_references(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("${") && !text.contains("${unique}") => *text = text.replace("${", "$ {"),
        Value::Array(items) => items.iter_mut().for_each(without_references),
        Value::Object(fields) => fields.values_mut().for_each(without_references),
        _ => {}
    }
}

fn read(folder: &Path, documents: &mut Vec<Value>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read(&path, documents);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml")
            && let Ok(text) = fs::read_to_string(&path)
        {
            // A template, or a file that is wrong on purpose, is no sample.
            for document in yaml_serde::Deserializer::from_str(&text) {
                let Ok(mut document) = Value::deserialize(document) else {
                    break;
                };
                if document["kind"].is_string() {
                    without_references(&mut document);
                    documents.push(document);
                }
            }
        }
    }
}

/// The case at `index`: the definition itself as a dry run, or custom resources of it.
pub fn case(projects: &[Project], seed: u64, index: u64) -> GeneratedCase {
    let mut choices = Choices::new(seed, index);
    let project = &projects[(index / 2) as usize % projects.len()];
    let (given, steps) = if index.is_multiple_of(2) && (index / 2) < projects.len() as u64 {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
        (
            Vec::new(),
            vec![Step::new("POST", path).body("json", project.definition.clone()).into()],
        )
    } else {
        let steps = of_definition(&mut choices, &project.definition, &project.samples, REQUESTS);
        (vec![project.definition.clone()], steps)
    };
    GeneratedCase {
        class: Class::Corpus,
        seed,
        index,
        given,
        steps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_and_samples_are_found_and_moved_to_a_group_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ws.x.io}\nspec: {group: x.io, names: {plural: ws, kind: W}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: 'a ${b}'}}}]}\n";
        let sample = "apiVersion: x.io/v1\nkind: W\nmetadata: {name: s, namespace: n}\nspec: {a: 1}\n---\napiVersion: v1\nkind: Pod\n";
        fs::write(folder.path().join("a.yaml"), definition).unwrap();
        fs::write(folder.path().join("b.yaml"), sample).unwrap();
        fs::write(folder.path().join("c.yaml"), "{{ template }}: {").unwrap();
        let projects = of_folder("example.com/x@v1.0.0", folder.path());
        assert_eq!(projects.len(), 1);
        assert_eq!(projects[0].definition["metadata"]["name"], "ws.${unique}.x.io");
        assert_eq!(projects[0].samples.len(), 1);
        assert_eq!(projects[0].samples[0]["apiVersion"], "${unique}.x.io/v1");
        for index in 0..4 {
            let case = case(&projects, 1, index);
            assert_eq!(case.text(), super::case(&projects, 1, index).text());
            case.file().unwrap();
        }
    }

    /// Two modules with so many definitions.
    fn modules(sizes: &[usize]) -> Vec<Vec<Project>> {
        let definitions = |module: usize, size: usize| {
            let definition = |at: usize| Project {
                module: format!("m{module}"),
                definition: json!(at),
                samples: Vec::new(),
            };
            (0..size).map(definition).collect()
        };
        sizes
            .iter()
            .enumerate()
            .map(|(module, size)| definitions(module, *size))
            .collect()
    }

    fn names(projects: &[Project]) -> Vec<String> {
        let name = |project: &Project| format!("{} {}", project.module, project.definition);
        projects.iter().map(name).collect()
    }

    #[test]
    fn every_module_takes_part_from_the_beginning_and_the_seed_says_with_what() {
        let ordered = |seed| names(&in_turn(modules(&[40, 3, 40]), seed));
        assert_eq!(ordered(1), ordered(1));
        assert_ne!(ordered(1)[..6], ordered(2)[..6]);
        for seed in 0..20 {
            let ordered = ordered(seed);
            for turn in ordered[..9].chunks(3) {
                let mut modules: Vec<&str> = turn.iter().map(|name| &name[..2]).collect();
                modules.sort_unstable();
                assert_eq!(modules, ["m0", "m1", "m2"], "seed {seed}");
            }
            let mut all = ordered;
            all.sort_unstable();
            let mut expected = names(&modules(&[40, 3, 40]).concat());
            expected.sort_unstable();
            assert_eq!(all, expected);
        }
    }

    #[test]
    fn what_a_run_covers_is_told_by_module() {
        let projects = in_turn(modules(&[4, 1]), 7);
        assert_eq!(
            coverage(&projects, 5),
            "m0: 2 of 4 definitions\nm1: 1 of 1 definitions\n"
        );
        assert_eq!(
            coverage(&projects, 100),
            "m0: 4 of 4 definitions\nm1: 1 of 1 definitions\n"
        );
    }
}

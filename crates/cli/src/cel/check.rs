//! `kubewright cel check`: every rule of every version of a CRD, as the API server judges it.

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use kubewright_cel::limits::{PER_CRD_ESTIMATE, PER_EXPRESSION_ESTIMATE};
use kubewright_cel::rules::SchemaIssue;
use kubewright_codec::yaml;
use serde_json::{Value as Json, json};

use super::colours::Colours;
use super::crd::{self, Crd};
use super::input::{self, Document};
use super::schema_report::{self, RuleReport, SchemaReport, budget};
use super::{Format, indented, print};

/// Check the validation rules of CRDs.
///
/// Compiles every rule (x-kubernetes-validations) of every version and shows whether the API server accepts it, what
/// it is estimated to cost for one object, and how much that is of what a rule (10 000 000) and a whole schema
/// (100 000 000) may cost. The exit code is 1 if a rule is refused.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  kubewright cel check config/crd/bases/*.yaml
  kubewright cel check crd.yaml -o json
  kubectl get crds -o yaml | kubewright cel check -")]
pub(crate) struct Arguments {
    /// YAML or JSON files with CRDs; other objects in them are passed over; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The output format.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

#[derive(Debug, thiserror::Error)]
#[error("{0} has no CustomResourceDefinition")]
struct NoDefinition(String);

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    input::one_stdin(&arguments.files)?;
    let mut documents = Vec::new();
    for path in &arguments.files {
        let before = documents.len();
        documents.extend(
            input::read_all(path)?
                .into_iter()
                .flat_map(items)
                .filter(|document| crd::is_crd(&document.value)),
        );
        if documents.len() == before {
            return Err(NoDefinition(input::name_of(path)).into());
        }
    }
    // Errors of files are reported before any rule is checked.
    let crds = documents.iter().map(Crd::read).collect::<Result<Vec<_>, _>>()?;
    let judged: Vec<CheckedDefinition<'_>> = crds.iter().map(CheckedDefinition::of).collect();
    match arguments.output {
        Format::Text => print(&text(&judged, Colours::of(&io::stdout()))),
        Format::Json => print(&indented(&json(&judged))),
        Format::Yaml => print(&yaml::encode(&json(&judged))),
    }
    let accepted = judged.iter().all(CheckedDefinition::is_accepted);
    Ok(if accepted { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The objects of a list, as `kubectl get` writes it, or the object itself.
fn items(document: Document) -> Vec<Document> {
    let Document { name, mut value } = document;
    if value.get("kind").and_then(Json::as_str) != Some("List") {
        return vec![Document { name, value }];
    }
    let items = value.get_mut("items").map(Json::take);
    let items = items.as_ref().and_then(Json::as_array).cloned().unwrap_or_default();
    let item = |(at, value)| Document {
        name: format!("{name} (items[{at}])"),
        value,
    };
    items.into_iter().enumerate().map(item).collect()
}

/// A definition and what is known about the rules of its versions.
struct CheckedDefinition<'c> {
    crd: &'c Crd<'c>,
    versions: Vec<(&'c str, SchemaReport)>,
}

impl<'c> CheckedDefinition<'c> {
    fn of(crd: &'c Crd<'c>) -> CheckedDefinition<'c> {
        let surveyed = crd.versions.iter().filter_map(|version| {
            let (schema, path) = version.schema.as_ref()?;
            Some((version.name, schema_report::of_schema(schema, path)))
        });
        CheckedDefinition {
            crd,
            versions: surveyed.collect(),
        }
    }

    fn is_accepted(&self) -> bool {
        self.versions.iter().all(|(_, report)| report.is_accepted())
    }
}

fn json(judged: &[CheckedDefinition<'_>]) -> Json {
    let one = |judged: &CheckedDefinition<'_>| {
        let versions = judged.versions.iter().map(|(name, report)| report.json(name));
        json!({
            "file": judged.crd.file,
            "name": judged.crd.name,
            "accepted": judged.is_accepted(),
            "versions": versions.collect::<Vec<_>>(),
        })
    };
    json!({
        "accepted": judged.iter().all(CheckedDefinition::is_accepted),
        "crds": judged.iter().map(one).collect::<Vec<_>>(),
    })
}

fn text(judged: &[CheckedDefinition<'_>], colours: Colours) -> String {
    let mut out = String::new();
    for CheckedDefinition { crd, versions } in judged {
        for (version, report) in versions {
            let _ = writeln!(out, "{}: {} {version}", crd.file, crd.name);
            for rule in &report.rules {
                rule_text(&mut out, rule, colours);
            }
            for issue in &report.issues {
                issue_text(&mut out, issue, colours);
            }
            summary(&mut out, report, colours);
        }
        if versions.is_empty() {
            let _ = writeln!(out, "{}: {} has no schema", crd.file, crd.name);
        }
    }
    out
}

fn rule_text(out: &mut String, rule: &RuleReport, colours: Colours) {
    let verdict = if rule.issues.is_empty() {
        colours.good("ok")
    } else {
        colours.bad("refused")
    };
    let first = rule.estimate.rule.lines().next().unwrap_or_default();
    let more = if rule.estimate.rule.contains('\n') { " …" } else { "" };
    let _ = writeln!(out, "  {verdict} {}: {first}{more}", rule.estimate.field);
    if let Some(total) = rule.estimate.cost {
        let text = format!("cost {}", budget(total, PER_EXPRESSION_ESTIMATE));
        let _ = writeln!(out, "     {}", colours.faint(&text));
    }
    if let Some(total) = rule.estimate.message_cost {
        let text = format!("messageExpression: cost {}", budget(total, PER_EXPRESSION_ESTIMATE));
        let _ = writeln!(out, "     {}", colours.faint(&text));
    }
    for issue in &rule.issues {
        issue_text(out, issue, colours);
    }
    if let Some(hint) = &rule.hint {
        let _ = writeln!(out, "     ({hint})");
    }
}

/// What is wrong and where, the lines of the expression below it as CEL prints them.
fn issue_text(out: &mut String, issue: &SchemaIssue, colours: Colours) {
    let text = format!("{}: {}: {}", issue.path, issue.kind, issue.detail);
    for line in colours.issues(&text).lines() {
        let _ = writeln!(out, "     {line}");
    }
}

fn summary(out: &mut String, report: &SchemaReport, colours: Colours) {
    let rules = match report.rules.len() {
        1 => "1 rule".to_owned(),
        count => format!("{count} rules"),
    };
    let refused = match report.refused() {
        0 => "none refused".to_owned(),
        count => colours.bad(&format!("{count} refused")),
    };
    let together = budget(report.cost, PER_CRD_ESTIMATE);
    let _ = writeln!(out, "  {rules}, {refused}; together cost {together}");
}

//! `kubewright cel check`: the rules of CRDs, and the expressions of admission policies and webhooks, as the API server judges them.

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use kubewright_apiserver::Options;
use kubewright_cel::limits::{PER_CRD_ESTIMATE, PER_EXPRESSION_ESTIMATE};
use kubewright_cel::rules::SchemaIssue;
use kubewright_codec::yaml;
use serde_json::{Value as Json, json};

use super::admission::{self, AdmissionReport, is_admission};
use super::admission_text;
use super::crd::{self, Crd};
use super::schema_report::{self, RuleReport, SchemaReport, budget};
use super::{Format, indented, print};
use crate::colours::Colours;
use crate::documents::{self as input, Document};
use crate::trial_server::TrialServer;

/// Check the expressions of CRDs, admission policies and webhooks.
///
/// Compiles every rule (x-kubernetes-validations) of every version of a CRD and shows whether the API server accepts it, what
/// it is estimated to cost for one object, and how much that is of what a rule (10 000 000) and a whole schema
/// (100 000 000) may cost.
///
/// Of `ValidatingAdmissionPolicies`, `MutatingAdmissionPolicies`, their bindings and webhook configurations, everything is shown that the
/// API server has against them, at its place in the YAML, and what evaluating an expression costs, which may be 1 000 000. The kinds
/// that a policy is about are built-in ones or those of the CRDs that are given, too: expressions are compared with their schemas, as
/// a cluster does for `status.typeChecking`. One that fits none of them is a mistake; one that fits only some is warned of.
///
/// The exit code is 1 if something is refused or mistaken.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  kubewright cel check config/crd/bases/*.yaml
  kubewright cel check crd.yaml -o json
  kubewright cel check policies/*.yaml config/crd/bases/*.yaml
  kubectl get crds -o yaml | kubewright cel check -")]
pub(crate) struct Arguments {
    /// YAML or JSON files with CRDs, policies, bindings and webhook configurations; other objects in them are passed over; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The output format.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

#[derive(Debug, thiserror::Error)]
#[error("{0} has no CustomResourceDefinition, no admission policy and no webhook configuration")]
struct NothingToCheck(String);

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
                .filter(|document| crd::is_crd(&document.value) || is_admission(&document.value)),
        );
        if documents.len() == before {
            return Err(NothingToCheck(input::name_of(path)).into());
        }
    }
    let (definitions, admission): (Vec<Document>, Vec<Document>) =
        documents.into_iter().partition(|document| crd::is_crd(&document.value));
    // Errors of files are reported before any rule is checked.
    let crds = definitions.iter().map(Crd::read).collect::<Result<Vec<_>, _>>()?;
    let judged = Judged {
        definitions: crds.iter().map(CheckedDefinition::of).collect(),
        admission: judge_admission(&definitions, &admission)?,
    };
    match arguments.output {
        Format::Text => print(&judged.text(Colours::of(&io::stdout()))),
        Format::Json => print(&indented(&judged.json())),
        Format::Yaml => print(&yaml::encode(&judged.json())),
    }
    let accepted = judged.is_accepted();
    Ok(if accepted { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Has an API server judge policies, bindings and configurations; those that name kinds of definitions need these.
fn judge_admission<'d>(definitions: &[Document], admission: &'d [Document]) -> io::Result<Vec<AdmissionReport<'d>>> {
    if admission.is_empty() {
        return Ok(Vec::new());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut server = TrialServer::new(Options::new());
        for definition in definitions {
            // What is wrong with it is reported for itself.
            server.create(&definition.value).await;
        }
        let mut reports = Vec::new();
        for document in admission {
            reports.push(admission::report(&mut server, document).await);
        }
        Ok(reports)
    })
}

/// Everything that was checked.
struct Judged<'d> {
    definitions: Vec<CheckedDefinition<'d>>,
    admission: Vec<AdmissionReport<'d>>,
}

impl Judged<'_> {
    fn is_accepted(&self) -> bool {
        self.definitions.iter().all(CheckedDefinition::is_accepted)
            && self.admission.iter().all(AdmissionReport::is_accepted)
    }

    fn text(&self, colours: Colours) -> String {
        let mut out = text(&self.definitions, colours);
        for report in &self.admission {
            admission_text::write(&mut out, report, colours);
        }
        out
    }

    fn json(&self) -> Json {
        json!({
            "accepted": self.is_accepted(),
            "crds": self.definitions.iter().map(CheckedDefinition::json).collect::<Vec<_>>(),
            "admission": self.admission.iter().map(AdmissionReport::json).collect::<Vec<_>>(),
        })
    }
}

/// The objects of a list, as `kubectl get` writes it, or the object itself.
fn items(mut document: Document) -> Vec<Document> {
    if document.value.get("kind").and_then(Json::as_str) != Some("List") {
        return vec![document];
    }
    let items = document.value.get_mut("items").map(Json::take);
    let items = items.as_ref().and_then(Json::as_array).cloned().unwrap_or_default();
    let item = |(at, value)| Document {
        name: format!("{} (items[{at}])", document.name),
        value,
        file: document.file.clone(),
        text: Arc::clone(&document.text),
        ..document
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

    fn json(&self) -> Json {
        let versions = self.versions.iter().map(|(name, report)| report.json(name));
        json!({
            "file": self.crd.file,
            "name": self.crd.name,
            "accepted": self.is_accepted(),
            "versions": versions.collect::<Vec<_>>(),
        })
    }
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

//! What is printed of what was done: a line per object, or the objects themselves.

use kubewright_manifests::yaml;
use serde_json::{Value, json};

use super::apply::{Applied, ApplyOutcome};
use crate::progress::Progress;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// The objects as JSON, one of them as it is and several as a List.
    Json,
    /// The objects as YAML documents.
    Yaml,
    /// Their names.
    Name,
}

/// Whether something is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DryRun {
    /// The cluster says what it would do, and does nothing.
    Server,
    /// Nothing is sent: what would be applied is printed.
    Client,
}

/// The flags of output.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Output {
    /// Print the objects in place of a line for each.
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    pub output: Option<Format>,

    /// Change nothing: let the cluster say what it would do, or print what would be sent.
    #[arg(long, value_name = "WHERE", value_enum)]
    pub dry_run: Option<DryRun>,
}

impl Output {
    /// Whether the cluster only says what it would do.
    pub fn tries_on_server(self) -> bool {
        self.dry_run == Some(DryRun::Server)
    }

    /// Whether nothing is sent to the cluster.
    pub fn tries_on_client(self) -> bool {
        self.dry_run == Some(DryRun::Client)
    }

    /// A line about something, unless objects are printed.
    pub fn line(self, progress: &Progress, what: &impl std::fmt::Display, done: &str) {
        let tried = match self.dry_run {
            Some(DryRun::Server) => " (server dry run)",
            Some(DryRun::Client) => " (dry run)",
            None => "",
        };
        match self.output {
            None => progress.line(format!("{what} {done}{tried}")),
            Some(Format::Name) => progress.line(what.to_string()),
            Some(Format::Json | Format::Yaml) => {}
        }
    }

    /// The line about an object that was applied.
    pub fn applied(self, progress: &Progress, applied: &Applied) {
        let done = match applied.outcome {
            ApplyOutcome::Created => "created",
            ApplyOutcome::Configured => "configured",
            ApplyOutcome::Unchanged => "unchanged",
            ApplyOutcome::Untried => "created (not checked: its namespace or kind is not there yet)",
        };
        self.line(progress, &applied.reference, done);
    }

    /// The objects, if they are wanted.
    pub fn objects(self, progress: &Progress, objects: &[Value]) {
        let objects: Vec<Value> = objects.iter().map(shown).collect();
        let text = match self.output {
            Some(Format::Json) => json_text(&objects),
            Some(Format::Yaml) => yaml::documents(&objects),
            Some(Format::Name) | None => return,
        };
        progress.line(text.trim_end());
    }
}

/// The object without the record of who wrote what, as kubectl shows it.
fn shown(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// One object as it is, several as a List.
fn json_text(objects: &[Value]) -> String {
    let value = match objects {
        [object] => object.clone(),
        objects => json!({ "apiVersion": "v1", "kind": "List", "items": objects, "metadata": {} }),
    };
    format!("{value:#}")
}

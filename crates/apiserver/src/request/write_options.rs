//! The query parameters of writes: dry run, field manager, field validation, force (W1, W2, W7).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::wire::query::Query;
use crate::wire::status::{Result, Status};

/// How a write is meant.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    /// The field manager of the write.
    pub(crate) manager: String,
    pub(crate) validation: FieldValidation,
    pub(crate) force: bool,
}

/// What becomes of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Which parameters a request may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionsKind {
    Create,
    Update,
    Patch,
    Apply,
}

impl OptionsKind {
    fn name(self) -> &'static str {
        match self {
            OptionsKind::Create => "CreateOptions",
            OptionsKind::Update => "UpdateOptions",
            OptionsKind::Patch | OptionsKind::Apply => "PatchOptions",
        }
    }
}

impl WriteOptions {
    pub(crate) fn parse(query: &Query, kind: OptionsKind, user_agent: &str) -> Result<WriteOptions> {
        let manager = query.text("fieldManager");
        let mut errors = Errors::new();
        let force = query.flag("force");
        match kind {
            OptionsKind::Apply if manager.is_empty() => {
                errors.push(FieldError::required(
                    &PathRef::root("fieldManager"),
                    "is required for apply patch",
                ));
            }
            OptionsKind::Patch if force.is_some() => {
                errors.push(FieldError::forbidden(
                    &PathRef::root("force"),
                    "may not be specified for non-apply patch",
                ));
            }
            _ => {}
        }
        check_manager(manager, &mut errors);
        let dry_run = check_dry_run(&query.all("dryRun"), &mut errors);
        let validation = match query.text("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                let path = PathRef::root("fieldValidation");
                errors.push(FieldError::not_supported(
                    &path,
                    other,
                    ["", "Ignore", "Strict", "Warn"],
                ));
                FieldValidation::Warn
            }
        };
        if !errors.is_empty() {
            return Err(Status::invalid_options(kind.name(), &errors));
        }
        let manager = if manager.is_empty() {
            manager_of(user_agent)
        } else {
            manager.to_owned()
        };
        Ok(WriteOptions {
            dry_run,
            manager,
            validation,
            force: force.unwrap_or(false),
        })
    }
}

/// Checks `dryRun` and says whether it is one.
pub(crate) fn check_dry_run(values: &[&str], errors: &mut Errors) -> bool {
    if values.iter().any(|value| *value != "All") {
        let shown: Value = values.iter().copied().map(Value::from).collect();
        errors.push(FieldError::not_supported(&PathRef::root("dryRun"), shown, ["All"]));
    }
    !values.is_empty()
}

fn check_manager(manager: &str, errors: &mut Errors) {
    const MOST: usize = 128;
    let path = PathRef::root("fieldManager");
    if manager.len() > MOST {
        errors.push(FieldError::too_long(&path, MOST));
    }
    for (at, c) in manager
        .char_indices()
        .filter(|(_, c)| c.is_control() || (c.is_whitespace() && *c != ' '))
    {
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
        errors.push(FieldError::invalid(&path, manager, detail));
    }
}

/// A client that names no manager is known by the beginning of its user agent.
fn manager_of(user_agent: &str) -> String {
    let prefix = user_agent.split('/').next().unwrap_or_default();
    prefix.chars().filter(|c| !c.is_control()).take(128).collect()
}

//! The validate stage: metadata, the rules of the kind, and the resourceVersion that makes an update conditional.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_kinds::strategy::{LastMetaCheck, Strategy};
use kubewright_kinds::{Behaviour, meta};
use serde_json::Value;

use super::{PendingWrite, admin_access, privileged};
use crate::object::{meta_text, set_meta};
use crate::registry::{BuiltInId, Resource, Subresource};
use crate::request::call::Call;
use crate::wire::status::{MODIFIED, Result, Status};

impl PendingWrite<'_, '_> {
    pub(super) fn validate_create(&mut self) -> Result<()> {
        let (resource, object) = (self.resource, &self.object);
        refuse_other_kinds(resource, object)?;
        let mut errors = Errors::new();
        admin_access::check_requests(self.call.server, resource, object, &mut errors);
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        meta::validate_create(metadata, resource.namespaced, own_strategy(self.call), &mut errors);
        let of_metadata = errors.len();
        let (rules, served) = rules(self.call, object);
        let checked = served.as_ref().unwrap_or(object);
        rules.validate_create(checked, &mut errors);
        let before = errors_before_metadata(rules, checked, &errors[of_metadata..]);
        errors[..of_metadata + before].rotate_left(of_metadata);
        privileged::check(self.call.server, resource, None, object, &mut errors);
        if resource.is(BuiltInId::CustomResourceDefinitions) {
            move_rule_of_name(&mut errors, of_metadata);
        }
        if errors.is_empty() {
            meta::validate_create_generic(metadata, resource.namespaced, &mut errors);
        }
        refuse_errors(resource, object, &errors)?;
        self.call.warnings.extend(resource.behaviour().warnings(object, None));
        Ok(())
    }

    pub(super) fn validate_update(&mut self) -> Result<()> {
        let Some(live) = &self.live else { return Ok(()) };
        let (resource, new, old) = (self.resource, &self.object, &live.object);
        let subresource = self.call.target.subresource.map(Subresource::name);
        refuse_other_kinds(resource, new)?;
        let mut errors = Errors::new();
        if subresource == Some("status") {
            admin_access::check_results(self.call.server, resource, new, old, &mut errors);
        }
        meta::validate_update(
            &new["metadata"],
            &old["metadata"],
            resource.namespaced,
            own_strategy(self.call),
            subresource,
            &mut errors,
        );
        let of_metadata = errors.len();
        let ((rules, served), (_, before)) = (rules(self.call, new), rules(self.call, old));
        let (checked, before) = (served.as_ref().unwrap_or(new), before.as_ref().unwrap_or(old));
        let mut tolerated = Vec::new();
        match resource.custom() {
            Some(version) => tolerated = version.validate_change(checked, before, subresource, &mut errors),
            None => rules.validate_update(checked, before, subresource, &mut errors),
        }
        privileged::check(
            self.call.server,
            resource,
            self.call.target.subresource,
            new,
            &mut errors,
        );
        let strategy = own_strategy(self.call);
        let all = errors.len() - of_metadata;
        let of_new = || {
            let mut of_new = Errors::new();
            rules.validate_create(checked, &mut of_new);
            of_new.len().min(all)
        };
        let before = match (strategy.last_meta_check, subresource) {
            _ if errors.is_empty() => 0,
            (LastMetaCheck::BehindAllRules, _) => all,
            (LastMetaCheck::BesideTheOthers, None) => errors_before_metadata(rules, checked, &errors[of_metadata..]),
            (_, Some(_)) => 0,
            (LastMetaCheck::BehindRulesOfNew, None) => of_new(),
            (LastMetaCheck::BeforeRulesOfNew, None) => all - of_new(),
        };
        if before > 0 {
            let (meta, old_meta) = (&new["metadata"], &old["metadata"]);
            let behind = meta::errors_of_last_check(meta, old_meta, resource.namespaced, strategy, subresource);
            errors[of_metadata - behind..of_metadata + before].rotate_left(behind);
        }
        // Warnings about tolerated problems are sent with an error, too.
        self.call.warnings.extend(tolerated);
        refuse_errors(resource, new, &errors)?;
        self.call.warnings.extend(match self.call.target.subresource {
            Some(Subresource::Status) => resource.behaviour().status_warnings(new),
            _ => resource.behaviour().warnings(new, Some(old)),
        });
        Ok(())
    }

    /// A resourceVersion in the request makes the write conditional (M9, E5, W6).
    pub(super) fn check_version(&mut self) -> Result<()> {
        let Some(live) = &self.live else { return Ok(()) };
        let (resource, name) = (self.resource, self.call.target.name);
        let wanted = meta_text(&self.object, "resourceVersion").to_owned();
        let current = live.record.revision.to_string();
        if wanted.is_empty() || wanted == "0" {
            if !resource.strategy().unconditional_update {
                let path = PathRef::root("metadata");
                let path = path.child("resourceVersion");
                // Upstream shows the missing version as the number it parsed.
                let error = FieldError::invalid(&path, Value::from(0), "must be specified for an update");
                return Err(Status::invalid(&resource.group, &resource.plural, name, &vec![error]));
            }
            set_meta(&mut self.object, "resourceVersion", current);
            return Ok(());
        }
        check_revision(&wanted)?;
        if wanted != current {
            return Err(Status::conflict(self.call.resource().about(), name, MODIFIED));
        }
        Ok(())
    }
}

/// A resourceVersion must be a number, if there is one.
pub(super) fn check_revision(wanted: &str) -> Result<()> {
    let Err(error) = wanted.parse::<u64>() else {
        return Ok(());
    };
    let why = match error.kind() {
        std::num::IntErrorKind::Empty => return Ok(()),
        std::num::IntErrorKind::PosOverflow => "value out of range",
        _ => "invalid syntax",
    };
    let message = format!(
        "strconv.ParseUint: parsing {}: {why}",
        kubewright_apimachinery::go::quote(wanted)
    );
    Err(Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message))
}

/// The strategy of the served version where that has rules of its own, else of the stored one.
fn own_strategy(call: &Call<'_>) -> &'static Strategy {
    let resource = call.resource();
    match resource.conversion().filter(|conversion| conversion.has_own_rules) {
        Some(_) => resource.strategy(),
        None => resource.stored().strategy(),
    }
}

/// Whose rules a written object must satisfy, and its form in which they read it where that is not the stored one.
fn rules<'a>(call: &Call<'a>, object: &Value) -> (&'a dyn Behaviour, Option<Value>) {
    let resource = call.resource();
    match resource.conversion().filter(|conversion| conversion.has_own_rules) {
        None => (resource.stored().behaviour(), None),
        Some(conversion) => {
            let mut served = object.clone();
            conversion.serve(&mut served);
            (resource.behaviour(), Some(served))
        }
    }
}

/// How many of the errors of a kind's rules come before those of metadata.
fn errors_before_metadata(rules: &dyn Behaviour, object: &Value, of_rules: &[FieldError]) -> usize {
    if of_rules.is_empty() {
        return 0;
    }
    let mut errors = Errors::new();
    rules.validate_before_metadata(object, &mut errors);
    errors.len().min(of_rules.len())
}

/// A custom resource that says it is of another kind is refused under that name.
fn refuse_other_kinds(resource: &Resource, object: &Value) -> Result<()> {
    let errors = resource
        .custom()
        .map(|version| version.check_type(object))
        .unwrap_or_default();
    if errors.is_empty() {
        return Ok(());
    }
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    Err(Status::invalid(group, text("kind"), meta_text(object, "name"), &errors))
}

/// The rule of a definition's name is part of upstream's checks of metadata: right behind what else is wrong with each name.
fn move_rule_of_name(errors: &mut Errors, of_metadata: usize) {
    let mut rule = of_metadata;
    for names in [
        &["metadata.generateName"][..],
        &["metadata.generateName", "metadata.name"],
    ] {
        let is_of_name = |error: &FieldError| names.contains(&error.field.as_str());
        if errors.get(rule).is_some_and(is_of_name) {
            let others = errors[..rule].iter().position(|error| !is_of_name(error));
            errors[others.unwrap_or(rule)..=rule].rotate_right(1);
            rule += 1;
        }
    }
}

fn refuse_errors(resource: &Resource, object: &Value, errors: &Errors) -> Result<()> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(
        &resource.group,
        &resource.kind,
        meta_text(object, "name"),
        errors,
    ))
}

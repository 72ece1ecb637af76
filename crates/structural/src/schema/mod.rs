//! A structural schema, compiled once and then used by every request: prune, coerce, default, validate, own, select.
//! [`Schema`] is immutable and shared; only a pattern is compiled while serving, when the first value meets it.

mod checks;
mod coerce;
mod compile;
mod correlate;
mod default;
mod embedded;
mod formats;
mod go;
mod list_type;
mod node;
mod path;
mod pattern;
mod prune;
mod scale;
mod select;
mod topology;
mod validate;

use kubewright_apimachinery::field::Errors;
use kubewright_cel::rules::Validator;
use serde_json::Value;

pub(crate) use self::coerce::object_meta;
pub(crate) use self::go::json;
use self::{coerce::Excess, node::Node};
pub use self::{
    coerce::{CoerceError, Malformed},
    pattern::PatternDefect,
    scale::{Scale, Scaled},
    select::select,
    topology::ResourceTopology,
};

/// The compiled schema of one version of a custom resource (`spec.versions[].schema.openAPIV3Schema`).
#[derive(Debug)]
pub struct Schema {
    root: Node,
    rules: Option<Validator>,
    preserve_unknown_fields: bool,
    patterns: compile::Patterns,
}

impl Schema {
    /// Compiles the schema of an accepted definition. What such a schema cannot hold is passed over.
    ///
    /// `preserve_unknown_fields` is the definition's `spec.preserveUnknownFields`.
    pub fn compile(openapi: &Value, preserve_unknown_fields: bool) -> Self {
        let mut patterns = compile::Patterns::default();
        let root = compile::compile(openapi, preserve_unknown_fields, &mut patterns);
        Schema {
            root,
            rules: Validator::new(openapi),
            preserve_unknown_fields,
            patterns,
        }
    }

    /// The patterns that Go runs and this server cannot, if any: a value under one of them is always refused.
    pub fn defects(&self) -> &[PatternDefect] {
        &self.patterns.defects
    }

    /// At most how many steps a pattern takes for each character of a value: 1, unless one counts large classes.
    pub fn pattern_steps(&self) -> usize {
        self.patterns.steps.max(1)
    }

    /// At most how much the rules cost for one object, in units of CEL: 0 without rules.
    pub fn rule_cost(&self) -> u64 {
        self.rules.as_ref().map_or(0, Validator::most_cost)
    }

    /// Everything that decoding a request does to an object of this version (C6, W2): metadata takes its canonical
    /// form, unknown fields and nulls without meaning leave, embedded metadata likewise. Returns the paths of the
    /// unknown fields in the order in which strict decoding reports them: metadata, fields, embedded metadata.
    ///
    /// An error is what follows `… cannot be handled as a Foo: `; the object is then unusable.
    pub fn decode(&self, object: &mut Value) -> Result<Vec<String>, CoerceError> {
        let mut unknown = Vec::new();
        coerce::decode(self, object, Malformed::Refused, Excess::Dropped, Some(&mut unknown))?;
        Ok(unknown)
    }

    /// The same without looking for unknown fields (`fieldValidation=Ignore`).
    pub fn decode_quietly(&self, object: &mut Value) -> Result<(), CoerceError> {
        coerce::decode(self, object, Malformed::Refused, Excess::Dropped, None)
    }

    /// What becomes of an object that server-side apply has merged: as [`Self::decode`], but its nulls and unknown fields are judged by
    /// validation instead of being dropped, because upstream does not decode it again before it is stored.
    pub fn decode_applied(&self, object: &mut Value) -> Result<(), CoerceError> {
        coerce::decode(self, object, Malformed::Refused, Excess::Kept, None)
    }

    /// What reading a stored object does: as [`Self::decode`], but metadata of the wrong type is dropped, and then
    /// defaults are filled in (C7).
    pub fn read(&self, object: &mut Value) {
        // Malformed metadata is dropped, so nothing is left to refuse.
        let _ = coerce::decode(self, object, Malformed::Dropped, Excess::Dropped, None);
        coerce::repair_generation(object);
        self.default(object);
    }

    /// What converting an object to this version does: as [`Self::read`], without the defaults (C11).
    pub fn convert(&self, object: &mut Value) {
        let _ = coerce::decode(self, object, Malformed::Dropped, Excess::Dropped, None);
    }

    /// Removes the fields that the schema does not have, and says which: sorted, spelled `spec.list[0].foo`.
    /// The object's own apiVersion, kind and metadata always stay.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        prune::prune(&self.root, object, Some(&mut unknown));
        unknown.sort_unstable();
        unknown
    }

    /// Removes the fields that the schema does not have.
    pub fn prune_quietly(&self, object: &mut Value) {
        prune::prune(&self.root, object, None);
    }

    /// What reading an applied object back from storage does: unknown fields leave, unless the definition has them preserved.
    pub fn settle_applied(&self, object: &mut Value) {
        if !self.preserve_unknown_fields {
            self.prune_quietly(object);
        }
    }

    /// Removes nulls that are neither allowed (`nullable`) nor replaced by a default.
    pub fn prune_nulls(&self, object: &mut Value) {
        default::prune_nulls(&self.root, object);
    }

    /// Fills in the defaults (C7): where nothing is, and where a null is that the schema does not allow.
    pub fn default(&self, object: &mut Value) {
        default::default(&self.root, object);
    }

    /// Whether an object has all its defaults: whether [`Self::default`] would leave it as it is.
    pub fn is_defaulted(&self, object: &Value) -> bool {
        default::is_complete(&self.root, object)
    }

    /// Everything wrong with a new object beyond its own metadata (C8, C9, C16), after what `errors` already holds:
    /// schema, scale paths, embedded metadata, list types, then rules, unless an error forbids running them.
    pub fn validate(&self, object: &Value, scale: Option<&Scale>, errors: &mut Errors) {
        validate::create(self, object, scale, errors);
    }

    /// Everything wrong with an update beyond its own metadata: as [`Self::validate`], but what was wrong before and
    /// did not change is tolerated (C18), and rules see the old object. Returns warnings: rules that an unchanged
    /// part does not meet.
    pub fn validate_update(
        &self,
        object: &Value,
        old: &Value,
        scale: Option<&Scale>,
        errors: &mut Errors,
    ) -> Vec<String> {
        validate::update(self, object, old, scale, errors)
    }

    /// Everything wrong with an update of the status subresource beyond its own metadata (C10).
    pub fn validate_status(
        &self,
        object: &Value,
        old: &Value,
        scale: Option<&Scale>,
        errors: &mut Errors,
    ) -> Vec<String> {
        validate::status(self, object, old, scale, errors)
    }

    /// The root of the object's type as server-side apply sees it (S6).
    pub fn topology(&self) -> ResourceTopology<'_> {
        ResourceTopology::root(self)
    }
}

//! From a tree of nodes to a value: aliases are followed, merge keys merged, scalars read, keys made names.

use std::collections::BTreeMap;

use kubewright_apimachinery::go::float;
use kubewright_apimachinery::go::value::{Numbers, element_syntax};
use serde_json::{Map, Number, Value};

use super::error::YamlError;
use super::key::Key;
use super::scalar::{ResolvedScalar, resolve};
use super::tree::{Content, NodeId, Scalar, Tree};
use crate::json::Observations;
use crate::strict::ALREADY_SET;
use crate::{Decoded, KEPT_DEPTH};

/// Turns a document into a value.
pub(super) fn build(tree: &Tree) -> Result<Decoded, YamlError> {
    let mut builder = Builder {
        tree,
        observations: Observations::new(),
        already_set: Vec::new(),
        inside: vec![],
        decoded: 1,
        decoded_in_aliases: 0,
        bytes_in_aliases: 0,
    };
    let value = match tree.root {
        Some(root) => builder.value(root, &Path::Root, 0)?,
        None => Value::Null,
    };
    let mut decoded = builder.observations.finish(value);
    if !builder.already_set.is_empty() {
        decoded.already_set = Some(format!("{ALREADY_SET}  {}", builder.already_set.join("\n  ")));
    }
    Ok(decoded)
}

/// The path of a node, for what is observed there.
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a Key),
    Item(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn print(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field(Self::Root, key) => name(key),
            Self::Field(parent, key) => format!("{}.{}", parent.print(), name(key)),
            Self::Item(parent, index) => format!("{}[{index}]", parent.print()),
        }
    }
}

fn name(key: &Key) -> String {
    key.clone().into_name(&Value::Null).unwrap_or_default()
}

struct Builder<'a> {
    tree: &'a Tree,
    observations: Observations,
    already_set: Vec<String>,
    /// The aliases being followed.
    inside: Vec<NodeId>,
    decoded: usize,
    decoded_in_aliases: usize,
    bytes_in_aliases: usize,
}

/// How many bytes of strings aliases may repeat. Upstream bounds the number of nodes only, and runs out of memory.
const MAX_REPEATED_BYTES: usize = 64 << 20;

impl Builder<'_> {
    fn value(&mut self, id: NodeId, path: &Path<'_>, depth: usize) -> Result<Value, YamlError> {
        self.count()?;
        match &self.tree.node(id).content {
            Content::Alias { name, target } => self.follow(id, name, |builder| builder.value(*target, path, depth)),
            Content::Scalar(scalar) => self.scalar(scalar, path),
            _ if depth >= KEPT_DEPTH => {
                self.observations.mark_too_deep();
                Ok(Value::Null)
            }
            Content::Sequence(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, &item)| self.value(item, &Path::Item(path, index), depth + 1));
                items.collect::<Result<_, _>>().map(Value::Array)
            }
            Content::Mapping(children) => {
                let mut fields = BTreeMap::new();
                self.fields(children, &mut fields, path, depth)?;
                named(fields).map(Value::Object)
            }
        }
    }

    /// Reads a mapping's fields into `fields`, which may hold others already: those that merge keys brought.
    fn fields(
        &mut self,
        children: &[NodeId],
        fields: &mut BTreeMap<Key, Value>,
        path: &Path<'_>,
        depth: usize,
    ) -> Result<(), YamlError> {
        for pair in children.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            if self.is_merge_key(key) {
                self.merge(value, fields, path, depth)?;
                continue;
            }
            let key = self.key(key, depth)?;
            let line = self.tree.node(value).line;
            let value = self.value(value, &Path::Field(path, &key), depth + 1)?;
            if fields.contains_key(&key) {
                self.already_set
                    .push(format!("line {line}: key {key} already set in map"));
            }
            fields.insert(key, value);
        }
        Ok(())
    }

    fn is_merge_key(&self, id: NodeId) -> bool {
        match &self.tree.node(id).content {
            Content::Scalar(scalar) if scalar.text == "<<" => {
                scalar.implicit || scalar.tag.as_deref() == Some("tag:yaml.org,2002:merge")
            }
            _ => false,
        }
    }

    /// Merges a mapping, or a list of them of which the first counts most. What is set later in the mapping that merges
    /// replaces what is merged; and what is merged replaces what was set before.
    fn merge(
        &mut self,
        id: NodeId,
        fields: &mut BTreeMap<Key, Value>,
        path: &Path<'_>,
        depth: usize,
    ) -> Result<(), YamlError> {
        match &self.tree.node(id).content {
            Content::Sequence(items) => items
                .iter()
                .rev()
                .try_for_each(|&item| self.merge_mapping(item, fields, path, depth)),
            _ => self.merge_mapping(id, fields, path, depth),
        }
    }

    fn merge_mapping(
        &mut self,
        id: NodeId,
        fields: &mut BTreeMap<Key, Value>,
        path: &Path<'_>,
        depth: usize,
    ) -> Result<(), YamlError> {
        let not_a_map = || YamlError::yaml("map merge requires map or sequence of maps as the value");
        match &self.tree.node(id).content {
            Content::Mapping(children) => {
                self.count()?;
                self.fields(children, fields, path, depth)
            }
            Content::Alias { name, target } => {
                let Content::Mapping(children) = &self.tree.node(*target).content else {
                    return Err(not_a_map());
                };
                self.count()?;
                self.follow(id, name, |builder| {
                    builder.count()?;
                    builder.fields(children, fields, path, depth)
                })
            }
            _ => Err(not_a_map()),
        }
    }

    fn key(&mut self, id: NodeId, depth: usize) -> Result<Key, YamlError> {
        match &self.tree.node(id).content {
            Content::Scalar(scalar) => {
                self.count()?;
                self.count_bytes(&scalar.text)?;
                let (resolved, decoded) = resolve(scalar)?;
                Ok(Key::new(resolved, decoded.as_deref().unwrap_or(&scalar.text)))
            }
            Content::Alias { name, target } => {
                self.count()?;
                self.follow(id, name, |builder| builder.key(*target, depth))
            }
            _ => {
                let value = self.value(id, &Path::Root, depth + 1)?;
                Err(YamlError::yaml(format_args!(
                    "invalid map key: {}",
                    element_syntax(&value, Numbers::Yaml)
                )))
            }
        }
    }

    fn follow<T>(
        &mut self,
        alias: NodeId,
        name: &str,
        then: impl FnOnce(&mut Self) -> Result<T, YamlError>,
    ) -> Result<T, YamlError> {
        // Each alias followed is one deeper in the document at least, so that the search stays short.
        if self.inside.contains(&alias) {
            return Err(YamlError::yaml(format_args!("anchor '{name}' value contains itself")));
        }
        self.inside.push(alias);
        let result = then(self);
        self.inside.pop();
        result
    }

    /// Counts a node, and refuses a document that consists of aliases for the most part: small documents may be nine
    /// tenths and more of it, large ones ever less.
    fn count(&mut self) -> Result<(), YamlError> {
        self.decoded += 1;
        self.decoded_in_aliases += usize::from(!self.inside.is_empty());
        let (all, aliased) = (self.decoded, self.decoded_in_aliases);
        if aliased > 100 && all > 1000 && aliased as f64 / all as f64 > allowed_alias_ratio(all) {
            return Err(excessive_aliasing());
        }
        Ok(())
    }

    fn count_bytes(&mut self, text: &str) -> Result<(), YamlError> {
        if !self.inside.is_empty() {
            self.bytes_in_aliases += text.len();
        }
        if self.bytes_in_aliases > MAX_REPEATED_BYTES {
            Err(excessive_aliasing())
        } else {
            Ok(())
        }
    }

    fn scalar(&mut self, scalar: &Scalar, path: &Path<'_>) -> Result<Value, YamlError> {
        self.count_bytes(&scalar.text)?;
        let (resolved, decoded) = resolve(scalar)?;
        Ok(match resolved {
            ResolvedScalar::Null => Value::Null,
            ResolvedScalar::Bool(value) => Value::Bool(value),
            ResolvedScalar::Integer(number) => Value::from(number),
            ResolvedScalar::Unsigned(number) => self.number(&number.to_string(), number as f64, path),
            ResolvedScalar::Float(number) => self.float(number, path)?,
            ResolvedScalar::Timestamp | ResolvedScalar::Text => {
                Value::String(decoded.unwrap_or_else(|| scalar.text.clone()))
            }
        })
    }

    /// A float becomes JSON and is read again: whole numbers turn out as integers.
    fn float(&mut self, number: f64, path: &Path<'_>) -> Result<Value, YamlError> {
        if !number.is_finite() {
            return Err(YamlError::conversion(format!(
                "json: unsupported value: {}",
                float::general(number)
            )));
        }
        let mut text = String::new();
        float::write_json(number, &mut text);
        Ok(match text.parse::<i64>() {
            Ok(number) => Value::from(number),
            Err(_) => self.number(&text, number, path),
        })
    }

    fn number(&mut self, text: &str, number: f64, path: &Path<'_>) -> Value {
        self.observations.record_number(text, false, || path.print());
        Number::from_f64(number).map_or(Value::Null, Value::Number)
    }
}

fn excessive_aliasing() -> YamlError {
    YamlError::yaml("document contains excessive aliasing")
}

/// The share of a document that may come from aliases, by how much was decoded: 99 % of the first 400 000 nodes, going
/// down evenly to 10 % at 4 000 000.
fn allowed_alias_ratio(decoded: usize) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let share = ((decoded as f64 - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
    0.99 - 0.89 * share
}

fn named(fields: BTreeMap<Key, Value>) -> Result<Map<String, Value>, YamlError> {
    fields
        .into_iter()
        .map(|(key, value)| Ok((key.into_name(&value)?, value)))
        .collect()
}

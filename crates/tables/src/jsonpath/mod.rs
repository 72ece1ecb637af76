//! `JSONPath` templates as kubectl and printer columns know them: `{.spec.items[?(@.name=="a")].value}`.
//! Parsing and evaluation take bounded work whatever the template says.

mod compare;
mod evaluate;
mod parse;
mod value;

pub use parse::ParseError;
pub use value::JsonPathValue;

use serde_json::Value;

use parse::Node;

/// A parsed template.
#[derive(Clone, Debug)]
pub struct JsonPath {
    nodes: Vec<Node>,
}

impl JsonPath {
    /// Parses a template; paths stand in braces.
    pub fn parse(template: &str) -> Result<Self, ParseError> {
        Ok(JsonPath {
            nodes: parse::template(template)?,
        })
    }

    /// What each part of the template finds, or `None` when the template does not fit the object. Missing keys find
    /// nothing and are no misfit.
    pub fn find<'a>(&'a self, object: &'a Value) -> Option<Vec<Vec<JsonPathValue<'a>>>> {
        evaluate::results(&self.nodes, object)
    }

    /// The first finding of the first part.
    pub fn first<'a>(&'a self, object: &'a Value) -> Option<JsonPathValue<'a>> {
        self.find(object)?.into_iter().next()?.into_iter().next()
    }
}

#[cfg(test)]
mod tests;

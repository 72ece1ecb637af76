//! What an expression may refer to: variables, object types and the libraries.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::parser::ParseOptions;
use crate::types::{ObjectType, Type};

/// The declarations an expression is checked against.
#[derive(Debug, Clone)]
pub struct Env {
    variables: BTreeMap<String, Type>,
    objects: BTreeMap<String, Arc<ObjectType>>,
    extensions: bool,
    options: ParseOptions,
}

impl Env {
    /// What Kubernetes 1.36 offers: its libraries, lists and maps of one type.
    pub fn kubernetes() -> Self {
        Self {
            variables: BTreeMap::new(),
            objects: BTreeMap::new(),
            extensions: false,
            options: ParseOptions::KUBERNETES,
        }
    }

    /// Everything this crate knows, with lists and maps of mixed types, as the specification has it.
    pub fn standard() -> Self {
        Self {
            extensions: true,
            options: ParseOptions::ALL,
            ..Self::kubernetes()
        }
    }

    /// Declares a variable and the object types it brings along.
    pub fn with_variable(mut self, name: &str, ty: Type) -> Self {
        self.collect_objects(&ty);
        self.variables.insert(name.to_owned(), ty);
        self
    }

    fn collect_objects(&mut self, ty: &Type) {
        if let Type::Object(object) = ty
            && let Some(fields) = &object.fields
            && self.objects.insert(object.name.clone(), object.clone()).is_none()
        {
            for field in fields.values() {
                self.collect_objects(field);
            }
        }
        for param in &ty.params() {
            self.collect_objects(param);
        }
    }

    /// Whether a variable of this name is declared.
    pub fn has_variable(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Type> {
        self.variables.get(name)
    }

    pub(crate) fn object(&self, name: &str) -> Option<&Arc<ObjectType>> {
        self.objects.get(name)
    }

    pub(crate) fn extensions(&self) -> bool {
        self.extensions
    }

    /// Whether literals may mix types.
    pub(crate) fn mixed_aggregates(&self) -> bool {
        self.extensions
    }

    pub(crate) fn options(&self) -> ParseOptions {
        self.options
    }
}

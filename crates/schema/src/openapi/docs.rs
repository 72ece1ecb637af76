//! Descriptions: they are not part of the table of facts, so that the caller passes them.

/// Descriptions of the built-in types, by the names that documents use (`io.k8s.api.core.v1.Pod`).
pub trait TypeDocs: Sync {
    /// What a type is.
    fn of_type(&self, name: &str) -> Option<&str>;

    /// What a field of a type is for.
    fn of_field(&self, name: &str, field: &str) -> Option<&str>;

    /// What a value of an enumeration means.
    fn of_value(&self, enumeration: &str, value: &str) -> Option<&str> {
        let _ = (enumeration, value);
        None
    }
}

/// No descriptions: documents have only what the table of facts has.
#[derive(Clone, Copy, Debug)]
pub struct NoTypeDocs;

impl TypeDocs for NoTypeDocs {
    fn of_type(&self, _: &str) -> Option<&str> {
        None
    }

    fn of_field(&self, _: &str, _: &str) -> Option<&str> {
        None
    }
}

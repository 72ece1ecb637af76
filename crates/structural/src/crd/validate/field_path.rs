//! Paths of fields and map keys below a schema, as selectable fields and the `fieldPath` of rules write them.

use kubewright_cel::rules::FieldPath;

use super::props::Props;

/// A path and the schema that it leads to.
pub(super) struct ResolvedPath<'a> {
    /// The path as errors show it.
    pub(super) path: String,
    /// Its first step.
    pub(super) root: String,
    /// The schema it ends at; `None` below a map of anything.
    pub(super) schema: Option<Props<'a>>,
}

/// Follows a path; `allow_brackets` lets it name fields in quotes.
pub(super) fn find<'a>(
    json_path: &str,
    schema: Option<Props<'a>>,
    allow_brackets: bool,
) -> Result<ResolvedPath<'a>, String> {
    let mut resolved = ResolvedPath {
        path: String::new(),
        root: String::new(),
        schema,
    };
    for name in FieldPath::new(json_path, allow_brackets) {
        resolved.step(&name?)?;
    }
    Ok(resolved)
}

impl ResolvedPath<'_> {
    fn step(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        let schema = self.schema.ok_or_else(nowhere)?;
        let step = if schema.has_properties() {
            self.schema = Some(schema.property(name).ok_or_else(nowhere)?);
            if self.path.is_empty() {
                name.to_owned()
            } else {
                format!(".{name}")
            }
        } else if schema.has("additionalProperties") {
            self.schema = schema.additional_properties();
            format!("[{name}]")
        } else {
            return Err(nowhere());
        };
        if self.path.is_empty() {
            self.root.clone_from(&step);
        }
        self.path.push_str(&step);
        Ok(())
    }
}

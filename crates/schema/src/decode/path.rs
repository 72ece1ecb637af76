//! The path of the value that is being decoded, kept on the stack and written out only when a message needs it.

use std::fmt::{self, Write as _};

use crate::model::Field;

#[derive(Clone, Copy)]
pub(super) struct DecodePath<'p> {
    parent: Option<&'p DecodePath<'p>>,
    step: PathElement<'p>,
    depth: usize,
}

#[derive(Clone, Copy)]
enum PathElement<'p> {
    Root,
    Field {
        /// The struct the field is in, as Go calls it.
        owner: &'p str,
        field: &'p Field,
    },
    Index(usize),
    Key(&'p str),
    /// A type that decodes itself with a decoder of its own.
    OwnDecoder,
}

impl DecodePath<'_> {
    pub(super) const ROOT: DecodePath<'static> = DecodePath {
        parent: None,
        step: PathElement::Root,
        depth: 0,
    };
}

impl<'p> DecodePath<'p> {
    fn below<'b>(&'b self, step: PathElement<'b>) -> DecodePath<'b> {
        DecodePath {
            parent: Some(self),
            step,
            depth: self.depth + 1,
        }
    }

    pub(super) fn field<'b>(&'b self, owner: &'b str, field: &'b Field) -> DecodePath<'b> {
        self.below(PathElement::Field { owner, field })
    }

    pub(super) fn index(&self, index: usize) -> DecodePath<'_> {
        self.below(PathElement::Index(index))
    }

    pub(super) fn key<'b>(&'b self, key: &'b str) -> DecodePath<'b> {
        self.below(PathElement::Key(key))
    }

    pub(super) fn own_decoder(&self) -> DecodePath<'_> {
        self.below(PathElement::OwnDecoder)
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    fn ancestry(&self) -> impl Iterator<Item = &PathElement<'p>> {
        let mut next = Some(self);
        std::iter::from_fn(move || {
            let place = next?;
            next = place.parent;
            Some(&place.step)
        })
    }

    /// Go's sentence for a JSON value of the wrong kind. It names fields, through embedded structs, but neither list
    /// indexes nor map keys, and the struct that the outermost decoder was in.
    pub(super) fn mismatch(&self, found: &str, go_type: &str) -> String {
        let mut owner = "";
        let mut names: Vec<&str> = Vec::new();
        for step in self.ancestry() {
            match step {
                PathElement::Field { owner: of, field } => {
                    if owner.is_empty() {
                        owner = of;
                    }
                    names.push(&field.name);
                    names.extend(field.via.iter().rev().map(AsRef::as_ref));
                }
                PathElement::OwnDecoder => owner = "",
                PathElement::Root | PathElement::Index(_) | PathElement::Key(_) => {}
            }
        }
        if names.is_empty() {
            return format!("json: cannot unmarshal {found} into Go value of type {go_type}");
        }
        names.reverse();
        format!(
            "json: cannot unmarshal {found} into Go struct field {owner}.{} of type {go_type}",
            names.join(".")
        )
    }
}

/// The path as strict decoding reports it: `spec.containers[0].image`, map keys like fields.
impl fmt::Display for DecodePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<_> = self.ancestry().collect();
        let mut first = true;
        for step in steps.into_iter().rev() {
            match step {
                PathElement::Root | PathElement::OwnDecoder => continue,
                PathElement::Index(index) => write!(f, "[{index}]")?,
                PathElement::Field {
                    field: Field { name, .. },
                    ..
                } => write_name(f, name, first)?,
                PathElement::Key(name) => write_name(f, name, first)?,
            }
            first = false;
        }
        Ok(())
    }
}

fn write_name(f: &mut fmt::Formatter<'_>, name: &str, first: bool) -> fmt::Result {
    if !first {
        f.write_char('.')?;
    }
    f.write_str(name)
}

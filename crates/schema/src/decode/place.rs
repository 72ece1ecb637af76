//! Where the decoder is, kept on the stack and spelled out only when a message names it.

use std::fmt::{self, Write as _};

use crate::model::Field;

#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: Step<'p>,
    depth: usize,
}

#[derive(Clone, Copy)]
enum Step<'p> {
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

impl Place<'_> {
    pub(super) const ROOT: Place<'static> = Place {
        parent: None,
        step: Step::Root,
        depth: 0,
    };
}

impl<'p> Place<'p> {
    fn below<'b>(&'b self, step: Step<'b>) -> Place<'b> {
        Place {
            parent: Some(self),
            step,
            depth: self.depth + 1,
        }
    }

    pub(super) fn field<'b>(&'b self, owner: &'b str, field: &'b Field) -> Place<'b> {
        self.below(Step::Field { owner, field })
    }

    pub(super) fn index(&self, index: usize) -> Place<'_> {
        self.below(Step::Index(index))
    }

    pub(super) fn key<'b>(&'b self, key: &'b str) -> Place<'b> {
        self.below(Step::Key(key))
    }

    pub(super) fn own_decoder(&self) -> Place<'_> {
        self.below(Step::OwnDecoder)
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    fn ancestry(&self) -> impl Iterator<Item = &Step<'p>> {
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
                Step::Field { owner: of, field } => {
                    if owner.is_empty() {
                        owner = of;
                    }
                    names.push(&field.name);
                    names.extend(field.via.iter().rev().map(AsRef::as_ref));
                }
                Step::OwnDecoder => owner = "",
                Step::Root | Step::Index(_) | Step::Key(_) => {}
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
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<_> = self.ancestry().collect();
        let mut first = true;
        for step in steps.into_iter().rev() {
            match step {
                Step::Root | Step::OwnDecoder => continue,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Field {
                    field: Field { name, .. },
                    ..
                } => write_name(f, name, first)?,
                Step::Key(name) => write_name(f, name, first)?,
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

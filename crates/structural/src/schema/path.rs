//! A path in an object, kept on the stack while walking and written out only when something is reported.

use std::fmt::Write as _;

/// One step of the way, linked to the steps before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectPath<'a> {
    parent: Option<&'a ObjectPath<'a>>,
    step: PathElement<'a>,
}

#[derive(Clone, Copy, Debug)]
enum PathElement<'a> {
    Root,
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl ObjectPath<'_> {
    pub(super) const ROOT: ObjectPath<'static> = ObjectPath {
        parent: None,
        step: PathElement::Root,
    };

    /// A declared field below this place.
    pub(super) fn field<'b>(&'b self, name: &'b str) -> ObjectPath<'b> {
        ObjectPath {
            parent: Some(self),
            step: PathElement::Field(name),
        }
    }

    /// An entry of the map at this place.
    pub(super) fn key<'b>(&'b self, name: &'b str) -> ObjectPath<'b> {
        ObjectPath {
            parent: Some(self),
            step: PathElement::Key(name),
        }
    }

    /// An item of the list at this place.
    pub(super) fn index(&self, index: usize) -> ObjectPath<'_> {
        ObjectPath {
            parent: Some(self),
            step: PathElement::Index(index),
        }
    }

    pub(super) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// As schema validation spells it: entries like fields, an entry of the root with a leading dot.
    pub(super) fn in_body(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, false);
        text
    }

    /// As strict decoding spells an unknown field: entries like fields.
    pub(super) fn unknown(&self) -> String {
        let mut text = self.in_body();
        if text.starts_with('.') {
            text.remove(0);
        }
        text
    }

    /// As field errors spell it: entries in brackets. The root is `<nil>`.
    pub(super) fn field_path(&self) -> String {
        if self.is_root() {
            return "<nil>".to_owned();
        }
        let mut text = String::new();
        self.write(&mut text, true);
        text
    }

    fn write(&self, text: &mut String, brackets: bool) {
        if let Some(parent) = self.parent {
            parent.write(text, brackets);
        }
        match self.step {
            PathElement::Root => {}
            PathElement::Field(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            PathElement::Key(name) if brackets => {
                text.push('[');
                text.push_str(name);
                text.push(']');
            }
            PathElement::Key(name) => {
                text.push('.');
                text.push_str(name);
            }
            PathElement::Index(index) => {
                // Writing to a string cannot fail.
                let _ = write!(text, "[{index}]");
            }
        }
    }
}

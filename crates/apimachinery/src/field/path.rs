//! Paths of fields: names joined by dots, indices and keys in brackets.

use std::fmt;

/// The path of a field, such as `spec.containers[2].image`. Every method returns a longer path of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path(String);

impl Path {
    /// The path of a top-level field, such as `spec`.
    pub fn new(name: impl AsRef<str>) -> Self {
        Path(PathRef::root(name.as_ref()).to_string())
    }

    /// The path of a field of this object.
    pub fn child(&self, name: impl AsRef<str>) -> Self {
        self.extended(Element::Field(name.as_ref()))
    }

    /// The path of an item of this list.
    pub fn index(&self, index: usize) -> Self {
        self.extended(Element::Index(index))
    }

    /// The path of an entry of this map.
    pub fn key(&self, key: impl AsRef<str>) -> Self {
        self.extended(Element::Key(key.as_ref()))
    }

    /// The path as it is printed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn extended(&self, element: Element<'_>) -> Self {
        let mut text = self.0.clone();
        // Writing to a string cannot fail.
        let _ = element.write(&mut text, false);
        Path(text)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The path of a field as a list on the stack: each element refers to its parent. It allocates nothing, and is rendered
/// only when an error names it.
#[derive(Clone, Copy, Debug)]
pub struct PathRef<'a> {
    parent: Option<&'a PathRef<'a>>,
    element: Element<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Element<'a> {
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> PathRef<'a> {
    /// The path of a top-level field, such as `metadata`.
    pub fn root(name: &'a str) -> Self {
        PathRef {
            parent: None,
            element: Element::Field(name),
        }
    }

    /// The path of a field of this object.
    pub fn child<'b>(&'b self, name: &'b str) -> PathRef<'b> {
        self.extended(Element::Field(name))
    }

    /// The path of an item of this list.
    pub fn index(&self, index: usize) -> PathRef<'_> {
        self.extended(Element::Index(index))
    }

    /// The path of an entry of this map.
    pub fn key<'b>(&'b self, key: &'b str) -> PathRef<'b> {
        self.extended(Element::Key(key))
    }

    fn extended<'b>(&'b self, element: Element<'b>) -> PathRef<'b> {
        PathRef {
            parent: Some(self),
            element,
        }
    }
}

impl fmt::Display for PathRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        self.element.write(f, self.parent.is_none())
    }
}

impl Element<'_> {
    fn write(self, out: &mut impl fmt::Write, is_root: bool) -> fmt::Result {
        match self {
            // A field without a name is printed as a subscript without a key.
            Element::Field("") => out.write_str("[]"),
            Element::Field(name) if is_root => out.write_str(name),
            Element::Field(name) => write!(out, ".{name}"),
            Element::Index(index) => write!(out, "[{index}]"),
            Element::Key(key) => write!(out, "[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_paths_print_names_indices_and_keys() {
        let owned = Path::new("spec").child("ports").index(2).child("labels").key("a.b/c");
        let root = PathRef::root("spec");
        let ports = root.child("ports");
        let port = ports.index(2);
        let labels = port.child("labels");
        let borrowed = labels.key("a.b/c");
        assert_eq!(owned.as_str(), "spec.ports[2].labels[a.b/c]");
        assert_eq!(borrowed.to_string(), owned.to_string());
    }

    #[test]
    fn a_field_without_a_name_is_an_empty_subscript() {
        assert_eq!(Path::new("").to_string(), "[]");
        assert_eq!(Path::new("data").child("").child("a").to_string(), "data[].a");
        assert_eq!(PathRef::root("data").child("").to_string(), "data[]");
    }
}

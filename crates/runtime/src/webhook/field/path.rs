//! Where a field is.

use std::fmt;

/// Where a field is: names joined by dots, subscripts in brackets.
///
/// ```
/// use kubewright_runtime::webhook::field::Path;
///
/// let containers = Path::new("spec").child("template").child("containers");
/// assert_eq!(containers.index(2).child("image").to_string(), "spec.template.containers[2].image");
/// assert_eq!(Path::new("metadata").child("labels").key("app").to_string(), "metadata.labels[app]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path(String);

impl Path {
    /// A field of the object.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::Path;
    ///
    /// assert_eq!(Path::new("spec").to_string(), "spec");
    /// ```
    pub fn new(name: impl AsRef<str>) -> Self {
        Path(String::new()).joined(name.as_ref(), "")
    }

    /// A field of this field.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::Path;
    ///
    /// assert_eq!(Path::new("spec").child("replicas").to_string(), "spec.replicas");
    /// ```
    pub fn child(&self, name: impl AsRef<str>) -> Self {
        self.clone().joined(name.as_ref(), ".")
    }

    /// An item of this list.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::Path;
    ///
    /// assert_eq!(Path::new("items").index(0).to_string(), "items[0]");
    /// ```
    pub fn index(&self, index: usize) -> Self {
        self.key(index.to_string())
    }

    /// An entry of this map.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::Path;
    ///
    /// assert_eq!(Path::new("data").key("a.txt").to_string(), "data[a.txt]");
    /// ```
    pub fn key(&self, key: impl AsRef<str>) -> Self {
        Path(format!("{}[{}]", self.0, key.as_ref()))
    }

    /// The path as it is printed.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::Path;
    ///
    /// assert_eq!(Path::new("spec").as_str(), "spec");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn joined(mut self, name: &str, dot: &str) -> Self {
        // A field without a name is printed as a subscript without a key.
        if name.is_empty() {
            self.0.push_str("[]");
        } else {
            self.0.push_str(dot);
            self.0.push_str(name);
        }
        self
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

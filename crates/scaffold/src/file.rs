//! One file of a project, as it would be written.

/// A file of a project.
///
/// ```
/// use kubewright_scaffold::File;
///
/// let ignore = File::new(".gitignore", "/target\n");
/// assert!(!ignore.regenerated);
/// assert!(File::new("config/rbac/role.yaml", "").regenerated().regenerated);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it is, from the root of the project, with `/` on every system.
    pub path: String,
    /// All of it.
    pub content: String,
    /// Users do not edit it: changes are overwritten without asking, as the file says at its top.
    pub regenerated: bool,
}

impl File {
    /// A file that its user may edit: only the parts that follow from PROJECT change.
    pub fn new(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            content: content.into(),
            regenerated: false,
        }
    }

    /// Makes it a file that is overwritten without asking.
    pub fn regenerated(mut self) -> Self {
        self.regenerated = true;
        self
    }
}

//! How often the generators do what. These numbers were committed before the first count, so that a tally measures the server and not
//! a choice of what to ask. A change of them begins a new tally.

use std::fmt;

/// What a generated case is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A manifest of a built-in kind from its creation to its deletion.
    Lifecycle,
    /// Creation of changed manifests.
    Create,
    /// Updates of an existing object.
    Update,
    /// JSON patches, merge patches and strategic merge patches.
    Patch,
    /// Server-side apply by several managers.
    Apply,
    /// Definitions of custom resources, right and wrong ones.
    Definition,
    /// Custom resources of a generated definition.
    Value,
    /// Options of lists, watches and deletions.
    Options,
    /// Subresources of built-in kinds.
    Subresource,
    /// Headers, methods, paths and bodies that are not what they should be.
    Http,
    /// Definitions and samples of well-known projects.
    Corpus,
}

/// All classes, with the share of cases that each has in a run without `--class`. The corpus has a run of its own.
pub const CLASSES: [(usize, Class); 11] = [
    (16, Class::Lifecycle),
    (18, Class::Create),
    (14, Class::Update),
    (14, Class::Patch),
    (12, Class::Apply),
    (6, Class::Definition),
    (5, Class::Value),
    (5, Class::Options),
    (8, Class::Subresource),
    (6, Class::Http),
    (0, Class::Corpus),
];

/// What a mutation does to a place of an object.
#[derive(Clone, Copy, Debug)]
pub enum Mutation {
    /// Sets a field that was not set.
    Add,
    /// Gives a field another value of its type.
    Replace,
    /// Takes a field away.
    Remove,
    /// Sets a field to null.
    Null,
    /// Sets a field to a value of another type.
    WrongType,
    /// Adds a field that the type does not have.
    Unknown,
    /// Sets a field to what is empty in its type.
    Empty,
    /// Repeats an item of a list.
    Repeat,
}

/// How likely each mutation is.
pub const MUTATIONS: [(usize, Mutation); 8] = [
    (48, Mutation::Add),
    (20, Mutation::Replace),
    (9, Mutation::Remove),
    (4, Mutation::Null),
    (6, Mutation::WrongType),
    (3, Mutation::Unknown),
    (5, Mutation::Empty),
    (5, Mutation::Repeat),
];

/// How many mutations a changed manifest has.
pub const MUTATION_COUNTS: [(usize, usize); 4] = [(45, 1), (30, 2), (15, 3), (10, 5)];

/// In so many of a hundred strings that have a set of usual values, a value that is not among them.
pub const UNUSUAL: usize = 12;

impl Class {
    /// The class of this name.
    pub fn named(name: &str) -> Option<Self> {
        CLASSES
            .iter()
            .map(|(_, class)| *class)
            .find(|class| class.to_string() == name)
    }

    /// The behaviours of `BEHAVIOURS.md` that a case of this class covers.
    pub fn covers(self) -> &'static str {
        match self {
            Class::Lifecycle | Class::Create | Class::Update => "B1",
            Class::Patch => "W5",
            Class::Apply => "S2",
            Class::Definition => "C5",
            Class::Value | Class::Corpus => "C8",
            Class::Options => "R2",
            Class::Subresource => "W8",
            Class::Http => "H5",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Lifecycle => "lifecycle",
            Class::Create => "create",
            Class::Update => "update",
            Class::Patch => "patch",
            Class::Apply => "apply",
            Class::Definition => "definition",
            Class::Value => "value",
            Class::Options => "options",
            Class::Subresource => "subresource",
            Class::Http => "http",
            Class::Corpus => "corpus",
        })
    }
}

//! A set of fields as a tree: each step knows whether it is a member itself and which members lie below it.

use super::element::{Path, PathElement};

/// A set of fields of an object. A parent is not a member because its child is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Sorted by element; no node is without a member in it or below it.
    pub(super) nodes: Vec<Node>,
}

/// One step of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) element: PathElement,
    pub(crate) member: bool,
    pub(crate) children: FieldSet,
}

impl FieldSet {
    /// The set without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of these fields, each written with dots (`metadata.name`).
    pub fn of_fields(paths: &[&str]) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(path.split('.').map(PathElement::field));
        }
        set
    }

    /// Adds a field. The empty path is not added: it is the whole object, which no manager owns.
    pub fn insert(&mut self, path: impl IntoIterator<Item = PathElement>) {
        let mut steps = path.into_iter().peekable();
        let mut set = self;
        while let Some(element) = steps.next() {
            let node = set.node_mut(element);
            if steps.peek().is_none() {
                node.member = true;
                return;
            }
            set = &mut node.children;
        }
    }

    /// Whether the field is a member.
    pub fn contains(&self, path: &[PathElement]) -> bool {
        let Some((last, parents)) = path.split_last() else {
            return false;
        };
        let mut set = self;
        for element in parents {
            match set.node(element) {
                Some(node) => set = &node.children,
                None => return false,
            }
        }
        set.node(last).is_some_and(|node| node.member)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.nodes
            .iter()
            .map(|node| usize::from(node.member) + node.children.len())
            .sum()
    }

    /// All members, those of a level before those below it.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &mut Vec<PathElement>, paths: &mut Vec<Path>) {
        for node in self.nodes.iter().filter(|node| node.member) {
            let mut path = prefix.clone();
            path.push(node.element.clone());
            paths.push(Path(path));
        }
        for node in self.nodes.iter().filter(|node| !node.children.is_empty()) {
            prefix.push(node.element.clone());
            node.children.collect_paths(prefix, paths);
            prefix.pop();
        }
    }

    /// The step, if anything of it is in the set.
    pub(crate) fn node(&self, element: &PathElement) -> Option<&Node> {
        self.nodes
            .binary_search_by(|node| node.element.cmp(element))
            .ok()
            .map(|index| &self.nodes[index])
    }

    /// The step to a field, if anything of it is in the set.
    pub(crate) fn field(&self, name: &str) -> Option<&Node> {
        let index = self.nodes.binary_search_by(|node| match &node.element {
            PathElement::Field(field) => (**field).cmp(name),
            _ => std::cmp::Ordering::Greater,
        });
        index.ok().map(|index| &self.nodes[index])
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Adds what was found at and below one step; adds nothing if nothing was found.
    pub(crate) fn attach(&mut self, element: impl FnOnce() -> PathElement, member: bool, children: Self) {
        if !member && children.is_empty() {
            return;
        }
        let element = element();
        // Walks visit maps in order, so that appending is the usual case.
        if self.nodes.last().is_none_or(|last| last.element < element) {
            self.nodes.push(Node {
                element,
                member,
                children,
            });
            return;
        }
        let node = self.node_mut(element);
        node.member |= member;
        if node.children.is_empty() {
            node.children = children;
        } else if !children.is_empty() {
            node.children = node.children.union(&children);
        }
    }

    /// Puts steps that were added in any order into theirs; of steps that are the same one is left.
    pub(super) fn sort(&mut self) {
        self.nodes.sort_by(|left, right| left.element.cmp(&right.element));
        self.nodes.dedup_by(|later, kept| {
            let is_same = later.element == kept.element;
            if is_same {
                kept.member |= later.member;
                kept.children = kept.children.union(&later.children);
            }
            is_same
        });
    }

    /// The step, added if need be: the caller makes it or something below it a member.
    fn node_mut(&mut self, element: PathElement) -> &mut Node {
        let index = match self.nodes.binary_search_by(|node| node.element.cmp(&element)) {
            Ok(index) => index,
            Err(index) => {
                self.nodes.insert(
                    index,
                    Node {
                        element,
                        member: false,
                        children: Self::new(),
                    },
                );
                index
            }
        };
        &mut self.nodes[index]
    }
}

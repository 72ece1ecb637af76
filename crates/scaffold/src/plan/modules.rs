//! Module declarations in `mod.rs` files and in `lib.rs`: lines are added and removed, everything else stays.

use crate::code::rust::order;

/// A declaration and the name it is sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    /// `pub mod v1;`, `mod markdown_view;` or `pub use markdown_view::*;`.
    pub(crate) line: String,
}

impl Declaration {
    pub(crate) fn public(module: &str) -> Self {
        Self::new(format!("pub mod {module};"))
    }

    pub(crate) fn private(module: &str) -> Self {
        Self::new(format!("mod {module};"))
    }

    pub(crate) fn export(module: &str) -> Self {
        Self::new(format!("pub use {module}::*;"))
    }

    fn new(line: String) -> Self {
        Self { line }
    }

    fn kind_and_module(&self) -> (DeclarationKind, &str) {
        split(&self.line).unwrap_or((DeclarationKind::Module, &self.line))
    }
}

/// What a line declares. Modules stand above exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DeclarationKind {
    Module,
    Export,
}

/// What a line declares, and of which module.
fn split(line: &str) -> Option<(DeclarationKind, &str)> {
    let line = line.trim_end().strip_suffix(';')?;
    if let Some(path) = line.strip_prefix("pub use ") {
        return Some((DeclarationKind::Export, path.split("::").next().unwrap_or(path)));
    }
    let name = line.strip_prefix("pub mod ").or_else(|| line.strip_prefix("mod "))?;
    Some((DeclarationKind::Module, name))
}

/// The text of a new file.
pub(crate) fn render(head: &str, declarations: &[Declaration]) -> String {
    declarations
        .iter()
        .fold(head.to_owned(), |text, declaration| insert(&text, declaration))
}

/// Inserts the declaration among those of its kind, in order.
pub(crate) fn insert(text: &str, declaration: &Declaration) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.iter().any(|line| line.trim() == declaration.line) {
        return text.to_owned();
    }
    let (kind, name) = declaration.kind_and_module();
    let alike = |line: &str| {
        split(line)
            .filter(|(other, _)| *other == kind)
            .map(|(_, name)| name.to_owned())
    };
    let block: Vec<usize> = (0..lines.len()).filter(|&at| alike(lines[at]).is_some()).collect();
    if let (Some(&first), Some(&last)) = (block.first(), block.last()) {
        let before = |&at: &usize| alike(lines[at]).is_some_and(|other| order(&other, name).is_gt());
        let at = block.iter().copied().find(before).unwrap_or(last + 1);
        debug_assert!(at >= first);
        lines.insert(at, &declaration.line);
    } else {
        begin_block(&mut lines, kind, &declaration.line);
    }
    lines.join("\n") + "\n"
}

/// Inserts the first declaration of its kind: below the comment at the top, or below the modules.
fn begin_block<'a>(lines: &mut Vec<&'a str>, kind: DeclarationKind, line: &'a str) {
    let is_above = |line: &str| match kind {
        DeclarationKind::Module => line.starts_with("//"),
        DeclarationKind::Export => line.starts_with("//") || split(line).is_some(),
    };
    let modules = lines.iter().rposition(|line| split(line).is_some());
    let head = lines
        .iter()
        .take_while(|line| is_above(line) || line.trim().is_empty())
        .count();
    let head = lines[..head]
        .iter()
        .rposition(|line| is_above(line))
        .map_or(0, |last| last + 1);
    let at = match (kind, modules) {
        (DeclarationKind::Export, Some(last)) => last + 1,
        _ => head,
    };
    lines.insert(at, line);
    if at > 0 {
        lines.insert(at, "");
    }
}

/// The text without the declaration, and without the blank line a block had to itself.
pub(crate) fn remove(text: &str, declaration: &Declaration) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|line| line.trim() == declaration.line) else {
        return text.to_owned();
    };
    lines.remove(at);
    let blank = |at: Option<usize>| {
        at.and_then(|at| lines.get(at))
            .is_none_or(|line| line.trim().is_empty())
    };
    if at > 0 && blank(at.checked_sub(1)) && blank(Some(at)) {
        lines.remove(at - 1);
    }
    if lines.is_empty() {
        String::new()
    } else {
        lines.join("\n") + "\n"
    }
}

/// Whether nothing but comments is left.
pub(crate) fn is_empty(text: &str) -> bool {
    text.lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "//! The versions.\n";

    #[test]
    fn declarations_are_sorted_and_modules_stand_above_exports() {
        let declarations = [
            Declaration::private("shop"),
            Declaration::export("shop"),
            Declaration::private("bar"),
            Declaration::export("bar"),
        ];
        let text = render(HEAD, &declarations);
        assert_eq!(
            text,
            "//! The versions.\n\nmod bar;\nmod shop;\n\npub use bar::*;\npub use shop::*;\n"
        );
        assert_eq!(insert(&text, &declarations[0]), text);
    }

    #[test]
    fn what_went_in_goes_out_without_a_trace() {
        let declarations = [Declaration::private("shop"), Declaration::export("shop")];
        let full = render(HEAD, &declarations);
        let text = declarations
            .iter()
            .rev()
            .fold(full, |text, declaration| remove(&text, declaration));
        assert_eq!(text, HEAD);
        assert!(is_empty(&text));

        let library = "//! An operator.\n\nuse kubewright::prelude::*;\n\npub fn operator() {}\n";
        let with = insert(library, &Declaration::public("api"));
        assert_eq!(
            with,
            "//! An operator.\n\npub mod api;\n\nuse kubewright::prelude::*;\n\npub fn operator() {}\n"
        );
        assert_eq!(remove(&with, &Declaration::public("api")), library);
    }

    #[test]
    fn lines_of_the_user_stay_where_they_are() {
        let text = "//! Mine.\n\nmod helper;\npub mod v1;\n\npub fn help() {}\n";
        let with = insert(text, &Declaration::public("v2"));
        assert_eq!(
            with,
            "//! Mine.\n\nmod helper;\npub mod v1;\npub mod v2;\n\npub fn help() {}\n"
        );
        assert!(!is_empty(&remove(&with, &Declaration::public("v1"))));
    }
}

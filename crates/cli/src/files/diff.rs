//! The difference between two texts, as `diff -u` shows it.

use similar::TextDiff;

use super::plan::Change;

/// A change of a file, as `git apply` understands it.
pub(super) fn unified(change: &Change) -> String {
    let name = |side: &str, text: &Option<String>| match text {
        Some(_) => format!("{side}/{}", change.path),
        None => "/dev/null".to_owned(),
    };
    let (before, after) = (name("a", &change.before), name("b", &change.after));
    TextDiff::from_lines(
        change.before.as_deref().unwrap_or_default(),
        change.after.as_deref().unwrap_or_default(),
    )
    .unified_diff()
    .context_radius(3)
    .header(&before, &after)
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let change = Change {
            path: "config/rbac/role.yaml".to_owned(),
            before: Some("a\nb\nc\nd\ne\nf\n".to_owned()),
            after: Some("a\nb\nc\nd\ne\ng\n".to_owned()),
        };
        assert_eq!(
            unified(&change),
            "--- a/config/rbac/role.yaml\n+++ b/config/rbac/role.yaml\n@@ -3,4 +3,4 @@\n c\n d\n e\n-f\n+g\n"
        );
    }

    #[test]
    fn a_file_that_comes_or_goes_is_compared_with_nothing() {
        let mut change = Change {
            path: "x".to_owned(),
            before: None,
            after: Some("a\n".to_owned()),
        };
        assert_eq!(unified(&change), "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n");
        std::mem::swap(&mut change.before, &mut change.after);
        assert_eq!(unified(&change), "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
    }
}

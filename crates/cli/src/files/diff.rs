//! The difference between two texts, as `diff -u` shows it.

use similar::TextDiff;

/// The change of a file from one text to another, as `git apply` understands it; nothing stands for no file.
pub(crate) fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .context_radius(3)
        .header(&name("a", before), &name("b", after))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        assert_eq!(
            unified(
                "config/rbac/role.yaml",
                Some("a\nb\nc\nd\ne\nf\n"),
                Some("a\nb\nc\nd\ne\ng\n")
            ),
            "--- a/config/rbac/role.yaml\n+++ b/config/rbac/role.yaml\n@@ -3,4 +3,4 @@\n c\n d\n e\n-f\n+g\n"
        );
    }

    #[test]
    fn a_file_that_comes_or_goes_is_compared_with_nothing() {
        assert_eq!(
            unified("x", None, Some("a\n")),
            "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
        );
        assert_eq!(
            unified("x", Some("a\n"), None),
            "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
        );
    }
}

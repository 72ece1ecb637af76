//! The lines at the top of every file: whose it is, and under which license.

use crate::Project;

/// The licenses there are.
pub(crate) const LICENSES: [&str; 3] = ["apache2", "copyright", "none"];

/// Where a project may have a header of its own, as kubebuilder has `hack/boilerplate.go.txt`.
pub(crate) const BOILERPLATE: &str = "hack/boilerplate.rs.txt";

/// The lines above the code of a file: those of [`BOILERPLATE`], or what PROJECT says of license and owner.
pub(crate) fn header(project: &Project) -> String {
    if let Some(text) = &project.boilerplate {
        return as_comment(text);
    }
    let settings = project.settings();
    let marked = !settings.license.is_empty() && settings.license != "none";
    let owner = (marked && !settings.owner.is_empty()).then(|| format!("// Copyright {}\n", settings.owner));
    let license = spdx(&settings.license).map(|license| format!("// SPDX-License-Identifier: {license}\n"));
    let lines: String = owner.into_iter().chain(license).collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// A text as a comment above code. Text that is a comment already stays as it is.
fn as_comment(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let is_block = text.starts_with("/*") && text.ends_with("*/");
    let is_commented = text.lines().all(|line| line.is_empty() || line.starts_with("//"));
    if is_block || is_commented {
        return format!("{text}\n\n");
    }
    let lines = text
        .lines()
        .map(|line| format!("// {line}").trim_end().to_owned() + "\n");
    lines.collect::<String>() + "\n"
}

/// The license as SPDX and cargo call it.
pub(crate) fn spdx(license: &str) -> Option<&'static str> {
    (license == "apache2").then_some("Apache-2.0")
}

#[cfg(test)]
mod tests {
    use super::as_comment;

    #[test]
    fn a_header_is_a_comment_whatever_was_written() {
        assert_eq!(as_comment("// Mine\n\n// All of it\n\n"), "// Mine\n\n// All of it\n\n");
        assert_eq!(as_comment("/*\nMine.\n*/\n"), "/*\nMine.\n*/\n\n");
        assert_eq!(as_comment("Mine.\n\nAll of it.\n"), "// Mine.\n//\n// All of it.\n\n");
        assert_eq!(as_comment("\n"), "");
    }
}

//! The lines at the top of every file: whose it is, and under which license.

use crate::Project;

/// The licenses there are.
pub(crate) const LICENSES: [&str; 3] = ["apache2", "copyright", "none"];

/// The lines above the code of a file.
pub(crate) fn header(project: &Project) -> String {
    let settings = project.settings();
    let marked = !settings.license.is_empty() && settings.license != "none";
    let owner = (marked && !settings.owner.is_empty()).then(|| format!("// Copyright {}\n", settings.owner));
    let license = spdx(&settings.license).map(|license| format!("// SPDX-License-Identifier: {license}\n"));
    let lines: String = owner.into_iter().chain(license).collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// The license as SPDX and cargo call it.
pub(crate) fn spdx(license: &str) -> Option<&'static str> {
    (license == "apache2").then_some("Apache-2.0")
}

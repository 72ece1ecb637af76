//! `kube-apiserver --help`: every flag of the real one, and what becomes of it here. Go's envtest reads which flags there are.

use std::fmt::Write as _;

use super::super::flags::Table;
use super::treatment::{self, Treatment};

const ABOUT: &str = "\
kube-apiserver of Kubewright: the embedded Kubernetes API server under the name and with the flags of the real one, for Go's envtest.
Objects are in memory and go with the process. KUBEWRIGHT_CONTROLLERS=all runs the standard controllers and a simulated node.

Usage:
  kube-apiserver [flags]
";

pub(super) fn text(table: &Table) -> String {
    let mut text = ABOUT.to_owned();
    for (title, example) in [
        ("Flags that have their meaning here:", Treatment::Obeyed),
        ("Flags that are accepted, and tune nothing here:", Treatment::Tuning),
        ("Flags of which only the default is accepted:", Treatment::Refused("")),
    ] {
        let _ = write!(text, "\n{title}\n\n");
        let belongs = |treatment: &Treatment| std::mem::discriminant(treatment) == std::mem::discriminant(&example);
        for flag in table.flags() {
            let Some(treatment) = treatment::of(flag.name).filter(belongs) else {
                continue;
            };
            let _ = write!(text, "      --{}", flag.name);
            if flag.kind != "bool" {
                let _ = write!(text, " {}", flag.kind);
            }
            if !matches!(flag.default, "" | "[]" | "false" | "0" | "<nil>") {
                let _ = write!(text, "   (default {})", flag.default);
            }
            if let Treatment::Refused(why) = treatment {
                let _ = write!(text, "\n            {why}");
            }
            text.push('\n');
        }
    }
    text
}

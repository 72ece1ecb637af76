//! The kubectl that tests drive.

use std::env;
use std::path::PathBuf;

use crate::skip;

/// The variable that makes a missing kubectl a failure. `.ci/run` sets it.
pub const REQUIRE_KUBECTL: &str = "KUBEWRIGHT_REQUIRE_KUBECTL";

/// The kubectl that `$KUBECTL` names. `None` if the variable is not set or empty: the test is skipped, which is said on stderr.
///
/// # Panics
///
/// If `$KUBECTL` names no file, or if there is none and [`REQUIRE_KUBECTL`] is set: then no test may be skipped.
pub fn kubectl() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    match choose(
        variable("KUBECTL").map(PathBuf::from),
        variable(REQUIRE_KUBECTL).is_some(),
    ) {
        Ok(path) => Some(path),
        Err(Missing::Skipped) => {
            skip(
                "KUBECTL is not set; set it to the path of a kubectl v1.36.3 (conformance/upstream/build kubectl makes one)",
            );
            None
        }
        Err(Missing::Failed(why)) => panic!("{why}"),
    }
}

#[derive(Debug, PartialEq)]
enum Missing {
    Skipped,
    Failed(String),
}

fn choose(named: Option<PathBuf>, is_required: bool) -> Result<PathBuf, Missing> {
    match named {
        Some(path) if path.is_file() => Ok(path),
        Some(path) => Err(Missing::Failed(format!(
            "KUBECTL is {}, which is no file",
            path.display()
        ))),
        None if is_required => Err(Missing::Failed(format!(
            "{REQUIRE_KUBECTL} is set, so this test may not be skipped: set KUBECTL to the path of a kubectl v1.36.3"
        ))),
        None => Err(Missing::Skipped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubectl_that_is_not_named_is_skipped_unless_it_is_required() {
        assert_eq!(choose(None, false), Err(Missing::Skipped));
        assert!(matches!(choose(None, true), Err(Missing::Failed(why)) if why.starts_with(REQUIRE_KUBECTL)));
    }

    #[test]
    fn a_kubectl_that_is_named_and_not_there_is_a_failure() {
        let missing = PathBuf::from("/no/such/kubectl");
        let failure = Missing::Failed("KUBECTL is /no/such/kubectl, which is no file".to_owned());
        assert_eq!(choose(Some(missing.clone()), false), Err(failure));
        let there = env::current_exe().unwrap();
        assert_eq!(choose(Some(there.clone()), false), Ok(there));
    }
}

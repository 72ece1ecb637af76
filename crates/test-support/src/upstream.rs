//! The programs of upstream that tests run: Kubernetes' own servers, built from their modules.

use std::env;
use std::path::PathBuf;

use crate::skip;

/// The variable that names the folder with them.
const UPSTREAM: &str = "KUBEWRIGHT_UPSTREAM_BIN";

/// The variable that makes a missing program a failure. The part `upstream` of `.ci/full` sets it.
pub const REQUIRE_UPSTREAM: &str = "KUBEWRIGHT_REQUIRE_UPSTREAM";

/// A program in the folder that `$KUBEWRIGHT_UPSTREAM_BIN` names. `None` if it is not there: the test is skipped, which is said on stderr.
///
/// # Panics
///
/// If it is not there, and [`REQUIRE_UPSTREAM`] is set: then no test may be skipped.
pub fn upstream(name: &str) -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    match choose(
        name,
        variable(UPSTREAM).map(PathBuf::from),
        variable(REQUIRE_UPSTREAM).is_some(),
    ) {
        Ok(Some(program)) => Some(program),
        Ok(None) => {
            skip(&format!(
                "${UPSTREAM} has no {name} (`conformance/upstream/build {name}` makes one)"
            ));
            None
        }
        Err(why) => panic!("{why}"),
    }
}

fn choose(name: &str, folder: Option<PathBuf>, is_required: bool) -> Result<Option<PathBuf>, String> {
    let found = folder
        .map(|folder| folder.join(name))
        .filter(|program| program.is_file());
    if found.is_none() && is_required {
        return Err(format!(
            "{REQUIRE_UPSTREAM} is set, so this test may not be skipped: run `conformance/upstream/build {name}`, and set {UPSTREAM} to \
             the folder with it"
        ));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_skipped_unless_it_is_required() {
        for folder in [None, Some(PathBuf::from("/no/such/folder"))] {
            assert_eq!(choose("etcd", folder.clone(), false), Ok(None));
            assert!(choose("etcd", folder, true).unwrap_err().starts_with(REQUIRE_UPSTREAM));
        }
        let here = env::current_exe().unwrap();
        let name = here.file_name().unwrap().to_str().unwrap();
        let folder = here.parent().unwrap().to_owned();
        assert_eq!(choose(name, Some(folder), true), Ok(Some(here.clone())));
    }
}

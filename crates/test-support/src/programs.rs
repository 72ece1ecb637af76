//! Programs that tests start: examples of the package under test, because examples may use what only tests depend on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;
use std::{env, fs};

/// The path of an example of a package, built. `manifest_folder` is the `env!("CARGO_MANIFEST_DIR")` of the package, and `source` the
/// main file of the example in it.
///
/// `cargo test -p PACKAGE` builds examples together with tests. `cargo test --test NAME` does not: then this builds the example if it is
/// missing or older than its source.
///
/// # Panics
///
/// If the example does not compile.
pub fn example_program(manifest_folder: &str, name: &str, source: &str) -> PathBuf {
    /// Tests of one program run side by side, and one build is enough.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock();

    let source = Path::new(manifest_folder).join(source);
    assert!(source.is_file(), "{} is not there", source.display());
    let test = env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("a test is in target/PROFILE/deps");
    let program = profile
        .join("examples")
        .join(format!("{name}{}", env::consts::EXE_SUFFIX));
    if is_older(&program, &source) {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--example", name]).current_dir(manifest_folder);
        // Cargo sets these for tests. Build scripts that look at them would run again, and what depends on them be compiled again.
        let of_the_test = [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_BIN_EXE_",
            "CARGO_CRATE_",
            "CARGO_PRIMARY_",
        ];
        for (name, _) in env::vars() {
            if of_the_test.iter().any(|prefix| name.starts_with(prefix)) {
                build.env_remove(name);
            }
        }
        let status = build.status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "the example {name} does not build"
        );
    }
    program
}

/// Whether `file` is missing or was written before `source`.
fn is_older(file: &Path, source: &Path) -> bool {
    let written = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
    let source = written(source).unwrap_or(SystemTime::UNIX_EPOCH);
    written(file).map_or(true, |file| file < source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_older_than_its_source() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
        assert!(is_older(Path::new("/no/such/program"), &source));
        assert!(!is_older(&env::current_exe().unwrap(), &source));
    }
}

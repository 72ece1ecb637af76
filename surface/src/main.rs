//! `cargo run -p kubewright-surface -- 0.2.0 2026-12-01`, in the root of the repository, is part of a release: it copies the lists of
//! public items to `docs/api/released` and turns the changelog's section "Unreleased" into that of the version.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use kubewright_surface::{LISTED, changelog};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let [version, day] = words.as_slice() else {
        eprintln!("usage: kubewright-surface VERSION DAY, for instance 0.2.0 2026-12-01");
        return ExitCode::from(2);
    };
    match release(Path::new("."), version, day) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn release(root: &Path, version: &str, day: &str) -> io::Result<()> {
    let lists = root.join("docs/api");
    let log = root.join("CHANGELOG.md");
    let told = changelog::with_release(&fs::read_to_string(&log)?, version, day)
        .ok_or_else(|| io::Error::other("CHANGELOG.md has no section \"## Unreleased\""))?;
    fs::create_dir_all(lists.join("released"))?;
    for name in LISTED {
        let file = format!("{name}.txt");
        fs::copy(lists.join(&file), lists.join("released").join(&file))?;
    }
    fs::write(log, told)
}

//! Where the outcome of an exploration is written: `target/explore/NAME.html` and `.json`.

use std::path::{Path, PathBuf};

use super::outcome_json::Ended;

/// `explore` in cargo's folder of what it builds. `None` where the program was not built by cargo.
fn folder() -> Option<PathBuf> {
    Some(built_in(&std::env::current_exe().ok()?)?.join("explore"))
}

/// The folder in which cargo built a program, whatever its name is.
fn built_in(program: &Path) -> Option<&Path> {
    // Cargo marks a folder that it makes as a cache; one that was there before has only what it remembers of the compiler.
    const MARKS: [&str; 2] = ["CACHEDIR.TAG", ".rustc_info.json"];
    program
        .ancestors()
        .find(|folder| MARKS.iter().any(|mark| folder.join(mark).is_file()))
}

/// The name of an exploration: the program's and the test's.
pub(super) fn name() -> String {
    let program = std::env::current_exe().ok();
    let stem = program
        .as_deref()
        .and_then(Path::file_stem)
        .map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_default();
    // Cargo puts a hash after the name of a test program.
    let program = match stem.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => &stem,
    };
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("main");
    let name = format!("{program}-{test}").replace("::", "-");
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

/// Writes both files, and the data for the command if there is one. That they cannot be written fails no test, and is told.
pub(super) fn write(ended: &Ended<'_>, with_page: bool, commanded: Option<&Path>) {
    let mut data = ended.json();
    if let Some(folder) = folder().filter(|_| with_page) {
        let file = |extension: &str| folder.join(format!("{}.{extension}", ended.name));
        data["page"] = file("html").display().to_string().into();
        let written = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(file("json"), format!("{data:#}\n")))
            .and_then(|()| std::fs::write(file("html"), ended.page()));
        if let Err(error) = written {
            eprintln!("explore: cannot write {}: {error}", file("html").display());
        }
    }
    if let Some(folder) = commanded {
        tell(folder, ended.name, &data);
    }
}

/// Tells the command why there is no outcome, unless there is one.
pub(super) fn write_error(folder: &Path, error: &str) {
    let name = name();
    if !folder.join(format!("{name}.json")).exists() {
        tell(folder, &name, &serde_json::json!({ "name": name, "error": error }));
    }
}

fn tell(folder: &Path, name: &str, data: &serde_json::Value) {
    let file = folder.join(format!("{name}.json"));
    if let Err(error) = std::fs::write(&file, data.to_string()) {
        eprintln!("explore: cannot write {}: {error}", file.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_built_is_in_its_folder_whoever_made_that() {
        let target = tempfile::tempdir().unwrap();
        let program = target
            .path()
            .join("x86_64-unknown-linux-gnu/debug/deps/it-0123456789abcdef");
        assert_eq!(built_in(&program), None);
        for mark in [".rustc_info.json", "CACHEDIR.TAG"] {
            std::fs::write(target.path().join(mark), "").unwrap();
            assert_eq!(built_in(&program), Some(target.path()), "{mark}");
            std::fs::remove_file(target.path().join(mark)).unwrap();
        }
    }
}

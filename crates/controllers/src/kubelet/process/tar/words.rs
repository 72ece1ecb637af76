//! The words of a command line, as the built-in programs understand them.

use std::path::PathBuf;

/// A command that is built in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum BuiltIn {
    /// Writes an archive of these paths, without its first bytes.
    Create { paths: Vec<Source>, skip: u64 },
    /// Reads an archive into a folder.
    Extract { folder: PathBuf, exact_modes: bool },
    /// Whether a path leads to something of a sort.
    Test { sort: char, path: PathBuf },
    /// Words that the built-in program does not know, and what it says to that.
    Misused(String),
}

/// A path to be archived, and the folder that it begins at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Source {
    pub(super) folder: PathBuf,
    pub(super) path: PathBuf,
}

impl BuiltIn {
    /// The built-in command that these words are; `None` if its program is another.
    pub(in super::super) fn of(command: &[String]) -> Option<Self> {
        let (program, words) = command.split_first()?;
        match program.rsplit('/').next() {
            Some("tar") => Some(tar(words)),
            Some("test") => Some(test(words)),
            Some("sh") => resumed(words),
            _ => None,
        }
    }
}

fn test(words: &[String]) -> BuiltIn {
    match words {
        [sort, path] if ["-d", "-e", "-f"].contains(&sort.as_str()) => BuiltIn::Test {
            sort: sort.as_bytes()[1].into(),
            path: path.into(),
        },
        _ => BuiltIn::Misused("test: the built-in test knows -d, -e and -f with a path".to_owned()),
    }
}

/// What `kubectl cp --retries` runs: the rest of an archive.
fn resumed(words: &[String]) -> Option<BuiltIn> {
    let [flag, script] = words else {
        return None;
    };
    let (path, first) = script.strip_prefix("tar cf - ")?.split_once(" | tail -c+")?;
    // No shell reads the words, so what one would make of them must be the same.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@:,".contains(&byte) || !byte.is_ascii();
    let first: u64 = first.trim().parse().ok()?;
    (flag == "-c" && path.bytes().all(is_plain)).then(|| BuiltIn::Create {
        paths: vec![Source {
            folder: PathBuf::new(),
            path: path.into(),
        }],
        skip: first.saturating_sub(1),
    })
}

fn tar(words: &[String]) -> BuiltIn {
    let misused = |why: &str| {
        BuiltIn::Misused(format!(
            "tar: {why}\ntar: the built-in tar writes and reads plain archives on its standard streams: tar cf - PATH..., tar xf - \
             [-C FOLDER]"
        ))
    };
    let mut words = words.iter().enumerate();
    let (mut creates, mut extracts, mut to_stream, mut exact_modes) = (false, false, true, false);
    let (mut folder, mut paths) = (PathBuf::new(), Vec::new());
    while let Some((place, word)) = words.next() {
        let letters = match word.strip_prefix("--") {
            Some("create") => "c",
            Some("extract" | "get") => "x",
            Some("touch" | "no-same-permissions" | "no-same-owner" | "no-overwrite-dir" | "numeric-owner") => "",
            Some("same-permissions" | "preserve-permissions") => "p",
            Some("") => {
                paths.extend(words.map(|(_, path)| Source {
                    folder: folder.clone(),
                    path: path.into(),
                }));
                break;
            }
            Some(_) => return misused(&format!("unrecognized option '{word}'")),
            None => match word.strip_prefix('-') {
                Some("") | None if place > 0 => {
                    paths.push(Source {
                        folder: folder.clone(),
                        path: word.into(),
                    });
                    continue;
                }
                Some(letters) => letters,
                // The first word may be options without a dash.
                None => word,
            },
        };
        for (at, letter) in letters.char_indices() {
            match letter {
                'c' => creates = true,
                'x' => extracts = true,
                // When files were changed, and whose they are, is never taken from an archive.
                'm' | 'o' => {}
                'p' => exact_modes = true,
                'f' | 'C' => {
                    let rest = &letters[at + 1..];
                    // An option without a dash has its argument among the next words.
                    let is_attached = !rest.is_empty() && word.starts_with('-');
                    let argument = if is_attached {
                        rest
                    } else {
                        match words.next() {
                            Some((_, argument)) => argument,
                            None => return misused(&format!("option requires an argument -- '{letter}'")),
                        }
                    };
                    if letter == 'f' {
                        to_stream = argument == "-";
                    } else {
                        folder.push(argument);
                    }
                    if is_attached {
                        break;
                    }
                }
                other => return misused(&format!("invalid option -- '{other}'")),
            }
        }
    }
    match (creates, extracts) {
        _ if !to_stream => misused("an archive cannot be a file of the container"),
        (true, false) if paths.is_empty() => misused("Cowardly refusing to create an empty archive"),
        (true, false) => BuiltIn::Create { paths, skip: 0 },
        (false, true) if !paths.is_empty() => misused("members cannot be chosen"),
        (false, true) => BuiltIn::Extract { folder, exact_modes },
        _ => misused("You must specify one of the options c and x"),
    }
}

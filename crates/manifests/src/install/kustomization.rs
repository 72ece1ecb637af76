//! Adds and removes entries of a `kustomization.yaml` that users edit too, line by line, so that everything else stays as it is.

/// An entry of a list, and whether it is to be there.
///
/// ```
/// use kubewright_manifests::install::kustomization::{Entry, set};
///
/// let text = "resources:\n- ../rbac # ours\n";
/// let with = set(text, &[Entry::resource("../crd", true)]).unwrap();
/// assert_eq!(with, "resources:\n- ../rbac # ours\n- ../crd\n");
/// assert_eq!(set(&with, &[Entry::resource("../crd", false)]).unwrap(), text);
///
/// let patched = set(text, &[Entry::patch("metrics_patch.yaml", true), Entry::replacement("names.yaml", true)]).unwrap();
/// assert!(patched.contains("patches:\n- path: metrics_patch.yaml\n"), "{patched}");
/// assert_eq!(Entry::patch("metrics_patch.yaml", true).name(), "metrics_patch.yaml");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    list: &'static str,
    name: String,
    /// Whether it is to be there.
    pub wanted: bool,
}

impl Entry {
    /// An entry of `resources`: a file or a folder.
    pub fn resource(name: impl Into<String>, wanted: bool) -> Entry {
        Entry {
            list: "resources",
            name: name.into(),
            wanted,
        }
    }

    /// An entry of `patches`: a file with a patch of the Deployment.
    pub fn patch(file: impl Into<String>, wanted: bool) -> Entry {
        Entry {
            list: "patches",
            name: file.into(),
            wanted,
        }
    }

    /// An entry of `replacements`: a file with some of them.
    pub fn replacement(file: impl Into<String>, wanted: bool) -> Entry {
        Entry {
            list: "replacements",
            name: file.into(),
            wanted,
        }
    }

    /// The file or folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its first line, without what stands before it.
    fn line(&self) -> String {
        match self.list {
            "patches" | "replacements" => format!("- path: {}", self.name),
            _ => format!("- {}", self.name),
        }
    }

    /// All its lines.
    fn lines(&self, indent: &str) -> String {
        let further = match self.list {
            "patches" => format!("{indent}  target:\n{indent}    kind: Deployment\n"),
            _ => String::new(),
        };
        format!("{indent}{}\n{further}", self.line())
    }

    /// Whether a line begins this entry.
    fn is_at(&self, line: &str) -> bool {
        let content = line.split(" #").next().unwrap_or_default().trim();
        content.replace(['"', '\''], "") == self.line()
    }
}

/// Why a kustomization cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KustomizationError {
    /// It is not YAML.
    #[error("it is not YAML")]
    Yaml(#[source] kubewright_codec::yaml::YamlError),
    /// A list is written in one line.
    #[error("`{0}` is not a list with an entry per line; write each entry on a line of its own, behind a dash")]
    List(&'static str),
}

/// The text with the entries that are wanted and without the others. An entry that the user commented out stays so.
pub fn set(text: &str, entries: &[Entry]) -> Result<String, KustomizationError> {
    kubewright_codec::yaml::decode(text.as_bytes()).map_err(KustomizationError::Yaml)?;
    entries.iter().try_fold(text.to_owned(), |text, entry| {
        let changed = if entry.wanted {
            with(&text, entry)
        } else {
            without(&text, entry)
        };
        let is_there = lists(&changed, entry);
        if is_there == entry.wanted || is_commented(&changed, entry) {
            Ok(changed)
        } else {
            Err(KustomizationError::List(entry.list))
        }
    })
}

/// The value of a field at the top, if it is a text.
pub fn field(text: &str, name: &str) -> Option<String> {
    let decoded = kubewright_codec::yaml::decode(text.as_bytes()).ok()?;
    decoded.value.get(name)?.as_str().map(str::to_owned)
}

/// Whether an entry stands in a comment.
pub(crate) fn is_commented(text: &str, entry: &Entry) -> bool {
    text.lines().any(|line| {
        let comment = line.trim_start().strip_prefix('#');
        comment.is_some_and(|comment| entry.is_at(comment.trim_start_matches('#')))
    })
}

/// Whether kustomize would find the entry.
pub(crate) fn lists(text: &str, entry: &Entry) -> bool {
    let Ok(decoded) = kubewright_codec::yaml::decode(text.as_bytes()) else {
        return false;
    };
    let items = decoded.value[entry.list].as_array().cloned().unwrap_or_default();
    items.iter().any(|item| {
        let name = if entry.list == "resources" { item } else { &item["path"] };
        name.as_str() == Some(entry.name.as_str())
    })
}

fn with(text: &str, entry: &Entry) -> String {
    if lists(text, entry) || is_commented(text, entry) {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let heading = format!("{}:", entry.list);
    let Some(start) = lines
        .iter()
        .position(|line| line.split(" #").next().unwrap_or_default().trim_end() == heading)
    else {
        // The caller reports a list that has another form.
        let gap = if text.ends_with('\n') || text.is_empty() {
            "\n"
        } else {
            "\n\n"
        };
        return if text.lines().any(|line| line.starts_with(&heading)) {
            text.to_owned()
        } else {
            format!("{text}{gap}{heading}\n{}", entry.lines(""))
        };
    };
    let items = &lines[start + 1..];
    let end = items.iter().position(|line| is_key(line)).unwrap_or(items.len());
    // Behind the last line of the last entry: comments and gaps below it belong to what follows.
    let last = items[..end].iter().rposition(|line| is_content(line));
    let indent: String = items[..end]
        .iter()
        .find(|line| line.trim_start().starts_with("- "))
        .map(|line| line.chars().take_while(|c| *c == ' ').collect())
        .unwrap_or_default();
    let at = start + 1 + last.map_or(0, |last| last + 1);
    let mut changed = String::new();
    for (number, line) in lines.iter().enumerate() {
        if number == at {
            changed.push_str(&entry.lines(&indent));
        }
        changed.push_str(line);
        changed.push('\n');
    }
    if at == lines.len() {
        changed.push_str(&entry.lines(&indent));
    }
    changed
}

fn without(text: &str, entry: &Entry) -> String {
    if !lists(text, entry) {
        return text.to_owned();
    }
    let mut changed = String::new();
    let mut within = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        // What is indented further belongs to the entry.
        if within.is_some_and(|entry| is_content(line) && indent > entry) {
            continue;
        }
        within = entry.is_at(line).then_some(indent);
        if within.is_none() {
            changed.push_str(line);
            changed.push('\n');
        }
    }
    without_empty(changed, entry.list)
}

/// Removes a list without entries, and the empty line before it.
fn without_empty(text: String, list: &str) -> String {
    let is_empty = kubewright_codec::yaml::decode(text.as_bytes()).is_ok_and(|decoded| decoded.value[list].is_null());
    let heading = format!("{list}:");
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|line| *line == heading).filter(|_| is_empty) else {
        return text;
    };
    let gap = at.checked_sub(1).filter(|before| lines[*before].is_empty());
    let kept = lines
        .iter()
        .enumerate()
        .filter(|(line, _)| *line != at && Some(*line) != gap);
    kept.flat_map(|(_, line)| [*line, "\n"]).collect()
}

fn is_content(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// Whether a line begins another field at the top.
fn is_key(line: &str) -> bool {
    is_content(line) && !line.starts_with([' ', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# ours\nresources:\n  - ../rbac\n  # the manager\n  - ../manager\n\n# patches\npatches:\n- path: a.yaml\n  \
                        target:\n    kind: Deployment\n";

    #[test]
    fn entries_go_behind_the_last_one_as_it_is_indented() {
        let set = set(TEXT, &[Entry::resource("../crd", true), Entry::patch("b.yaml", true)]).unwrap();
        assert_eq!(
            set,
            "# ours\nresources:\n  - ../rbac\n  # the manager\n  - ../manager\n  - ../crd\n\n# patches\npatches:\n- path: a.yaml\n  \
             target:\n    kind: Deployment\n- path: b.yaml\n  target:\n    kind: Deployment\n"
        );
    }

    #[test]
    fn what_was_put_in_is_taken_out_again_and_nothing_else() {
        let entries = |wanted| [Entry::resource("../crd", wanted), Entry::patch("b.yaml", wanted)];
        let with = set(TEXT, &entries(true)).unwrap();
        assert_eq!(set(&with, &entries(true)).unwrap(), with);
        assert_eq!(set(&with, &entries(false)).unwrap(), TEXT);
    }

    #[test]
    fn a_list_that_is_missing_is_added() {
        let set = set("namespace: a\n", &[Entry::resource("../crd", true)]).unwrap();
        assert_eq!(set, "namespace: a\n\nresources:\n- ../crd\n");
        let gone = super::set(&set, &[Entry::resource("../crd", false)]).unwrap();
        assert_eq!(gone, "namespace: a\n");
    }

    #[test]
    fn what_cannot_be_edited_is_an_error() {
        let crd = [Entry::resource("../crd", true)];
        assert_eq!(
            set("resources: [a]\n", &crd),
            Err(KustomizationError::List("resources"))
        );
        assert!(matches!(set("resources: [", &crd), Err(KustomizationError::Yaml(_))));
        // In one line, an entry cannot be taken out by lines.
        let gone = [Entry::resource("../crd", false)];
        assert_eq!(
            set("resources: [../crd]\n", &gone),
            Err(KustomizationError::List("resources"))
        );
    }

    #[test]
    fn an_entry_is_known_with_quotes_and_a_remark() {
        let text = "resources:\n- \"../crd\" # kinds\n";
        assert_eq!(set(text, &[Entry::resource("../crd", true)]).unwrap(), text);
        assert_eq!(set(text, &[Entry::resource("../crd", false)]).unwrap(), "");
    }
}

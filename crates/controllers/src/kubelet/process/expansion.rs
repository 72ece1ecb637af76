//! Words of a Pod as its process gets them: `$(VARIABLE)` replaced, and paths led to where volumes really are.

use std::collections::BTreeMap;
use std::path::Path;

/// Replaces `$(NAME)` by its value as Kubernetes does: `$$` is a dollar, and what is not known stays.
pub(super) fn expanded(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = after.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            match variables.get(name) {
                Some(value) => out.push_str(value),
                None => out.extend(["$(", name, ")"]),
            }
            rest = tail;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// Leads every mention of a mount to its place under `root`: `--cert-dir=/certs` becomes `--cert-dir=ROOT/certs`.
pub(super) fn rooted<'a>(text: &str, mounts: impl IntoIterator<Item = &'a str>, root: &Path) -> String {
    let mut mounts: Vec<&str> = mounts
        .into_iter()
        .map(|mount| mount.trim_end_matches('/'))
        .filter(|mount| mount.starts_with('/'))
        .collect();
    // A mount within another is meant by the longer path.
    mounts.sort_by_key(|mount| std::cmp::Reverse(mount.len()));
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | '$' | '%');
    let continues = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let root = root.display().to_string();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        // What is led there already, by a variable, is left alone.
        if let Some(tail) = rest.strip_prefix(&root).filter(|_| !root.is_empty()) {
            out.push_str(&root);
            rest = tail;
            continue;
        }
        let begins = out.chars().next_back().is_none_or(|before| !is_path(before));
        let found = mounts.iter().find(|mount| {
            rest.strip_prefix(**mount)
                .is_some_and(|tail| !tail.starts_with(continues))
        });
        if let Some(mount) = found.filter(|_| begins) {
            out.push_str(&root);
            out.push_str(mount);
            rest = &rest[mount.len()..];
        } else {
            let mut chars = rest.chars();
            out.extend(chars.next());
            rest = chars.as_str();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_as_kubernetes_does() {
        let variables: BTreeMap<_, _> = [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "$(A)".to_owned())].into();
        for (text, wanted) in [
            ("$(A)", "1"),
            ("x$(A)y$(A)", "x1y1"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$1"),
            ("$(NONE)", "$(NONE)"),
            ("$(B)", "$(A)"),
            ("$A $", "$A $"),
            ("$(A", "$(A"),
            ("", ""),
        ] {
            assert_eq!(expanded(text, &variables), wanted, "{text}");
        }
    }

    #[test]
    fn mounts_are_led_to_where_they_are() {
        let rooted = |text: &str| super::rooted(text, ["/certs", "/etc/app/", "/etc/app/sub"], Path::new("/r"));
        for (text, wanted) in [
            ("/certs", "/r/certs"),
            ("--cert-dir=/certs/tls", "--cert-dir=/r/certs/tls"),
            ("/certs,/etc/app:ro", "/r/certs,/r/etc/app:ro"),
            ("/etc/app/sub/x", "/r/etc/app/sub/x"),
            ("/certs2", "/certs2"),
            ("/home/certs", "/home/certs"),
            ("http://host/certs", "http://host/certs"),
            ("file:///certs", "file:///certs"),
            ("größe=/certs", "größe=/r/certs"),
            ("/r/certs", "/r/certs"),
        ] {
            assert_eq!(rooted(text), wanted, "{text}");
        }
    }
}

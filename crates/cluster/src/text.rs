//! How things are written for people and shells.

/// `no objects`, `1 object`, `5 objects`.
pub fn objects_text(count: u64) -> String {
    match count {
        0 => "no objects".to_owned(),
        1 => "1 object".to_owned(),
        count => format!("{count} objects"),
    }
}

/// The text as a shell takes it, which for most paths is the text itself.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ':' | '@' | '%' | ',');
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_only_where_a_shell_needs_it() {
        assert_eq!(quoted("/tmp/kubewright-1/kubeconfig"), "/tmp/kubewright-1/kubeconfig");
        assert_eq!(quoted("/home/Jane Doe/it's"), r"'/home/Jane Doe/it'\''s'");
    }
}

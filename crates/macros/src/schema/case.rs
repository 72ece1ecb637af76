//! The names that fields have in JSON: serde's rules of renaming.

/// A rule of `#[serde(rename_all = "…")]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Case {
    /// The rule as serde names it.
    pub(crate) fn parse(name: &str) -> Option<Case> {
        Some(match name {
            "lowercase" => Case::Lower,
            "UPPERCASE" => Case::Upper,
            "PascalCase" => Case::Pascal,
            "camelCase" => Case::Camel,
            "snake_case" => Case::Snake,
            "SCREAMING_SNAKE_CASE" => Case::ScreamingSnake,
            "kebab-case" => Case::Kebab,
            "SCREAMING-KEBAB-CASE" => Case::ScreamingKebab,
            _ => return None,
        })
    }

    /// The name of a field, which Rust writes in snake case.
    pub(crate) fn field(self, name: &str) -> String {
        match self {
            Case::Lower | Case::Snake => name.to_owned(),
            Case::Upper | Case::ScreamingSnake => name.to_ascii_uppercase(),
            Case::Pascal => pascal(name),
            Case::Camel => first_lower(&pascal(name)),
            Case::Kebab => name.replace('_', "-"),
            Case::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
        }
    }
}

fn pascal(name: &str) -> String {
    let mut capital = true;
    let mut out = String::new();
    for letter in name.chars() {
        if letter == '_' {
            capital = true;
        } else if capital {
            out.push(letter.to_ascii_uppercase());
            capital = false;
        } else {
            out.push(letter);
        }
    }
    out
}

fn first_lower(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::Case;

    #[test]
    fn names_are_those_that_serde_writes() {
        assert_eq!(Case::Camel.field("min_ready_seconds"), "minReadySeconds");
        assert_eq!(Case::Pascal.field("cluster_ip"), "ClusterIp");
        assert_eq!(Case::Kebab.field("cluster_ip"), "cluster-ip");
        assert_eq!(Case::ScreamingKebab.field("http_get"), "HTTP-GET");
        assert_eq!(Case::parse("camelCase"), Some(Case::Camel));
        assert_eq!(Case::parse("CamelCase"), None);
    }
}

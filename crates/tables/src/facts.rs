//! The recorded columns of the built-in resources.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::column::Column;

static TEXT: &str = include_str!("../facts/v1.36/columns.facts");

/// Group (empty for the core) and plural.
pub(crate) type Key = (&'static str, &'static str);

/// The columns of every resource in the record.
pub(crate) fn columns() -> BTreeMap<Key, Vec<Column>> {
    let mut all: BTreeMap<Key, Vec<Column>> = BTreeMap::new();
    let mut key = None;
    for line in TEXT.lines() {
        if let Some(line) = line.strip_prefix(' ') {
            if let Some(key) = key {
                all.entry(key).or_default().extend(column(line));
            }
            continue;
        }
        let mut words = line.split(' ');
        key = match (words.next(), words.next(), words.next()) {
            (Some(group), Some(_version), Some(plural)) => Some((if group == "core" { "" } else { group }, plural)),
            _ => None,
        };
        // The versions of a resource have the same columns: the last one counts.
        if let Some(key) = key {
            all.remove(&key);
        }
    }
    all
}

fn column(line: &'static str) -> Option<Column> {
    let mut fields = line.splitn(5, '\t');
    Some(Column {
        name: fields.next()?.into(),
        kind: fields.next()?.into(),
        format: fields.next()?.into(),
        priority: fields.next()?.parse().ok()?,
        description: match fields.next()? {
            text if text.contains("\\n") => Cow::Owned(text.replace("\\n", "\n")),
            text => Cow::Borrowed(text),
        },
    })
}

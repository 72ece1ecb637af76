//! What authorization reads of a query: only for lists, and only when somebody asks.

use std::cell::OnceCell;

use kubewright_access::ListQuery;

use crate::select::{fields, labels};
use crate::wire::query::Query;

/// A query that is parsed when it is needed.
pub(super) struct Lazy<'a> {
    text: Option<&'a str>,
    parsed: OnceCell<Query>,
}

impl<'a> Lazy<'a> {
    pub(super) fn new(text: Option<&'a str>) -> Self {
        Lazy {
            text,
            parsed: OnceCell::new(),
        }
    }

    fn query(&self) -> &Query {
        self.parsed.get_or_init(|| Query::parse(self.text))
    }

    /// Whether every option of a list can be read; upstream forgets all of them otherwise.
    fn is_readable(&self) -> bool {
        let query = self.query();
        let is_number = |key: &str| query.get(key).is_none_or(|text| text.parse::<i64>().is_ok());
        is_number("limit")
            && is_number("timeoutSeconds")
            && query
                .get("labelSelector")
                .is_none_or(|text| labels::Selector::parse(text).is_ok())
    }
}

impl ListQuery for Lazy<'_> {
    fn is_watch(&self) -> bool {
        self.text.is_some() && self.query().flag("watch") == Some(true)
    }

    fn exact_name(&self) -> Option<String> {
        let text = self.text.and_then(|_| self.query().get("fieldSelector"))?;
        let mut terms = fields::requirements(text).ok()?;
        // Upstream reads the terms in their order.
        terms.sort();
        let (_, _, name) = terms
            .into_iter()
            .find(|(field, equal, _)| *field == "metadata.name" && *equal)?;
        let is_fit = !matches!(name.as_str(), "." | "..") && !name.contains(['/', '%']);
        (is_fit && self.is_readable()).then_some(name)
    }

    fn field_selector(&self) -> Option<String> {
        self.query().get("fieldSelector").map(str::to_owned)
    }

    fn label_selector(&self) -> Option<String> {
        self.query().get("labelSelector").map(str::to_owned)
    }
}

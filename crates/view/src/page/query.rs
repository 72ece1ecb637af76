//! The parameters of a request.

use http::Uri;
use kubewright_apimachinery::url::unescape_valid;

/// What stands behind the question mark.
pub(super) struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    pub(super) fn of(uri: &'a Uri) -> Self {
        Query(uri.query().unwrap_or_default())
    }

    /// A parameter; empty if it is not there.
    pub(super) fn text(&self, name: &str) -> String {
        let mut pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        let value = pairs.find(|(key, _)| *key == name).map_or("", |(_, value)| value);
        unescape_valid(&value.replace('+', " ")).into_owned()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.text(name).parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_by_name_and_unescaped() {
        let uri: Uri = "/api?uid=a%2Fb+c&revision=12&empty=".parse().unwrap();
        let query = Query::of(&uri);
        assert_eq!(
            (&*query.text("uid"), &*query.text("empty"), &*query.text("none")),
            ("a/b c", "", "")
        );
        assert_eq!((query.number("revision"), query.number("uid")), (Some(12), None));
    }
}

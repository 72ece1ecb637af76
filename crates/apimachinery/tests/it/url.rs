//! Percent-coding and URLs, equal to what Go's `net/url` made of them (`conformance/upstream/text`).

use std::borrow::Cow;

use kubewright_apimachinery::go::utf8::repair;
use kubewright_apimachinery::url::{self, EscapeError, Url};

use crate::tables::{bytes, cells, rows};

#[test]
fn texts_are_escaped_and_unescaped_as_go_does() {
    let mut count = 0;
    for [input, segment, query, path, from_path, from_query] in rows(include_str!("../recorded/escapes.tsv")) {
        // What is not UTF-8 never reaches these functions.
        let Ok(input) = String::from_utf8(bytes(input)) else {
            continue;
        };
        assert_eq!(url::path_escape(&input), segment);
        assert_eq!(url::query_escape(&input), query);
        assert_eq!(url::escape_path(&input), path);
        assert_eq!(told(url::path_unescape(&input)), expected(from_path), "{input:?}");
        assert_eq!(told(url::query_unescape(&input)), expected(from_query), "{input:?}");
        count += 1;
    }
    assert!(count > 700, "{count}");
}

fn told(result: Result<Cow<'_, str>, EscapeError>) -> String {
    result.map_or_else(|error| format!("!{error}"), |text| format!("={text}"))
}

fn expected(cell: &str) -> String {
    match cell.strip_prefix('=') {
        Some(digits) => format!("={}", repair(&bytes(digits))),
        None => cell.to_owned(),
    }
}

#[test]
fn urls_are_read_as_go_reads_them() {
    let mut count = 0;
    for row in cells(include_str!("../recorded/urls.tsv")) {
        let input = String::from_utf8(bytes(row[1])).unwrap();
        let url = match row[0] {
            "Parse" => Url::parse(&input),
            _ => Url::parse_request(&input),
        };
        let parts = match url {
            Err(problem) => vec![format!("!{problem}")],
            Ok(url) => [
                url.scheme.as_str(),
                &url.opaque,
                &url.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default(),
                &url.host,
                url.hostname(),
                url.port(),
                &url.escaped_path,
                &url.path,
                &url.query,
                &url.fragment,
            ]
            .map(str::to_owned)
            .to_vec(),
        };
        let wanted: Vec<String> = row[2..]
            .iter()
            .map(|cell| {
                if cell.starts_with('!') {
                    (*cell).to_owned()
                } else {
                    repair(&bytes(cell)).into_owned()
                }
            })
            .collect();
        assert_eq!(parts, wanted, "{} of {input:?}", row[0]);
        count += 1;
    }
    assert!(count > 1500, "{count}");
}

#[test]
fn a_pair_with_a_broken_escape_is_no_pair() {
    let pairs: Vec<_> = url::query_pairs("a=1&b=%zz&c;d=2&&e&f=x+y%20z&=").collect();
    let expected = [("a", "1"), ("e", ""), ("f", "x y z"), ("", "")];
    assert_eq!(pairs, expected.map(|(name, value)| (name.into(), value.into())));
}

#[test]
fn escapes_that_are_none_stay_where_the_text_is_only_shown() {
    assert_eq!(url::unescape_valid("100%25 %zz %e2%82%ac %"), "100% %zz € %");
}

//! The links of a page. Only the values of attributes that hold addresses change; everything else is copied as it is.

/// The attributes that hold an address, by element.
const ADDRESSES: [(&str, &[&str]); 25] = [
    ("a", &["href"]),
    ("applet", &["codebase"]),
    ("area", &["href"]),
    ("audio", &["src"]),
    ("base", &["href"]),
    ("blockquote", &["cite"]),
    ("body", &["background"]),
    ("button", &["formaction"]),
    ("command", &["icon"]),
    ("del", &["cite"]),
    ("embed", &["src"]),
    ("form", &["action"]),
    ("frame", &["longdesc", "src"]),
    ("head", &["profile"]),
    ("html", &["manifest"]),
    ("iframe", &["longdesc", "src"]),
    ("img", &["longdesc", "src", "usemap"]),
    ("input", &["src", "usemap", "formaction"]),
    ("ins", &["cite"]),
    ("link", &["href"]),
    ("object", &["classid", "codebase", "data", "usemap"]),
    ("q", &["cite"]),
    ("script", &["src"]),
    ("source", &["src"]),
    ("video", &["poster", "src"]),
];

/// Elements whose content is text, up to their end.
const TEXTS: [&str; 8] = [
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes",
];

/// A page with its links rewritten; `rewrite` says what becomes of one, or `None` if it stays.
pub(super) fn rewrite(page: &[u8], rewrite: impl Fn(&str) -> Option<String>) -> Vec<u8> {
    let mut out = Vec::with_capacity(page.len() + page.len() / 8);
    let mut at = 0;
    while let Some(begin) = memchr::memchr(b'<', &page[at..]) {
        out.extend_from_slice(&page[at..at + begin]);
        at += begin;
        let rest = &page[at..];
        if rest.starts_with(b"<!--") {
            let end = memchr::memmem::find(&rest[4..], b"-->").map_or(rest.len(), |end| end + 7);
            out.extend_from_slice(&rest[..end]);
            at += end;
            continue;
        }
        let name = word(&rest[1..], |byte| byte.is_ascii_alphanumeric());
        if !name.first().is_some_and(u8::is_ascii_alphabetic) {
            out.push(b'<');
            at += 1;
            continue;
        }
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        at += tag(rest, &name, &rewrite, &mut out);
        if TEXTS.contains(&name.as_str()) {
            let end = end_of(&page[at..], &name);
            out.extend_from_slice(&page[at..at + end]);
            at += end;
        }
    }
    out.extend_from_slice(&page[at..]);
    out
}

fn word(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> &[u8] {
    let end = bytes.iter().position(|byte| !is_part(*byte)).unwrap_or(bytes.len());
    &bytes[..end]
}

/// Where the content of an element ends that is text.
fn end_of(bytes: &[u8], name: &str) -> usize {
    let ends = memchr::memmem::find_iter(bytes, b"</");
    let mut ends = ends.filter(|end| {
        let found = bytes.get(end + 2..end + 2 + name.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    });
    ends.next().unwrap_or(bytes.len())
}

/// Copies a tag, and says how long it is.
fn tag(bytes: &[u8], name: &str, rewrite: &impl Fn(&str) -> Option<String>, out: &mut Vec<u8>) -> usize {
    let addresses = ADDRESSES.iter().find(|(element, _)| *element == name);
    let addresses = addresses.map_or(&[][..], |(_, attributes)| attributes);
    let is_space = |byte: u8| byte.is_ascii_whitespace() || byte == b'/';
    let mut at = 1 + name.len();
    out.extend_from_slice(&bytes[..at]);
    loop {
        let space = word(&bytes[at..], is_space);
        out.extend_from_slice(space);
        at += space.len();
        match bytes.get(at) {
            None => return at,
            Some(b'>') => {
                out.push(b'>');
                return at + 1;
            }
            Some(_) => {}
        }
        let key = word(&bytes[at..], |byte| !is_space(byte) && byte != b'>' && byte != b'=');
        let key = if key.is_empty() { &bytes[at..=at] } else { key };
        out.extend_from_slice(key);
        at += key.len();
        let space = word(&bytes[at..], |byte| byte.is_ascii_whitespace());
        if bytes.get(at + space.len()) != Some(&b'=') {
            continue;
        }
        let before = at;
        at += space.len() + 1;
        at += word(&bytes[at..], |byte| byte.is_ascii_whitespace()).len();
        out.extend_from_slice(&bytes[before..at]);
        let (quote, value) = match bytes.get(at) {
            Some(quote @ (b'"' | b'\'')) => (Some(*quote), word(&bytes[at + 1..], |byte| byte != *quote)),
            _ => (
                None,
                word(&bytes[at..], |byte| !byte.is_ascii_whitespace() && byte != b'>'),
            ),
        };
        let is_address = addresses.iter().any(|known| key.eq_ignore_ascii_case(known.as_bytes()));
        let rewritten = std::str::from_utf8(value).ok().filter(|_| is_address);
        let rewritten = rewritten.and_then(|value| rewrite(&unescaped(value)));
        let length = value.len() + if quote.is_some() { 2 } else { 0 };
        let end = (at + length).min(bytes.len());
        match rewritten {
            Some(rewritten) => {
                out.push(b'"');
                out.extend_from_slice(escaped(&rewritten).as_bytes());
                out.push(b'"');
            }
            None => out.extend_from_slice(&bytes[at..end]),
        }
        at = end;
    }
}

/// The references that addresses are written with.
const REFERENCES: [(&str, &str); 6] = [
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#39;", "'"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    // Last, so that nothing is undone twice.
    ("&amp;", "&"),
];

fn unescaped(value: &str) -> String {
    let mut value = value.trim().to_owned();
    for (reference, character) in REFERENCES {
        if value.contains(reference) {
            value = value.replace(reference, character);
        }
    }
    value
}

fn escaped(value: &str) -> String {
    let value = value.replace('&', "&amp;").replace('"', "&#34;");
    value.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    fn prefixed(page: &str) -> String {
        let rewritten = super::rewrite(page.as_bytes(), |link| {
            link.starts_with('/').then(|| format!("/proxy{link}"))
        });
        String::from_utf8(rewritten).unwrap()
    }

    #[test]
    fn links_are_rewritten_and_nothing_else() {
        for (page, expected) in [
            (r#"<a href="/x">/x</a>"#, r#"<a href="/proxy/x">/x</a>"#),
            ("<A HREF='/x' class=y>", r#"<A HREF="/proxy/x" class=y>"#),
            ("<img src=/a.png alt=/b>", r#"<img src="/proxy/a.png" alt=/b>"#),
            (r#"<img src="/a"/><br>"#, r#"<img src="/proxy/a"/><br>"#),
            (r#"<a href = "/x?a=1&amp;b=2">"#, r#"<a href = "/proxy/x?a=1&amp;b=2">"#),
            (r#"<a href="other">"#, r#"<a href="other">"#),
            (r#"<p href="/x">"#, r#"<p href="/x">"#),
            (r#"<!-- <a href="/x"> --><b>"#, r#"<!-- <a href="/x"> --><b>"#),
            (
                r#"<script src="/s.js">"<a href='/x'>"</script><a href="/y">"#,
                r#"<script src="/proxy/s.js">"<a href='/x'>"</script><a href="/proxy/y">"#,
            ),
            ("1 < 2 <a", "1 < 2 <a"),
            (r#"<a href="/x"#, r#"<a href="/proxy/x""#),
            ("<a =/x href>", "<a =/x href>"),
        ] {
            assert_eq!(prefixed(page), expected, "{page}");
        }
    }

    proptest! {
        #[test]
        fn a_page_without_such_links_is_copied(page in "[<>a-z\"'=/ !-]{0,200}") {
            let copied = super::rewrite(page.as_bytes(), |_| None);
            prop_assert_eq!(String::from_utf8(copied).unwrap(), page);
        }
    }
}

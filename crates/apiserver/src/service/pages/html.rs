//! The links of a page. Start tags are written anew, as Go's package writes them: names in lower case, values in double quotes. Everything
//! else is copied as it is.

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
const TEXTS: [&str; 9] = [
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript",
];

/// A page with its links rewritten; `rewrite` says what becomes of one, or `None` if it stays.
pub(super) fn rewrite(page: &[u8], rewrite: impl Fn(&str) -> Option<String>) -> Vec<u8> {
    let mut out = Vec::with_capacity(page.len() + page.len() / 8);
    let mut at = 0;
    while let Some(begin) = memchr::memchr(b'<', &page[at..]) {
        out.extend_from_slice(&page[at..at + begin]);
        at += begin;
        let rest = &page[at..];
        if !rest.get(1).is_some_and(u8::is_ascii_alphabetic) {
            let length = other(rest);
            out.extend_from_slice(&rest[..length]);
            at += length;
            continue;
        }
        // What begins a tag and does not end it is left out.
        let Some(tag) = Tag::read(rest) else {
            return out;
        };
        tag.write(&rewrite, &rest[..tag.length], &mut out);
        at += tag.length;
        if tag.name == "plaintext" {
            break;
        }
        if TEXTS.contains(&tag.name.as_str()) {
            let end = end_of(&page[at..], &tag.name);
            out.extend_from_slice(&page[at..at + end]);
            at += end;
        }
    }
    out.extend_from_slice(&page[at..]);
    out
}

/// The length of what begins as a tag and is none that starts an element: a comment, a declaration, an end.
fn other(rest: &[u8]) -> usize {
    if rest.starts_with(b"<!--") {
        return memchr::memmem::find(&rest[4..], b"-->").map_or(rest.len(), |end| end + 7);
    }
    match rest.get(1) {
        Some(b'!' | b'?' | b'/') => memchr::memchr(b'>', rest).map_or(rest.len(), |end| end + 1),
        _ => 1,
    }
}

fn word(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> &[u8] {
    let end = bytes.iter().position(|byte| !is_part(*byte)).unwrap_or(bytes.len());
    &bytes[..end]
}

fn space(bytes: &[u8]) -> usize {
    word(bytes, |byte| byte.is_ascii_whitespace()).len()
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

/// The tag that starts an element.
struct Tag<'a> {
    name: String,
    /// Keys in lower case, and values as they are written.
    attributes: Vec<(String, &'a [u8])>,
    is_empty: bool,
    /// How many bytes it has.
    length: usize,
}

impl<'a> Tag<'a> {
    /// Reads a tag, by the rules of browsers as Go's package has them; `None` if it has no end.
    fn read(bytes: &'a [u8]) -> Option<Tag<'a>> {
        let name = word(&bytes[1..], |byte| {
            !byte.is_ascii_whitespace() && byte != b'/' && byte != b'>'
        });
        let mut attributes: Vec<(String, &[u8])> = Vec::new();
        let mut at = 1 + name.len();
        // Where the last attribute ends: a slash there is a part of its value.
        let mut value_end = at;
        loop {
            at += space(&bytes[at..]);
            if *bytes.get(at)? == b'>' {
                break;
            }
            let (key, value, next) = attribute(bytes, at)?;
            at = next;
            if !key.is_empty() {
                value_end = value.end;
                attributes.push((lower(key), &bytes[value]));
            }
        }
        Some(Tag {
            name: lower(name),
            is_empty: bytes[at - 1] == b'/' && (attributes.is_empty() || at != value_end),
            attributes,
            length: at + 1,
        })
    }

    /// Writes the tag with its links rewritten. One with references that are not known is `written` as it was.
    fn write(&self, rewrite: &impl Fn(&str) -> Option<String>, written: &[u8], out: &mut Vec<u8>) {
        let addresses = ADDRESSES.iter().find(|(element, _)| *element == self.name);
        let addresses = addresses.map_or(&[][..], |(_, attributes)| attributes);
        let mut tag = format!("<{}", self.name);
        for (key, value) in &self.attributes {
            let Some(mut value) = std::str::from_utf8(value).ok().and_then(unescaped) else {
                out.extend_from_slice(written);
                return;
            };
            if addresses.contains(&key.as_str()) {
                value = rewrite(&value).unwrap_or(value);
            }
            tag.push(' ');
            tag.push_str(key);
            tag.push_str("=\"");
            escape(&value, &mut tag);
            tag.push('"');
        }
        tag.push_str(if self.is_empty { "/>" } else { ">" });
        out.extend_from_slice(tag.as_bytes());
    }
}

fn lower(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_ascii_lowercase()
}

/// The key of the attribute that begins at a byte, where its value is, and where it ends.
fn attribute(bytes: &[u8], at: usize) -> Option<(&[u8], std::ops::Range<usize>, usize)> {
    // An equals sign with which a key begins is a part of it.
    let first = usize::from(bytes.get(at) == Some(&b'='));
    let is_key = |byte: u8| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'=');
    let key = &bytes[at..at + first + word(&bytes[at + first..], is_key).len()];
    let end = at + key.len();
    let at = end + space(&bytes[end..]);
    match *bytes.get(at)? {
        b'=' => {}
        b'/' => return Some((key, end..end, at + 1)),
        _ => return Some((key, end..end, at)),
    }
    let at = at + 1 + space(&bytes[at + 1..]);
    match *bytes.get(at)? {
        b'>' => Some((key, end..end, at)),
        quote @ (b'"' | b'\'') => {
            let length = memchr::memchr(quote, &bytes[at + 1..])?;
            Some((key, at + 1..at + 1 + length, at + 2 + length))
        }
        _ => {
            let value = word(&bytes[at..], |byte| !byte.is_ascii_whitespace() && byte != b'>');
            Some((key, at..at + value.len(), at + value.len()))
        }
    }
}

/// The references that are known by their names.
const REFERENCES: [(&str, char); 5] = [("quot", '"'), ("apos", '\''), ("lt", '<'), ("gt", '>'), ("amp", '&')];

/// The text of a value; `None` if it has a reference that is not known.
fn unescaped(value: &str) -> Option<String> {
    let value = value.replace("\r\n", "\n").replace('\r', "\n");
    let mut text = String::with_capacity(value.len());
    let mut rest = value.as_str();
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '#';
        let end = after.find(|character| !is_name(character)).unwrap_or(after.len());
        let (name, behind) = after.split_at(end);
        match (behind.strip_prefix(';'), character(name)) {
            (Some(behind), Some(character)) => {
                text.push(character);
                rest = behind;
            }
            // An ampersand between the parts of a query.
            _ if name.is_empty() || behind.starts_with('=') => {
                text.push('&');
                rest = after;
            }
            _ => return None,
        }
    }
    text.push_str(rest);
    Some(text)
}

/// The character that a name or a number stands for.
fn character(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        let known = REFERENCES.iter().find(|(known, _)| *known == name);
        return known.map(|(_, character)| *character);
    };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(number) => u32::from_str_radix(number, 16).ok()?,
        None => number.parse().ok()?,
    };
    // Those in between stand for others, by the habits of Windows.
    let is_itself = (1..0x80).contains(&number) || number >= 0xa0;
    char::from_u32(number).filter(|_| is_itself)
}

fn escape(value: &str, to: &mut String) {
    for character in value.chars() {
        match character {
            '&' => to.push_str("&amp;"),
            '\'' => to.push_str("&#39;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&#34;"),
            '\r' => to.push_str("&#13;"),
            other => to.push(other),
        }
    }
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
    fn links_are_rewritten_and_tags_written_anew() {
        for (page, expected) in [
            (r#"<a href="/x">/x</a>"#, r#"<a href="/proxy/x">/x</a>"#),
            ("<A HREF='/x' class=y>", r#"<a href="/proxy/x" class="y">"#),
            ("<img src=/a.png alt=/b>", r#"<img src="/proxy/a.png" alt="/b">"#),
            (r#"<img src="/a"/><br>"#, r#"<img src="/proxy/a"/><br>"#),
            (r"<img src=/a/><br />", r#"<img src="/proxy/a/"><br/>"#),
            (r#"<a href = "/x?a=1&amp;b=2">"#, r#"<a href="/proxy/x?a=1&amp;b=2">"#),
            (r#"<a href="/x?a=1&b=2">"#, r#"<a href="/proxy/x?a=1&amp;b=2">"#),
            (r#"<a title="&#65;&#x42;'" href>"#, r#"<a title="AB&#39;" href="">"#),
            (r#"<a title="&copy;"  HREF='x'>"#, r#"<a title="&copy;"  HREF='x'>"#),
            (r#"<a href="other">"#, r#"<a href="other">"#),
            (r#"<p href="/x">"#, r#"<p href="/x">"#),
            (r#"<!-- <a href="/x"> --><B>"#, r#"<!-- <a href="/x"> --><b>"#),
            ("<!DOCTYPE html></A ><?p?></>", "<!DOCTYPE html></A ><?p?></>"),
            (
                r#"<script src="/s.js">"<A href='/x'>"</script><a href="/y">"#,
                r#"<script src="/proxy/s.js">"<A href='/x'>"</script><a href="/proxy/y">"#,
            ),
            ("1 < 2 <a", "1 < 2 "),
            (r#"<b><a href="/x"#, "<b>"),
            ("<a =/x href>", r#"<a =="" x="" href="">"#),
        ] {
            assert_eq!(prefixed(page), expected, "{page}");
        }
    }

    proptest! {
        #[test]
        fn text_is_copied(page in "[a-z\"'=/ !>&;-]{0,200}") {
            prop_assert_eq!(prefixed(&page), page);
        }

        // An equals sign can become a part of a key each time.
        #[test]
        fn what_was_written_anew_stays_as_it_is(page in "[<>a-z\"'/ !&;#1-]{0,200}") {
            let once = super::rewrite(page.as_bytes(), |_| None);
            prop_assert_eq!(super::rewrite(&once, |_| None), once);
        }
    }
}

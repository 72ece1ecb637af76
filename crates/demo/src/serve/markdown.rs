//! Markdown as HTML that does nothing but be read: HTML in it is shown as text, and links lead only where they may.

use kubewright_apimachinery::url::unescape_valid;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Where links may lead beside other pages.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// A document as HTML.
pub(super) fn rendered(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut out, safe(text));
    out
}

/// The summary as HTML, in which the link to one page says that it is the current one.
pub(super) fn contents(summary: &str, current: &str) -> String {
    let mut is_current = false;
    let events = safe(summary).map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) if is_link_to(&dest_url, current) => {
            is_current = true;
            let link = format!("<a href=\"{}\" aria-current=\"page\">", escaped(&dest_url));
            Event::InlineHtml(link.into())
        }
        Event::End(TagEnd::Link) if std::mem::take(&mut is_current) => Event::InlineHtml("</a>".into()),
        event => event,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// Where the links of a document lead, in order.
pub(super) fn links(text: &str) -> Vec<String> {
    let links = Parser::new_ext(text, options()).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    });
    links.collect()
}

/// The text of the first heading.
pub(super) fn title(text: &str) -> Option<String> {
    let mut events = Parser::new_ext(text, options());
    events.find(|event| matches!(event, Event::Start(Tag::Heading { .. })))?;
    let inside = events.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let words = inside.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.into_string()),
        Event::SoftBreak => Some(" ".to_owned()),
        _ => None,
    });
    Some(words.collect::<String>()).filter(|title| !title.is_empty())
}

/// Text as it stands in HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES
}

fn safe(text: &str) -> impl Iterator<Item = Event<'_>> {
    Parser::new_ext(text, options()).map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Link {
            link_type,
            dest_url: target(&dest_url),
            title,
            id,
        }),
        Event::Start(Tag::Image {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Image {
            link_type,
            dest_url: target(&dest_url),
            title,
            id,
        }),
        event => event,
    })
}

/// Where a link leads: to a page where it names a document, and nowhere if it is not known to be harmless.
fn target<'a>(link: &str) -> CowStr<'a> {
    // Browsers overlook these, also in the middle of a scheme.
    let link: String = link.chars().filter(|letter| !letter.is_control()).collect();
    let link = link.trim();
    let end = link.find([':', '/', '?', '#', '\\']);
    let scheme = end.filter(|end| link[*end..].starts_with(':')).map(|end| &link[..end]);
    if let Some(scheme) = scheme {
        let is_known = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
        return if is_known { link.to_owned().into() } else { "#".into() };
    }
    let (path, fragment) = link
        .split_once('#')
        .map_or((link, None), |(path, rest)| (path, Some(rest)));
    let path = match path.strip_suffix(".md") {
        Some(stem) => format!("{stem}.html"),
        None => path.to_owned(),
    };
    match fragment {
        Some(fragment) => format!("{path}#{fragment}").into(),
        None => path.into(),
    }
}

/// Whether a link leads to the page of a document.
fn is_link_to(link: &str, document: &str) -> bool {
    let stem = document.strip_suffix(".md").unwrap_or(document);
    let page = link.trim_start_matches("./").split('#').next().unwrap_or_default();
    unescape_valid(page).strip_suffix(".html") == Some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_in_a_document_is_shown_and_does_nothing() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<div\nonclick=\"x()\">\n\nhi\n\n</div>",
            "<!-- --><svg/onload=x>",
        ] {
            let html = rendered(text);
            for tag in ["<script", "<img", "<div", "<svg", "<!--"] {
                assert!(!html.contains(tag), "{text:?} became {html:?}");
            }
        }
        assert!(rendered("<b>bold</b>").contains("&lt;b&gt;bold&lt;/b&gt;"));
    }

    #[test]
    fn links_lead_only_where_they_may() {
        let leads = |link: &str| target(link).into_string();
        for escaped_control_characters in [
            "https://example.com/a.md",
            "mailto:a@b.ch",
            "HTTP://x",
            "//host/x",
            "#part",
            "?a:b",
        ] {
            assert_eq!(leads(escaped_control_characters), escaped_control_characters);
        }
        for harmful in [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            " java\nscript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
        ] {
            assert_eq!(leads(harmful), "#", "{harmful:?}");
        }
        let html = rendered("[x](java&#10;script:alert(1)) ![p](data:image/svg+xml,x) <javascript:alert(1)>");
        assert_eq!(html.matches("=\"#\"").count(), 3, "{html}");
        assert_eq!(rendered("[\"](\"><i>)"), "<p><a href=\"%22%3E%3Ci%3E\">\"</a></p>\n");
    }

    #[test]
    fn a_link_to_a_document_leads_to_its_page() {
        assert_eq!(target("page1.md").into_string(), "page1.html");
        assert_eq!(target("./a.md#part").into_string(), "./a.html#part");
        assert_eq!(target("notes.mdx").into_string(), "notes.mdx");
    }

    #[test]
    fn the_summary_says_which_page_is_open() {
        let html = contents("- [One](a.md)\n- [Two](b.md)", "b.md");
        assert!(html.contains("<a href=\"a.html\">One</a>"), "{html}");
        assert!(
            html.contains("<a href=\"b.html\" aria-current=\"page\">Two</a>"),
            "{html}"
        );
    }

    #[test]
    fn a_title_is_the_first_heading() {
        assert_eq!(
            title("text\n\n## The *first* `one`\n\n# Second").as_deref(),
            Some("The first one")
        );
        assert_eq!(title("none"), None);
    }
}

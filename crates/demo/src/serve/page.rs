//! The pages themselves: a list of the views, a document beside the contents of its book, and a few words where there is none.

use std::fmt::Write as _;

use kubewright_apimachinery::url::path_escape;

use super::markdown::{contents, escaped, rendered, title};
use super::views::{SUMMARY, ViewDocuments, ViewSummary};

/// A document of a book.
pub(super) fn document(book: &ViewDocuments, file: &str, text: &str) -> String {
    let heading = title(text).unwrap_or_else(|| file.to_owned());
    let summary = book.documents.get(SUMMARY).map(String::as_str).unwrap_or_default();
    let viewers = match book.ready {
        1 => "1 viewer Pod".to_owned(),
        count => format!("{count} viewer Pods"),
    };
    let body = format!(
        "<header><a href=\"/\">Views</a> <span>/</span> {} <span>/</span> <a href=\"./\">{}</a></header>\n\
         <div class=\"book\">\n<nav aria-label=\"Contents\">\n{}</nav>\n<main>\n{}</main>\n</div>\n\
         <footer>{viewers} of {}</footer>\n",
        escaped(&book.namespace),
        escaped(&book.name),
        contents(summary, file),
        rendered(text),
        escaped(&book.image),
    );
    whole(&format!("{heading} · {}", book.name), &body)
}

/// The views there are.
pub(super) fn index(views: &[ViewSummary]) -> String {
    let mut rows = String::new();
    for view in views {
        let link = format!("/{}/{}/", path_escape(&view.namespace), path_escape(&view.name));
        let is_ready = if view.ready > 0 { "ready" } else { "waiting" };
        let documents = match view.documents {
            1 => "1 document".to_owned(),
            count => format!("{count} documents"),
        };
        let _ = writeln!(
            rows,
            "<li class=\"{is_ready}\"><a href=\"{link}\"><b>{}</b> <span>{}</span></a> <span>{documents}</span> \
             <span>{} of {} ready</span></li>",
            escaped(&view.name),
            escaped(&view.namespace),
            view.ready,
            view.wanted,
        );
    }
    let list = if rows.is_empty() {
        "<p>There are none. <code>kubectl apply</code> one, and it appears here.</p>\n".to_owned()
    } else {
        format!("<ul class=\"views\">\n{rows}</ul>\n")
    };
    let body = format!(
        "<header>Views</header>\n<main>\n<h1>Markdown views</h1>\n<p>What the viewer Pods of each MarkdownView would \
         serve.</p>\n{list}</main>\n"
    );
    whole("Markdown views", &body)
}

/// A few words.
pub(super) fn plain(heading: &str, words: &str) -> String {
    let body = format!(
        "<header><a href=\"/\">Views</a></header>\n<main>\n<h1>{}</h1>\n<p>{}</p>\n</main>\n",
        escaped(heading),
        escaped(words)
    );
    whole(heading, &body)
}

fn whole(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_name_holds_stays_text() {
        let evil = "<script>\"'&";
        let book = ViewDocuments {
            namespace: evil.to_owned(),
            name: evil.to_owned(),
            documents: [(SUMMARY.to_owned(), evil.to_owned())].into(),
            ready: 1,
            image: evil.to_owned(),
        };
        let view = ViewSummary {
            namespace: evil.to_owned(),
            name: evil.to_owned(),
            documents: 1,
            ready: 0,
            wanted: 1,
        };
        for page in [document(&book, SUMMARY, evil), index(&[view]), plain(evil, evil)] {
            assert!(!page.contains("<script"), "{page}");
        }
    }
}

//! The outcome of an exploration as a page: writes × faults, what was tried and what was not. The page needs nothing from
//! anywhere, and what objects hold is text in it.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use super::class::Class;
use super::outcome_json::Ended;
use super::report;
use super::tried::{Outcome, Tried};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:#1d2433;background:#fff}\
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:13px}\
th,td{border:1px solid #d5dae3;padding:.2rem .5rem;text-align:center;white-space:nowrap}\
th[scope=row]{text-align:left;font-family:ui-monospace,monospace;font-weight:400}\
td.passed{background:#dff3e3}td.different{background:#f9d6d5;font-weight:600}td.unreached{background:#fdf0cf}\
td.no-time,td.not-asked-for{background:#eef0f4;color:#69707f}td.none{background:#fff}\
td.edit{text-align:left;font-family:ui-monospace,monospace;white-space:pre-wrap;word-break:break-word}\
pre{background:#f4f6fa;padding:1rem;overflow-x:auto;font-size:13px}\
@media(prefers-color-scheme:dark){body{color:#e4e7ee;background:#161a22}th,td{border-color:#3a4150}\
td.passed{background:#1f4229}td.different{background:#5e2524}td.unreached{background:#54461d}\
td.no-time,td.not-asked-for{background:#262c38;color:#9aa2b1}td.none{background:#161a22}pre{background:#0f131a}}";

/// A text that stays text in HTML.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // Neither shown nor obeyed: what turns the direction of text, or ends a line unseen.
                other if other.is_control() && other != '\n' => f.write_str("\u{fffd}")?,
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => f.write_str("\u{fffd}")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

impl Ended<'_> {
    /// The whole page.
    pub(super) fn page(&self) -> String {
        let mut page = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        // Whatever came into the page, it loads nothing and runs nothing.
        page.push_str(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        );
        let _ = write!(
            page,
            "<meta name=\"viewport\" content=\"width=device-width\"><title>explore: {name}</title><style>{STYLE}</style></head><body>\
             <h1>explore: {name}</h1><p>{summary}, {seconds:.1} s</p>",
            name = Escaped(self.name),
            summary = Escaped(&self.summary.to_string()),
            seconds = self.took.as_secs_f64(),
        );
        self.findings(&mut page);
        self.grids(&mut page);
        self.edits(&mut page);
        page.push_str("</body></html>\n");
        page
    }

    fn findings(&self, page: &mut String) {
        if self.findings.is_empty() {
            page.push_str("<p>Nothing was found.</p>");
            return;
        }
        let _ = write!(page, "<h2>Differences ({})</h2>", self.findings.len());
        for finding in self.findings {
            let _ = write!(page, "<pre>{}</pre>", Escaped(&report::story(self.search, finding)));
        }
    }

    /// One table for each step: what was disturbed, and how.
    fn grids(&self, page: &mut String) {
        for step in &self.search.step_names {
            let of_step = |tried: &&Tried| tried.plan.step == *step && tried.class() != Class::Edits;
            let tried: Vec<&Tried> = self.search.tried.iter().filter(of_step).collect();
            if tried.is_empty() {
                continue;
            }
            let (mut faults, mut rows) = (Vec::new(), BTreeMap::<String, BTreeMap<String, &Tried>>::new());
            let mut order = Vec::new();
            for each in tried {
                let (place, fault) = (each.place(), each.fault());
                if !faults.contains(&fault) {
                    faults.push(fault.clone());
                }
                if !rows.contains_key(&place) {
                    order.push(place.clone());
                }
                rows.entry(place).or_default().insert(fault, each);
            }
            let _ = write!(
                page,
                "<h2>Step {}</h2><div class=\"scroll\"><table><tr><th></th>",
                Escaped(step)
            );
            for fault in &faults {
                let _ = write!(page, "<th scope=\"col\">{}</th>", Escaped(fault));
            }
            page.push_str("</tr>");
            for place in order {
                let _ = write!(page, "<tr><th scope=\"row\">{}</th>", Escaped(&place));
                for fault in &faults {
                    cell(page, rows[&place].get(fault).copied());
                }
                page.push_str("</tr>");
            }
            page.push_str("</table></div>");
        }
    }

    fn edits(&self, page: &mut String) {
        let edits: Vec<&Tried> = self
            .search
            .tried
            .iter()
            .filter(|tried| tried.class() == Class::Edits)
            .collect();
        if edits.is_empty() {
            return;
        }
        let _ = write!(page, "<h2>Edits ({})</h2><div class=\"scroll\"><table>", edits.len());
        for edit in edits {
            let _ = write!(
                page,
                "<tr><th scope=\"row\">{}</th><td class=\"edit\">{}</td>",
                Escaped(&edit.place()),
                Escaped(&edit.fault())
            );
            cell(page, Some(edit));
            page.push_str("</tr>");
        }
        page.push_str("</table></div>");
    }
}

fn cell(page: &mut String, tried: Option<&Tried>) {
    let Some(tried) = tried else {
        page.push_str("<td class=\"none\"></td>");
        return;
    };
    let (word, plan) = (tried.outcome.word(), tried.plan.to_string());
    let mut title = plan;
    if let Outcome::Different(names) = &tried.outcome {
        title = format!("{title}: {}", names.join(", "));
    }
    let _ = write!(
        page,
        "<td class=\"{}\" title=\"{}\">{word}</td>",
        word.replace(' ', "-"),
        Escaped(&title)
    );
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::compare::Difference;
    use super::super::report::Summary;
    use super::super::search::{Finding, Search};
    use super::super::story_event::{StoryEvent, StoryEventKind};
    use super::*;

    #[test]
    fn hostile_names_and_values_are_text() {
        let hostile = "</pre><script>alert(1)</script>\" onclick='x' \u{202e}\u{7}";
        let plan: super::super::plan::Plan = format!("delete configmaps/{hostile} after step create")
            .parse()
            .unwrap();
        let finding = Finding {
            plan: Some(plan.clone()),
            difference: Difference::new(0, format!("missing configmaps/{hostile}"), vec![hostile.to_owned()]),
            story: vec![StoryEvent::new(0, StoryEventKind::Step, hostile)].into(),
            others: 0,
            parted: None,
        };
        let search = Search {
            step_names: vec!["create".to_owned()],
            tried: vec![Tried {
                plan,
                outcome: Outcome::Different(vec![hostile.to_owned()]),
            }],
            ..Search::default()
        };
        let summary = Summary {
            runs: BTreeMap::from([(Class::World, 1)]),
            unreached: 0,
            skipped: 0,
            untried_pairs: 0,
            beyond: 0,
            unread_rules: 0,
            seed: 0,
            accepted: Vec::new(),
            disappeared: Vec::new(),
        };
        let ended = Ended {
            name: hostile,
            search: &search,
            findings: &[finding],
            summary: &summary,
            took: Duration::from_secs(1),
            report: None,
        };
        let page = ended.page();
        assert!(!page.contains("<script"), "{page}");
        assert!(!page.contains("onclick='x'"), "{page}");
        assert!(!page.contains(['\u{202e}', '\u{7}']), "{page}");
        for needed in ["http://", "https://", "src=", "href=", "url(", "@import"] {
            assert!(!page.contains(needed), "{needed} in {page}");
        }
        assert!(page.contains("default-src 'none'"), "{page}");
        assert!(page.contains("<td class=\"different\""), "{page}");
    }
}

//! The picture: all lines one below the other behind a window, which moves down over them as they came.
//! Two lists of steps are the whole animation, so that the picture stays small; without animation it shows its beginning.

use std::fmt::Write as _;
use std::time::Duration;

use super::recording::{COLUMNS, Line};

const ROWS: usize = 30;
const FONT: f64 = 13.0;
/// Wide as the usual monospaced fonts are, of their size.
const COLUMN: f64 = FONT * 0.602;
const ROW: f64 = 18.0;
const MARGIN: f64 = 16.0;
const BAR: f64 = 34.0;
/// How long the end stays before it begins again.
const HOLD: Duration = Duration::from_secs(6);
/// Lines that come closer after one another than this come together.
const TOGETHER: Duration = Duration::from_millis(15);
/// The part that a picture without animation shows begins with this chapter.
const STILL: &str = "Create a MarkdownView";

/// The styles of the demo, by their codes.
const STYLES: [(&str, &str, &str); 9] = [
    ("1", "b", "font-weight:600;fill:#f4f5f7"),
    ("1;36", "n", "font-weight:600;fill:#56b6c2"),
    ("1;33", "c", "font-weight:600;fill:#e5c07b"),
    ("32", "g", "fill:#98c379"),
    ("31", "r", "fill:#e8747c"),
    ("33", "y", "fill:#e5c07b"),
    ("35", "m", "fill:#c99ae0"),
    ("90", "f", "fill:#7f8896"),
    ("36", "k", "fill:#7cc4d4"),
];

/// How far the story is at a moment: so many lines are there.
struct Keyframe {
    at: Duration,
    lines: usize,
}

/// The recording as a picture.
pub(super) fn drawn(lines: &[Line]) -> String {
    let width = COLUMN * COLUMNS as f64 + 2.0 * MARGIN;
    let height = ROW * ROWS as f64 + BAR + 2.0 * MARGIN;
    let steps = steps(lines);
    let whole = lines.last().map_or(Duration::ZERO, |line| line.at) + HOLD;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"A terminal in which kubewright demo runs\">\n<style>\n"
    );
    text.push_str(&style(&steps, whole, still(lines)));
    let _ = write!(
        text,
        "</style>\n<clipPath id=\"w\"><rect x=\"0\" y=\"{BAR}\" width=\"{width:.0}\" height=\"{:.0}\"/></clipPath>\n\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"10\" fill=\"#1b1f26\"/>\n",
        MARGIN + ROW * ROWS as f64
    );
    for (at, colour) in ["#e8747c", "#e5c07b", "#98c379"].iter().enumerate() {
        let x = 22 + 20 * at;
        let _ = writeln!(text, "<circle cx=\"{x}\" cy=\"19\" r=\"6\" fill=\"{colour}\"/>");
    }
    text.push_str("<g clip-path=\"url(#w)\">\n<g class=\"page\">\n");
    for (row, line) in lines.iter().enumerate() {
        text.push_str(&row_of(row, line));
    }
    let cover_top = BAR + MARGIN - 2.0;
    let _ = write!(
        text,
        "</g>\n<rect class=\"cover\" x=\"2\" y=\"{cover_top}\" width=\"{:.0}\" height=\"{height:.0}\" fill=\"#1b1f26\"/>\n</g>\n</svg>\n",
        width - 4.0
    );
    text
}

fn row_of(row: usize, line: &Line) -> String {
    if line.pieces.is_empty() {
        return String::new();
    }
    let baseline = BAR + MARGIN + ROW * row as f64 + FONT;
    let mut text = format!("<text y=\"{baseline:.0}\">");
    for piece in &line.pieces {
        let x = MARGIN + COLUMN * piece.column as f64;
        let class = STYLES.iter().find(|(code, ..)| *code == piece.style);
        let class = class.map_or_else(String::new, |(_, class, _)| format!(" class=\"{class}\""));
        let _ = write!(text, "<tspan x=\"{x:.1}\"{class}>{}</tspan>", escaped(&piece.text));
    }
    text.push_str("</text>\n");
    text
}

fn style(steps: &[Keyframe], whole: Duration, still: usize) -> String {
    let mut text = format!(
        "text{{font:{FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:#c8ced8;white-space:pre}}\n"
    );
    for (_, class, rules) in STYLES {
        let _ = writeln!(text, ".{class}{{{rules}}}");
    }
    let seconds = whole.as_secs_f64();
    let _ = writeln!(
        text,
        ".page{{transform:translateY({:.0}px)}}\n.cover{{transform:translateY({:.0}px)}}\n\
         @media (prefers-reduced-motion:no-preference){{\n\
         .page{{animation:page {seconds:.2}s step-end infinite}}\n.cover{{animation:cover {seconds:.2}s step-end infinite}}\n}}",
        -(ROW * still as f64),
        ROW * ROWS as f64,
    );
    let (mut page, mut cover) = (String::new(), String::new());
    let mut scrolled = None;
    for step in steps {
        let percent = 100.0 * step.at.as_secs_f64() / seconds;
        let up = step.lines.saturating_sub(ROWS);
        if scrolled != Some(up) {
            let _ = write!(
                page,
                "{percent:.2}%{{transform:translateY({:.0}px)}}",
                -(ROW * up as f64)
            );
            scrolled = Some(up);
        }
        if step.lines <= ROWS {
            let _ = write!(
                cover,
                "{percent:.2}%{{transform:translateY({:.0}px)}}",
                ROW * step.lines as f64
            );
        } else if !cover.ends_with("/**/") {
            let _ = write!(
                cover,
                "{percent:.2}%{{transform:translateY({:.0}px)}}/**/",
                ROW * ROWS as f64
            );
        }
    }
    let _ = writeln!(
        text,
        "@keyframes page{{{page}}}\n@keyframes cover{{{}}}",
        cover.replace("/**/", "")
    );
    text
}

/// When how many lines are there.
fn steps(lines: &[Line]) -> Vec<Keyframe> {
    let mut steps: Vec<Keyframe> = Vec::new();
    for (row, line) in lines.iter().enumerate() {
        match steps.last_mut() {
            Some(last) if line.at.saturating_sub(last.at) < TOGETHER => last.lines = row + 1,
            _ => steps.push(Keyframe {
                at: line.at,
                lines: row + 1,
            }),
        }
    }
    steps
}

/// The line at which a picture without animation begins.
fn still(lines: &[Line]) -> usize {
    let chapter = lines
        .iter()
        .position(|line| line.pieces.iter().any(|piece| piece.text == STILL));
    chapter.unwrap_or_default().min(lines.len().saturating_sub(ROWS))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::pieces;

    fn line(millis: u64, text: &str) -> Line {
        Line {
            at: Duration::from_millis(millis),
            pieces: pieces(text),
        }
    }

    #[test]
    fn lines_come_when_they_came_and_together_if_at_once() {
        let steps = steps(&[line(0, "a"), line(5, "b"), line(400, "c")]);
        let at: Vec<_> = steps.iter().map(|step| (step.at.as_millis(), step.lines)).collect();
        assert_eq!(at, [(0, 2), (400, 3)]);
    }

    #[test]
    fn a_picture_holds_every_line_and_nothing_that_runs() {
        let picture = drawn(&[line(0, "a <b> & c"), line(90, "\x1b[32m●\x1b[0m ready")]);
        assert!(picture.contains("a &lt;b&gt; &amp; c"), "{picture}");
        assert!(picture.contains("<tspan x=\"16.0\" class=\"g\">●</tspan>"), "{picture}");
        assert!(
            !picture.contains("<script") && picture.matches("http").count() == 1,
            "{picture}"
        );
    }
}

//! Colours and width: what the terminal can show, and what its user wants to see.

use std::io::{self, IsTerminal as _};

/// The width of lines if neither a terminal nor `COLUMNS` says one.
const USUAL: usize = 100;
/// The narrowest and the widest lines.
const LIMITS: std::ops::RangeInclusive<usize> = 60..=120;

/// When there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ColourChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    Always,
    Never,
}

/// What a text means, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Title,
    Number,
    Command,
    Good,
    Bad,
    Change,
    Reconcile,
    Old,
    Faint,
    Kind,
}

/// Colours text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal {
    has_colours: bool,
    pub(super) width: usize,
}

impl Terminal {
    /// The colours and the width of standard output.
    pub(super) fn of_stdout(when: ColourChoice) -> Self {
        let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let has_colours = match when {
            ColourChoice::Always => true,
            ColourChoice::Never => false,
            ColourChoice::Auto => io::stdout().is_terminal() && !is_unwanted && !is_dumb,
        };
        Terminal {
            has_colours,
            width: columns().unwrap_or(USUAL).clamp(*LIMITS.start(), *LIMITS.end()),
        }
    }

    /// Without colours.
    #[cfg(test)]
    pub(super) fn plain(width: usize) -> Self {
        Terminal {
            has_colours: false,
            width,
        }
    }

    pub(super) fn coloured(self, tone: Tone, text: &str) -> String {
        if !self.has_colours || text.trim().is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Title => "1",
            Tone::Number => "1;36",
            Tone::Command => "1;33",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Change | Tone::Old => "33",
            Tone::Reconcile => "35",
            Tone::Faint => "90",
            Tone::Kind => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// How wide the terminal is.
fn columns() -> Option<usize> {
    #[cfg(unix)]
    if io::stdout().is_terminal()
        && let Ok(size) = rustix::termios::tcgetwinsize(io::stdout())
        && size.ws_col > 0
    {
        return Some(size.ws_col.into());
    }
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// Wraps a text into lines of at most `width` characters. A longer word is split.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        for (at, piece) in pieces(word, width).into_iter().enumerate() {
            let is_full = line.chars().count() + 1 + piece.chars().count() > width;
            if !line.is_empty() && (at > 0 || is_full) {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(piece);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Splits a word into pieces of at most `width` characters, behind a separator of names and paths if there is one.
fn pieces(word: &str, width: usize) -> Vec<&str> {
    let width = width.max(1);
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some((end, _)) = rest.char_indices().nth(width) {
        let at = rest[..end].rfind(['/', '-', ',', '.']).map_or(end, |at| at + 1);
        let (piece, more) = rest.split_at(at);
        pieces.push(piece);
        rest = more;
    }
    pieces.push(rest);
    pieces
}

/// Escapes the characters that a terminal would obey or that cannot be seen, as `\u{1b}`.
pub(super) fn escaped_control_characters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => shown.push(' '),
            letter if letter.is_control() || is_invisible(letter) => shown.extend(letter.escape_unicode()),
            letter => shown.push(letter),
        }
    }
    shown
}

/// Whether a character only changes how others look, such as the direction in which they are read.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A name of at most `width` characters: of a longer one its end, which tells it from others.
pub(super) fn shortened(name: &str, width: usize) -> String {
    let count = name.chars().count();
    if count <= width {
        return name.to_owned();
    }
    let end: String = name.chars().skip(count + 1 - width.max(1)).collect();
    format!("…{end}")
}

/// A text padded with spaces.
pub(super) fn padded(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_longer_than_asked_for() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(
            wrapped("an incomprehensible word", 6),
            ["an", "incomp", "rehens", "ible", "word"]
        );
        assert_eq!(
            wrapped("as demo-system/demo-manager now", 14),
            ["as", "demo-system/", "demo-manager", "now"]
        );
        assert_eq!(wrapped("für", 0), ["f", "ü", "r"]);
        assert!(wrapped(" ", 5).is_empty());
    }

    #[test]
    fn of_a_long_name_the_end_is_kept() {
        assert_eq!(shortened("viewer-5d8f-x2k9p", 8), "…f-x2k9p");
        assert_eq!(shortened("viewer", 6), "viewer");
        assert_eq!(shortened("überraschung", 3), "…ng");
        assert_eq!(shortened("abc", 0), "…");
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        assert_eq!(
            escaped_control_characters("a\u{1b}]0;title\u{7}\u{1b}[31mred\u{9b}2J"),
            r"a\u{1b}]0;title\u{7}\u{1b}[31mred\u{9b}2J"
        );
        assert_eq!(
            escaped_control_characters("exe.\u{202e}txt\u{7f}"),
            r"exe.\u{202e}txt\u{7f}"
        );
        assert_eq!(
            escaped_control_characters("two\r\nlines\tof \\ \"Grüße\" 日本 → 🎉"),
            "two  lines of \\ \"Grüße\" 日本 → 🎉"
        );
    }

    #[test]
    fn without_colours_text_is_left_alone() {
        let plain = Terminal::plain(80);
        let colourful = Terminal {
            has_colours: true,
            ..plain
        };
        assert_eq!(plain.coloured(Tone::Bad, "no"), "no");
        assert_eq!(colourful.coloured(Tone::Bad, "no"), "\x1b[31mno\x1b[0m");
        assert_eq!(colourful.coloured(Tone::Bad, "  "), "  ");
    }
}

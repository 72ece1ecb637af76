//! Colours, for terminals only.

use std::io::IsTerminal;

/// Colours text, or leaves it as it is.
#[derive(Clone, Copy)]
pub(crate) struct Colours {
    on: bool,
}

impl Colours {
    /// Colours on a terminal, unless `NO_COLOR` is set.
    pub(crate) fn of(stream: &impl IsTerminal) -> Colours {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Colours {
            on: stream.is_terminal() && !unwanted && !dumb,
        }
    }

    /// Whether they are wanted.
    pub(crate) fn are_on(self) -> bool {
        self.on
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    /// The mistakes of an expression as CEL prints them, the word and the caret in colour.
    pub(crate) fn issues(self, text: &str) -> String {
        let line = |line: &str| {
            if let Some(rest) = line.strip_prefix("ERROR:") {
                return format!("{}{rest}", self.bad("ERROR:"));
            }
            match line.strip_prefix(" | ") {
                Some(caret) if is_caret_line(caret) => format!(" | {}", self.bad(caret)),
                _ => line.to_owned(),
            }
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Dots and a caret, narrow or wide.
fn is_caret_line(text: &str) -> bool {
    let dots = text.trim_start_matches(['.', '\u{ff0e}']);
    matches!(dots, "^" | "\u{ff3e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_and_the_caret_are_coloured() {
        let text = "ERROR: <input>:1:5: undefined field 'x'\n | self.x\n | ....^";
        assert_eq!(Colours { on: false }.issues(text), text);
        assert_eq!(
            Colours { on: true }.issues(text),
            "\x1b[1;31mERROR:\x1b[0m <input>:1:5: undefined field 'x'\n | self.x\n | \x1b[1;31m....^\x1b[0m"
        );
    }
}

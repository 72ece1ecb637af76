//! What the compiler says, by the messages of cargo: shown as it comes, and its errors kept.

use std::io::Write;

use serde_json::Value;

/// More of the errors is not kept.
const MOST: usize = 64 << 10;

/// What the compiler said so far.
pub(super) struct Diagnostics {
    has_colours: bool,
    errors: String,
}

impl Diagnostics {
    pub(super) fn new(has_colours: bool) -> Self {
        Diagnostics {
            has_colours,
            errors: String::new(),
        }
    }

    /// The form of messages that cargo is asked for.
    pub(super) fn message_format(&self) -> &'static str {
        if self.has_colours {
            "--message-format=json-diagnostic-rendered-ansi"
        } else {
            "--message-format=json"
        }
    }

    /// Takes a message of cargo.
    pub(super) fn take(&mut self, message: &Value, output: &mut impl Write) {
        if message["reason"] != "compiler-message" {
            return;
        }
        let said = message["message"]["rendered"].as_str().unwrap_or_default();
        // Nobody may read it any more.
        let _ = output.write_all(said.as_bytes());
        if message["message"]["level"] == "error" && self.errors.len() < MOST {
            self.errors.push_str(&without_colours(said));
        }
    }

    /// The errors, without colours.
    pub(super) fn into_errors(self) -> String {
        self.errors
    }
}

/// Text without the sequences that colour it: `ESC [ … m`.
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(level: &str, rendered: &str) -> Value {
        json!({ "reason": "compiler-message", "message": { "level": level, "rendered": rendered } })
    }

    #[test]
    fn everything_is_shown_and_errors_are_kept_without_colours() {
        let mut diagnostics = Diagnostics::new(true);
        let mut shown = Vec::new();
        for said in [
            message("warning", "warning: unused\n"),
            json!({ "reason": "compiler-artifact" }),
            message(
                "error",
                "\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: cannot find `x` in [m]\n",
            ),
        ] {
            diagnostics.take(&said, &mut shown);
        }
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.starts_with("warning: unused\n\u{1b}[1m"), "{shown}");
        assert_eq!(diagnostics.into_errors(), "error: cannot find `x` in [m]\n");
    }
}

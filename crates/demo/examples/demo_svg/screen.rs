//! A line of a terminal: text, and the colours that were asked for.

/// Text in one colour, and the column it begins in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) column: usize,
    pub(super) text: String,
    /// What stood between `\x1b[` and `m`; empty for none.
    pub(super) style: String,
}

/// The pieces of a line. Spaces at the ends of a piece are left out: its column says where it is.
pub(super) fn pieces(line: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut column, mut style) = (0, String::new());
    let mut rest = line;
    while !rest.is_empty() {
        let (text, after) = match rest.split_once("\x1b[") {
            Some((text, after)) => (text, Some(after)),
            None => (rest, None),
        };
        let begin = text.chars().take_while(|letter| *letter == ' ').count();
        let trimmed = text.trim_matches(' ');
        if !trimmed.is_empty() {
            pieces.push(Piece {
                column: column + begin,
                text: trimmed.to_owned(),
                style: style.clone(),
            });
        }
        column += text.chars().count();
        let Some((code, after)) = after.and_then(|after| after.split_once('m')) else {
            break;
        };
        style = if code == "0" { String::new() } else { code.to_owned() };
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_text_in_colours_at_columns() {
        let piece = |column, text: &str, style: &str| Piece {
            column,
            text: text.to_owned(),
            style: style.to_owned(),
        };
        assert_eq!(
            pieces("  a \x1b[32m ●● \x1b[0m b"),
            [piece(2, "a", ""), piece(5, "●●", "32"), piece(9, "b", "")]
        );
        assert!(pieces("").is_empty());
        assert_eq!(pieces("\x1b[1;36m 3\x1b[0m"), [piece(1, "3", "1;36")]);
        assert_eq!(pieces("cut \x1b[3"), [piece(0, "cut", "")]);
    }
}

//! `email`: one address as Go's mail package reads it (RFC 5322): bare, or in angle brackets behind a name.

use super::net;

/// Whether a text is exactly one address.
pub(super) fn is_address(text: &str) -> bool {
    let mut parser = Parser { rest: text };
    let Some(found) = parser.address(true) else {
        return false;
    };
    parser.skip_comments().is_some() && parser.rest.is_empty() && found == 1
}

struct Parser<'t> {
    rest: &'t str,
}

/// Steps return `None` where the address is wrong.
impl<'t> Parser<'t> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// How many addresses were read: a group has several or none.
    fn address(&mut self, groups: bool) -> Option<usize> {
        self.skip_space();
        if self.rest.is_empty() {
            return None;
        }
        let start = self.rest;
        if self.spec().is_some() {
            self.skip_space();
            if self.rest.starts_with('(') {
                self.named_comment()?;
            }
            return Some(1);
        }
        self.rest = start;
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space();
        if groups && self.take(':') {
            return self.group();
        }
        if !self.take('<') {
            return None;
        }
        self.spec()?;
        self.take('>').then_some(1)
    }

    fn group(&mut self) -> Option<usize> {
        self.skip_space();
        if self.take(';') {
            self.skip_comments()?;
            return Some(0);
        }
        let mut found = 0;
        loop {
            self.skip_space();
            found += self.address(false)?;
            self.skip_comments()?;
            if self.take(';') {
                self.skip_comments()?;
                return Some(found);
            }
            if !self.take(',') {
                return None;
            }
        }
    }

    /// `local@domain`.
    fn spec(&mut self) -> Option<()> {
        self.skip_space();
        if self.rest.starts_with('"') {
            if self.quoted()? == 0 {
                return None;
            }
        } else {
            self.dot_atom()?;
        }
        if !self.take('@') {
            return None;
        }
        self.skip_space();
        if self.rest.starts_with('[') {
            self.domain_literal()
        } else {
            self.dot_atom()
        }
    }

    fn dot_atom(&mut self) -> Option<()> {
        let atom = self.atom()?;
        (!atom.starts_with('.') && !atom.ends_with('.') && !atom.contains("..")).then_some(())
    }

    fn atom(&mut self) -> Option<&'t str> {
        let end = self.rest.find(|c| !is_atom_character(c)).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        self.rest = rest;
        (end > 0).then_some(atom)
    }

    /// The number of characters between the quotes.
    fn quoted(&mut self) -> Option<usize> {
        let mut escaped = false;
        let mut length = 0;
        for (at, c) in self.rest.char_indices().skip(1) {
            if escaped {
                if !is_visible(c) && !is_blank(c) {
                    return None;
                }
                length += 1;
                escaped = false;
            } else if c == '"' {
                self.rest = &self.rest[at + 1..];
                return Some(length);
            } else if c == '\\' {
                escaped = true;
            } else if is_visible(c) || is_blank(c) {
                length += 1;
            } else {
                return None;
            }
        }
        None
    }

    fn domain_literal(&mut self) -> Option<()> {
        let inside = self.rest.strip_prefix('[')?;
        let end = inside.find(']')?;
        let (address, rest) = (&inside[..end], &inside[end + 1..]);
        self.rest = rest;
        net::is_ip(address).then_some(())
    }

    /// A name: words, of which the first must be right. Encoded words join the word behind them.
    fn phrase(&mut self) -> Option<()> {
        let (mut words, mut encoded) = (0, false);
        loop {
            if words > 0 {
                self.skip_comments()?;
            }
            self.skip_space();
            if self.rest.is_empty() {
                return Some(());
            }
            let word = if self.rest.starts_with('"') {
                self.quoted().map(|_| Word::Plain)
            } else {
                self.atom().and_then(Word::read)
            };
            match word {
                Some(Word::Encoded { empty }) => encoded |= !empty,
                Some(Word::Plain) => words += 1,
                None => return (words > 0 || encoded).then_some(()),
            }
        }
    }

    fn named_comment(&mut self) -> Option<()> {
        self.take('(');
        let start = self.rest;
        self.comment()?;
        let comment = &start[..start.len() - self.rest.len()];
        let mut escaped = false;
        let unescaped: String = comment
            .chars()
            .filter(|c| {
                escaped = *c == '\\' && !escaped;
                !escaped
            })
            .collect();
        let unescaped = unescaped.strip_suffix(')').unwrap_or(&unescaped);
        let is_good = unescaped.split([' ', '\t']).all(|word| Word::read(word).is_some());
        is_good.then_some(())
    }

    fn skip_comments(&mut self) -> Option<()> {
        self.skip_space();
        while self.take('(') {
            self.comment()?;
            self.skip_space();
        }
        Some(())
    }

    /// The rest of a comment behind its parenthesis; comments nest.
    fn comment(&mut self) -> Option<()> {
        let mut depth = 1;
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.rest = &self.rest[at + 1..];
                return Some(());
            }
        }
        None
    }
}

fn is_visible(c: char) -> bool {
    c.is_ascii_graphic() || !c.is_ascii()
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn is_atom_character(c: char) -> bool {
    is_visible(c) && !r#"()<>[]:;@\,""#.contains(c)
}

/// A word of a name.
enum Word {
    Plain,
    /// An encoded word (RFC 2047): `=?utf-8?q?caf=C3=A9?=`.
    Encoded {
        empty: bool,
    },
}

impl Word {
    /// `None` if it is encoded in a character set that Go does not read.
    fn read(word: &str) -> Option<Self> {
        let parts = || {
            let inside = word.strip_prefix("=?")?.strip_suffix("?=")?;
            let mut parts = inside.split('?');
            let parts = (parts.next()?, parts.next()?, parts.next()?, parts.next());
            (parts.3.is_none() && word.len() >= 8).then_some(parts)
        };
        let Some((charset, encoding, text, _)) = parts() else {
            return Some(Word::Plain);
        };
        let decodes = match encoding {
            "Q" | "q" => is_quoted_printable(text),
            "B" | "b" => super::codes::is_base64(text) || text.is_empty(),
            _ => false,
        };
        if charset.is_empty() || !decodes {
            return Some(Word::Plain);
        }
        let known = ["utf-8", "iso-8859-1", "us-ascii"];
        known
            .iter()
            .any(|known| known.eq_ignore_ascii_case(charset))
            .then_some(Word::Encoded { empty: text.is_empty() })
    }
}

fn is_quoted_printable(text: &str) -> bool {
    let escapes = text.split('=').skip(1).all(|after| {
        let bytes = after.as_bytes();
        bytes.len() >= 2 && bytes[0].is_ascii_hexdigit() && bytes[1].is_ascii_hexdigit()
    });
    escapes && text.chars().all(|c| c.is_ascii_graphic() || c == ' ' || c == '\t')
}

//! The grammar of templates: text, and actions in braces.

use kubewright_apimachinery::go::quote::code_point;

/// A part of a template or of an action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    List(Vec<Node>),
    Field(String),
    /// `range`, `end`, or a word that no evaluation knows.
    Identifier(String),
    Array(Slice),
    Filter {
        left: Vec<Node>,
        right: Vec<Node>,
        operator: String,
    },
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Wildcard,
    Recursive,
    Union(Vec<Vec<Node>>),
}

/// `[from:to:step]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) from: Option<i64>,
    pub(super) to: Option<i64>,
    /// `to` is not written but follows from a single index.
    pub(super) to_is_derived: bool,
    pub(super) step: Option<i64>,
}

/// Why a template cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The action's closing brace is missing.
    #[error("unclosed action")]
    UnclosedAction,
    /// A character that begins nothing.
    #[error("unrecognized character in action: {}", code_point(*.0))]
    Unrecognized(char),
    /// `....`
    #[error("invalid multiple recursive descent")]
    MultipleRecursion,
    /// A number with too many points, or without digits.
    #[error("cannot parse number {0}")]
    Number(String),
    /// A bracket that does not close.
    #[error("unterminated array")]
    UnterminatedArray,
    /// The text in brackets is not an index.
    #[error("invalid array index {0}")]
    Index(String),
    /// `[?(` that does not close.
    #[error("unterminated filter")]
    UnterminatedFilter,
    /// `[?(…)` without its bracket.
    #[error("unclosed array expect ]")]
    UnclosedFilter,
    /// A quotation that does not close.
    #[error("unterminated quoted string")]
    UnterminatedQuote,
    /// A quotation with a broken escape.
    #[error("unquote string {0} error invalid syntax")]
    Quote(String),
}

/// Parses a whole template.
pub(super) fn template(text: &str) -> Result<Vec<Node>, ParseError> {
    let mut nodes = Vec::new();
    let mut scanner = Scanner { text, at: 0 };
    loop {
        let rest = scanner.rest();
        match rest.find('{') {
            None => {
                if !rest.is_empty() {
                    nodes.push(Node::Text(rest.to_owned()));
                }
                return Ok(nodes);
            }
            Some(begin) => {
                if begin > 0 {
                    nodes.push(Node::Text(rest[..begin].to_owned()));
                }
                scanner.at += begin + 1;
                nodes.push(Node::List(scanner.action()?));
            }
        }
    }
}

/// Parses what would stand in braces. Text behind a closing brace in it is lost, as upstream loses it.
fn action(text: &str) -> Result<Vec<Node>, ParseError> {
    match template(&format!("{{{text}}}"))?.into_iter().next() {
        Some(Node::List(nodes)) => Ok(nodes),
        _ => Ok(Vec::new()),
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Skips what is there if it is there.
    fn skip(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// The inside of an action, up to and with its closing brace.
    fn action(&mut self) -> Result<Vec<Node>, ParseError> {
        let mut nodes = Vec::new();
        loop {
            if self.skip("}") {
                return Ok(nodes);
            }
            if self.skip("[?(") {
                nodes.push(self.filter()?);
                continue;
            }
            if self.skip("..") {
                if nodes.last() == Some(&Node::Recursive) {
                    return Err(ParseError::MultipleRecursion);
                }
                nodes.push(Node::Recursive);
                if self.peek().is_some_and(is_alphanumeric) {
                    nodes.push(self.field());
                }
                continue;
            }
            let begin = self.at;
            match self.next() {
                None | Some('\r' | '\n') => return Err(ParseError::UnclosedAction),
                Some(' ' | '@' | '$') => {}
                Some('[') => self.array(&mut nodes)?,
                Some(quote @ ('"' | '\'')) => nodes.push(self.quote(begin, quote)?),
                Some('.') => nodes.push(self.field()),
                Some(first) if first == '+' || first == '-' || is_digit(first) => nodes.push(self.number(begin)?),
                Some(first) if is_alphanumeric(first) => nodes.push(self.identifier(begin)),
                Some(other) => return Err(ParseError::Unrecognized(other)),
            }
        }
    }

    fn identifier(&mut self, begin: usize) -> Node {
        while self.peek().is_some_and(|next| !is_terminator(next)) {
            self.next();
        }
        match &self.text[begin..self.at] {
            "true" => Node::Boolean(true),
            "false" => Node::Boolean(false),
            word => Node::Identifier(word.to_owned()),
        }
    }

    /// A field's name; a backslash takes a terminator into it.
    fn field(&mut self) -> Node {
        let begin = self.at;
        while let Some(next) = self.peek() {
            if next != '\\' && is_terminator(next) {
                break;
            }
            self.next();
            if next == '\\' {
                self.next();
            }
        }
        match &self.text[begin..self.at] {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        }
    }

    fn number(&mut self, begin: usize) -> Result<Node, ParseError> {
        while self.peek().is_some_and(|next| next == '.' || is_digit(next)) {
            self.next();
        }
        let number = &self.text[begin..self.at];
        if let Ok(integer) = number.parse() {
            return Ok(Node::Integer(integer));
        }
        match number.parse::<f64>() {
            Ok(float) if float.is_finite() => Ok(Node::Float(float)),
            _ => Err(ParseError::Number(number.to_owned())),
        }
    }

    /// Behind a bracket: a union, a key, an index or a slice.
    fn array(&mut self, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        let rest = self.rest();
        let end = rest.find([']', '\n']).ok_or(ParseError::UnterminatedArray)?;
        if rest[end..].starts_with('\n') {
            return Err(ParseError::UnterminatedArray);
        }
        self.at += end + 1;
        let inside = match &rest[..end] {
            "*" => ":",
            inside => inside,
        };
        if inside.contains(',') {
            let alternatives = inside
                .split(',')
                .map(|one| action(&format!("[{}]", one.trim_matches(' '))));
            nodes.push(Node::Union(alternatives.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let quoted = inside.strip_prefix('\'').and_then(|inside| inside.strip_suffix('\''));
        if let Some(key) = quoted.filter(|key| !key.contains('\'')) {
            nodes.extend(action(&format!(".{key}"))?);
            return Ok(());
        }
        nodes.push(Node::Array(slice(inside)?));
        Ok(())
    }

    /// Behind `[?(`. Brackets of the expression end at the first `)` outside of its one quotation.
    fn filter(&mut self) -> Result<Node, ParseError> {
        let begin = self.at;
        let mut quote = None;
        let mut closed = false;
        loop {
            let escaped = self.text[..self.at].ends_with('\\');
            match (self.next(), quote) {
                (None | Some('\n'), _) => return Err(ParseError::UnterminatedFilter),
                (Some(mark @ ('"' | '\'')), None) => quote = Some(mark),
                (Some(mark @ ('"' | '\'')), Some(open)) if !escaped && mark == open => closed = true,
                (Some(')'), open) if open.is_some() == closed => break,
                _ => {}
            }
        }
        let expression = &self.text[begin..self.at - 1];
        if self.next() != Some(']') {
            return Err(ParseError::UnclosedFilter);
        }
        let Some((left, operator, right)) = comparison(expression) else {
            return Ok(Node::Filter {
                left: action(expression)?,
                right: Vec::new(),
                operator: "exists".into(),
            });
        };
        Ok(Node::Filter {
            left: action(left)?,
            right: action(right)?,
            operator: operator.to_owned(),
        })
    }

    fn quote(&mut self, begin: usize, mark: char) -> Result<Node, ParseError> {
        loop {
            let escaped = self.text[..self.at].ends_with('\\');
            match self.next() {
                None | Some('\n') => return Err(ParseError::UnterminatedQuote),
                Some(next) if next == mark && !escaped => break,
                Some(_) => {}
            }
        }
        let quoted = &self.text[begin..self.at];
        unquote(&quoted[1..quoted.len() - 1], mark)
            .map(Node::Text)
            .ok_or_else(|| ParseError::Quote(quoted.to_owned()))
    }
}

/// Left side, operator and right side, none of them empty.
fn comparison(expression: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let begin = expression.find(is_operator).filter(|begin| *begin > 0)?;
    let behind = &expression[begin..];
    let mut length = behind.find(|c| !is_operator(c)).unwrap_or(behind.len());
    if length == behind.len() {
        // The right side is what the operator can spare.
        length -= 1;
    }
    (length > 0).then(|| (&expression[..begin], &behind[..length], &behind[length..]))
}

fn slice(inside: &str) -> Result<Slice, ParseError> {
    let wrong = || ParseError::Index(inside.to_owned());
    let mut parts = inside.splitn(4, ':');
    let (from, to, step) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if parts.next().is_some() {
        return Err(wrong());
    }
    let number = |text: &str| match text {
        "" => Ok(None),
        text if text
            .strip_prefix('-')
            .unwrap_or(text)
            .bytes()
            .all(|byte| byte.is_ascii_digit()) =>
        {
            text.parse::<i64>().map(Some).map_err(|_| wrong())
        }
        _ => Err(wrong()),
    };
    let from = number(from)?;
    Ok(Slice {
        from,
        to: match to {
            Some(to) => number(to)?,
            None => Some(from.unwrap_or_default().checked_add(1).ok_or_else(wrong)?),
        },
        to_is_derived: to.is_none(),
        step: step.map_or(Ok(None), number)?,
    })
}

/// Go's escapes. Bytes that are no text together become the replacement character.
fn unquote(inside: &str, mark: char) -> Option<String> {
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.chars();
    while let Some(next) = rest.next() {
        match next {
            next if next == mark => return None,
            '\\' => escape(&mut rest, mark, &mut bytes)?,
            next => push(next, &mut bytes),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn escape(rest: &mut std::str::Chars<'_>, mark: char, bytes: &mut Vec<u8>) -> Option<()> {
    let plain = match rest.next()? {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' => '\\',
        same if same == mark => same,
        'x' => {
            bytes.push(u8::try_from(code(rest, 2, 16, 0)?).ok()?);
            return Some(());
        }
        'u' => char::from_u32(code(rest, 4, 16, 0)?)?,
        'U' => char::from_u32(code(rest, 8, 16, 0)?)?,
        first @ '0'..='7' => {
            let first = first.to_digit(8)?;
            bytes.push(u8::try_from(code(rest, 2, 8, first)?).ok()?);
            return Some(());
        }
        _ => return None,
    };
    push(plain, bytes);
    Some(())
}

/// The number in the next digits, which continue `first`.
fn code(rest: &mut std::str::Chars<'_>, digits: usize, radix: u32, first: u32) -> Option<u32> {
    (0..digits).try_fold(first, |sum, _| {
        sum.checked_mul(radix)?.checked_add(rest.next()?.to_digit(radix)?)
    })
}

fn push(c: char, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn is_terminator(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && c.is_numeric())
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphabetic() || is_digit(c)
}

//! Label selectors: `a=b, c!=d, e in (f,g), h notin (i), j, !k, l>1`.

use kubewright_apimachinery::field::{FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_store::Record;
use serde_json::Value;

/// Requirements that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
}

impl Selector {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, record: &Record) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(record.label(&requirement.key)))
    }

    /// Reads a selector; the error is upstream's sentence.
    pub(crate) fn parse(text: &str) -> Result<Selector, String> {
        Parser {
            tokens: tokens(text),
            at: 0,
        }
        .selector()
    }
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let is_in = |values: &[String]| value.is_some_and(|value| values.iter().any(|wanted| wanted == value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => is_in(values),
            Test::NotIn(values) => !is_in(values),
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::Above(limit) => number().is_some_and(|number| number > *limit),
            Test::Below(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `in` and `notin`, which are words where a value is expected.
    Keyword(&'static str),
    Symbol(&'static str),
    Unknown(String),
    End,
}

impl Token {
    fn literal(&self) -> &str {
        match self {
            Token::Word(text) | Token::Unknown(text) => text,
            Token::Keyword(text) | Token::Symbol(text) => text,
            Token::End => "",
        }
    }

    /// The token where a key or a value may stand.
    fn is_word(&self) -> bool {
        matches!(self, Token::Word(_) | Token::Keyword(_))
    }
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", ",", "(", ")", "<", ">"];

fn tokens(text: &str) -> Vec<Token> {
    let is_symbol = |c: char| "=!(),<>".contains(c);
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    // The scanner upstream ends at a NUL byte.
    while let Some(first) = rest.chars().next().filter(|c| *c != '\0') {
        if is_symbol(first) {
            if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                found.push(Token::Symbol(symbol));
                rest = &rest[symbol.len()..];
            } else {
                found.push(Token::Unknown(format!("error expected: keyword found '{first}'")));
                rest = &rest[first.len_utf8()..];
            }
        } else {
            let end = rest
                .find(|c: char| is_symbol(c) || is_blank(c) || c == '\0')
                .unwrap_or(rest.len());
            found.push(match &rest[..end] {
                "in" => Token::Keyword("in"),
                "notin" => Token::Keyword("notin"),
                word => Token::Word(word.to_owned()),
            });
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches(is_blank);
    }
    found.push(Token::End);
    found
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn selector(mut self) -> Result<Selector, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => break,
                token if token.is_word() || *token == Token::Symbol("!") => {
                    let requirement = self
                        .requirement()
                        .map_err(|error| format!("unable to parse requirement: {error}"))?;
                    requirements.push(requirement);
                    match self.next() {
                        Token::End => break,
                        Token::Symbol(",") => {
                            let next = self.peek();
                            if !next.is_word() && *next != Token::Symbol("!") {
                                return Err(format!("found '{}', expected: identifier after ','", next.literal()));
                            }
                        }
                        other => {
                            return Err(format!("found '{}', expected: ',' or 'end of string'", other.literal()));
                        }
                    }
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.literal()
                    ));
                }
            }
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Selector(requirements))
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.next();
        let negated = token == Token::Symbol("!");
        if negated {
            token = self.next();
        }
        if !token.is_word() {
            return Err(format!("found '{}', expected: identifier", token.literal()));
        }
        let key = token.literal().to_owned();
        let problems = names::qualified_name(&key);
        if !problems.is_empty() {
            // Upstream has no path here, and prints that.
            let error = FieldError::invalid(&PathRef::root("<nil>"), key, problems.join("; "));
            return Err(error.to_string());
        }
        if negated {
            return Ok(Requirement {
                key,
                test: Test::Absent,
            });
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Requirement {
                key,
                test: Test::Exists,
            });
        }
        let operator = self.next();
        let test = match operator {
            Token::Keyword("in") => Test::In(self.value_set()?),
            Token::Keyword(_) => Test::NotIn(self.value_set()?),
            Token::Symbol("=" | "==") => Test::In(vec![self.value()?]),
            Token::Symbol("!=") => Test::NotIn(vec![self.value()?]),
            Token::Symbol(symbol @ ("<" | ">")) => {
                let value = self.value()?;
                let Ok(limit) = value.parse() else {
                    let values = PathRef::root("values");
                    let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                    return Err(FieldError::invalid(&values.index(0), value, detail).to_string());
                };
                if symbol == ">" {
                    Test::Above(limit)
                } else {
                    Test::Below(limit)
                }
            }
            other => {
                return Err(format!(
                    "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                    other.literal()
                ));
            }
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            check_values(&key, values)?;
        }
        Ok(Requirement { key, test })
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(String::new());
        }
        let token = self.next();
        if token.is_word() {
            Ok(token.literal().to_owned())
        } else {
            Err(format!("found '{}', expected: identifier", token.literal()))
        }
    }

    fn value_set(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.literal()));
        }
        let mut values: Vec<String> = Vec::new();
        let first = self.peek().clone();
        if !first.is_word() && !matches!(first, Token::Symbol("," | ")")) {
            return Err(format!("found '{}', expected: ',', ')' or identifier", first.literal()));
        }
        // An empty place between commas or parentheses is the empty value.
        let mut after_value = false;
        loop {
            let token = self.next();
            match &token {
                Token::Symbol(")") => {
                    if !after_value {
                        values.push(String::new());
                    }
                    break;
                }
                Token::Symbol(",") => {
                    if !after_value {
                        values.push(String::new());
                    }
                    after_value = false;
                }
                token if token.is_word() && !after_value => {
                    values.push(token.literal().to_owned());
                    after_value = true;
                }
                other if after_value => {
                    return Err(format!("found '{}', expected: ',' or ')'", other.literal()));
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.literal())),
            }
        }
        values.sort();
        values.dedup();
        Ok(values)
    }
}

fn check_values(key: &str, values: &[String]) -> Result<(), String> {
    let mut errors = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let problems = names::label_value(value);
        if !problems.is_empty() {
            let path = PathRef::root("values");
            let path = path.index(at);
            errors.push(
                FieldError::invalid(&path.key(key), Value::from(value.as_str()), problems.join("; ")).to_string(),
            );
        }
    }
    match errors.len() {
        0 => Ok(()),
        1 => Err(errors.remove(0)),
        _ => Err(format!("[{}]", errors.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let selector = Selector::parse(selector).expect(selector);
        selector
            .0
            .iter()
            .all(|requirement| requirement.matches(labels.iter().find(|l| l.0 == requirement.key).map(|l| l.1)))
    }

    #[test]
    fn every_operator_selects() {
        let labels = [("app", "web"), ("tier", "front"), ("n", "5")];
        for selector in [
            "app=web",
            "app==web,tier!=back",
            "app in (web,db)",
            "app notin (db)",
            "app",
            "!gone",
            "n>4,n<6",
            "x!=y",
        ] {
            assert!(matches(selector, &labels), "{selector}");
        }
        for selector in [
            "app=db",
            "app in (db)",
            "app notin (web)",
            "gone",
            "!app",
            "n>5",
            "in in (in)",
        ] {
            assert!(!matches(selector, &labels), "{selector}");
        }
    }

    #[test]
    fn mistakes_are_told_in_upstreams_words() {
        let told = |selector: &str| Selector::parse(selector).expect_err(selector);
        assert_eq!(told("a=b,"), "found '', expected: identifier after ','");
        assert_eq!(
            told("a b"),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
        );
        assert_eq!(told("(a)"), "found '(', expected: !, identifier, or 'end of string'");
    }

    proptest::proptest! {
        #[test]
        fn no_selector_panics(text in ".*", list in "[a-c=!()<>, in]*") {
            let _ = Selector::parse(&text);
            let _ = Selector::parse(&list);
        }

        #[test]
        fn a_selector_and_its_negation_part_the_objects(key in "[a-z]{1,5}", value in "[a-z]{0,5}", other in "[a-z]{0,5}") {
            let labels = [(key.as_str(), other.as_str())];
            let chosen = matches(&format!("{key} in ({value})"), &labels);
            proptest::prop_assert_eq!(chosen, value == other);
            proptest::prop_assert_ne!(chosen, matches(&format!("{key} notin ({value})"), &labels));
            proptest::prop_assert_eq!(chosen, matches(&format!("{key}={value}"), &labels));
        }
    }
}

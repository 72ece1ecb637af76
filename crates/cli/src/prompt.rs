//! Asks for missing values on a terminal. Without a terminal, a missing value has a default or is an error.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal as _, Write};

/// Asks for what the command line leaves open.
pub(crate) struct Prompt<R, W> {
    input: R,
    output: W,
    is_terminal: bool,
}

impl Prompt<io::StdinLock<'static>, io::Stderr> {
    /// On this process's terminal, if it has one.
    pub(crate) fn system() -> Self {
        Prompt {
            input: io::stdin().lock(),
            output: io::stderr(),
            is_terminal: io::stdin().is_terminal() && io::stderr().is_terminal(),
        }
    }
}

impl<R: BufRead, W: Write> Prompt<R, W> {
    /// The value of a flag: as it was given, else as it is answered, else the default.
    pub(crate) fn text<E: Error + 'static>(
        &mut self,
        flag: &str,
        given: Option<&str>,
        default: Option<&str>,
        check: impl Fn(&str) -> Result<(), E>,
    ) -> Result<String, Box<dyn Error>> {
        if let Some(given) = given {
            check(given)?;
            return Ok(given.to_owned());
        }
        if !self.is_terminal {
            let default = default.ok_or_else(|| format!("--{flag} is missing"))?;
            check(default)?;
            return Ok(default.to_owned());
        }
        let question = flag.replace('-', " ");
        let shown = default.map(|default| format!(" [{default}]")).unwrap_or_default();
        loop {
            let answer = self.ask(&format!("{question}{shown}"))?;
            let answer = match (answer.as_str(), default) {
                ("", Some(default)) => default.to_owned(),
                _ => answer,
            };
            match check(&answer) {
                Ok(()) => return Ok(answer),
                Err(error) => self.say(&error)?,
            }
        }
    }

    /// A switch: as it was given, else as it is answered, else yes.
    pub(crate) fn yes(&mut self, question: &str, given: Option<bool>, default: bool) -> io::Result<bool> {
        if let Some(given) = given {
            return Ok(given);
        }
        if !self.is_terminal {
            return Ok(default);
        }
        loop {
            let choices = if default { "[Y/n]" } else { "[y/N]" };
            let answer = self.ask(&format!("{question} {choices}"))?;
            match answer.to_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.say(&"answer y or n")?,
            }
        }
    }

    /// Whether anybody is asked.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    fn say(&mut self, message: &impl Display) -> io::Result<()> {
        writeln!(self.output, "{message}")
    }

    fn ask(&mut self, question: &str) -> io::Result<String> {
        write!(self.output, "{question}: ")?;
        self.output.flush()?;
        let mut answer = String::new();
        if self.input.read_line(&mut answer)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the question was not answered",
            ));
        }
        Ok(answer.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use kubewright_scaffold::names::check_kind;

    use super::*;

    fn prompt(answers: &str, is_terminal: bool) -> Prompt<&[u8], Vec<u8>> {
        Prompt {
            input: answers.as_bytes(),
            output: Vec::new(),
            is_terminal,
        }
    }

    #[test]
    fn a_bad_answer_is_explained_and_asked_again() {
        let mut prompt = prompt("bar\nBar\n", true);
        assert_eq!(prompt.text("kind", None, None, check_kind).unwrap(), "Bar");
        let said = String::from_utf8(prompt.output).unwrap();
        assert_eq!(said.matches("kind: ").count(), 2);
        assert!(said.contains("upper case"), "{said}");
    }

    #[test]
    fn what_was_given_is_not_asked_and_a_bad_one_refused() {
        assert_eq!(
            prompt("", true).text("kind", Some("Bar"), None, check_kind).unwrap(),
            "Bar"
        );
        assert!(
            prompt("Bar\n", true)
                .text("kind", Some("bar"), None, check_kind)
                .is_err()
        );
        assert!(!prompt("", true).yes("types?", Some(false), true).unwrap());
    }

    #[test]
    fn without_a_terminal_nobody_is_asked() {
        let error = prompt("Bar\n", false).text("kind", None, None, check_kind).unwrap_err();
        assert_eq!(error.to_string(), "--kind is missing");
        assert_eq!(
            prompt("x\n", false)
                .text("kind", None, Some("Foo"), check_kind)
                .unwrap(),
            "Foo"
        );
        assert!(prompt("n\n", false).yes("types?", None, true).unwrap());
    }

    #[test]
    fn questions_have_defaults_and_an_end() {
        assert_eq!(
            prompt("\n", true).text("kind", None, Some("Foo"), check_kind).unwrap(),
            "Foo"
        );
        assert!(prompt("\n", true).yes("types?", None, true).unwrap());
        assert!(!prompt("maybe\nNo\n", true).yes("types?", None, true).unwrap());
        assert!(prompt("", true).yes("types?", None, true).is_err());
        assert!(prompt("", true).text("kind", None, None, check_kind).is_err());
    }
}

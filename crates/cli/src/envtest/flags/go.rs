//! Command lines by the rules of Go's package `flag`: one or two dashes, and nothing behind the first argument that is no flag.

use kubewright_apimachinery::go::quote;

use super::{Given, Table, value};

pub(super) fn parse(table: &Table, arguments: &[String]) -> Result<Given, String> {
    let mut given = Given::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some(text) = argument.strip_prefix('-').filter(|text| !text.is_empty()) else {
            given.arguments.push(argument.clone());
            break;
        };
        let text = text.strip_prefix('-').unwrap_or(text);
        if text.is_empty() {
            break;
        }
        if text.starts_with(['-', '=']) {
            return Err(format!("bad flag syntax: {argument}"));
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let flag = table
            .get(name)
            .ok_or_else(|| format!("flag provided but not defined: -{name}"))?;
        let is_switch = flag.kind == "bool";
        let value = match value {
            Some(value) => value,
            None if is_switch => "true",
            None => rest.next().ok_or_else(|| format!("flag needs an argument: -{name}"))?,
        };
        if is_switch && value::boolean(value).is_err() {
            return Err(format!(
                "invalid boolean value {} for -{name}: parse error",
                quote(value)
            ));
        }
        given.set(flag, value);
    }
    given.arguments.extend(rest.cloned());
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: &str =
        "flag\tname\t\tstring\tmember\tdefault\t\tfalse\nflag\tunsafe-no-fsync\t\tbool\tunsafe\tfalse\ttrue\tfalse\n";

    fn parse(arguments: &[&str]) -> Result<Given, String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        super::parse(&Table::read(FACTS), &arguments)
    }

    #[test]
    fn flags_have_one_dash_or_two() {
        for arguments in [["--name=a", "--unsafe-no-fsync"], ["-name=a", "-unsafe-no-fsync=1"]] {
            let given = parse(&arguments).unwrap();
            assert_eq!(given.last("name"), Some("a"));
            assert!(given.is_on("unsafe-no-fsync", false));
        }
        let given = parse(&["--name", "a", "gateway", "--name=b"]).unwrap();
        assert_eq!((given.last("name"), given.arguments.len()), (Some("a"), 2));
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_the_package() {
        for (argument, words) in [
            ("--nosuch", "flag provided but not defined: -nosuch"),
            ("--name", "flag needs an argument: -name"),
            ("--=x", "bad flag syntax: --=x"),
            (
                "--unsafe-no-fsync=2",
                "invalid boolean value \"2\" for -unsafe-no-fsync: parse error",
            ),
        ] {
            assert_eq!(parse(&[argument]).unwrap_err(), words);
        }
    }
}

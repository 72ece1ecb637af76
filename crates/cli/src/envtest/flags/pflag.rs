//! Command lines by the rules of github.com/spf13/pflag, as Kubernetes' programs set it up: `_` in a name is `-`.

use kubewright_apimachinery::go::quote;

use super::{Flag, Given, Table, value};

pub(super) fn parse(table: &Table, arguments: &[String]) -> Result<Given, String> {
    let mut given = Given::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if let Some(long) = argument.strip_prefix("--") {
            if long.is_empty() {
                given.arguments.extend(rest.cloned());
                break;
            }
            read_long(table, argument, long, &mut rest, &mut given)?;
        } else if let Some(short) = argument.strip_prefix('-').filter(|short| !short.is_empty()) {
            read_short(table, short, &mut rest, &mut given)?;
        } else {
            given.arguments.push(argument.clone());
        }
    }
    Ok(given)
}

type Rest<'a> = std::slice::Iter<'a, String>;

/// `--name`, `--name=value` or `--name value`.
fn read_long(table: &Table, whole: &str, long: &str, rest: &mut Rest<'_>, given: &mut Given) -> Result<(), String> {
    if long.starts_with(['-', '=']) {
        return Err(format!("bad flag syntax: {whole}"));
    }
    let (name, value) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let flag = table
        .get(&name.replace('_', "-"))
        .ok_or_else(|| format!("unknown flag: --{name}"))?;
    let value = match value {
        Some(value) => value,
        None if !flag.implied.is_empty() => flag.implied,
        None => rest.next().ok_or_else(|| format!("flag needs an argument: --{name}"))?,
    };
    set(flag, value, given)
}

/// `-v`, `-v3`, `-v=3` or `-v 3`; letters of flags without values stand together.
fn read_short(table: &Table, letters: &str, rest: &mut Rest<'_>, given: &mut Given) -> Result<(), String> {
    let mut left = letters;
    while let Some(letter) = left.chars().next() {
        let flag = table
            .flags()
            .iter()
            .find(|flag| flag.shorthand.chars().eq([letter]))
            .ok_or_else(|| format!("unknown shorthand flag: {letter:?} in -{left}"))?;
        let after = &left[letter.len_utf8()..];
        if let Some(value) = after.strip_prefix('=').filter(|_| left.len() > 2) {
            return set(flag, value, given);
        }
        if !flag.implied.is_empty() {
            set(flag, flag.implied, given)?;
            left = after;
            continue;
        }
        if !after.is_empty() {
            return set(flag, after, given);
        }
        let value = rest
            .next()
            .ok_or_else(|| format!("flag needs an argument: {letter:?} in -{left}"))?;
        return set(flag, value, given);
    }
    Ok(())
}

fn set(flag: &Flag, value: &str, given: &mut Given) -> Result<(), String> {
    value::check(flag.kind, value).map_err(|why| {
        let name = match flag.shorthand {
            "" => format!("--{}", flag.name),
            shorthand => format!("-{shorthand}, --{}", flag.name),
        };
        format!("invalid argument {} for {} flag: {why}", quote(value), quote(&name))
    })?;
    given.set(flag, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: &str = "flag\tv\tv\tLevel\tlogs\t0\t\tfalse\n\
                         flag\thelp\th\tbool\tglobal\tfalse\ttrue\tfalse\n\
                         flag\tprofiling\t\tbool\tfeatures\ttrue\ttrue\tfalse\n\
                         flag\tsecure-port\t\tint\tserving\t6443\t\tfalse\n\
                         flag\tetcd-servers\t\tstringSlice\tetcd\t[]\t\tfalse\n\
                         flag\tservice-account-issuer\t\tstringArray\tauth\t[]\t\tfalse\n\
                         flag\tfeature-gates\t\tmapStringBool\tgeneric\t\t\tfalse\n";

    fn parse(arguments: &[&str]) -> Result<Given, String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        super::parse(&Table::read(FACTS), &arguments)
    }

    #[test]
    fn values_stand_behind_an_equals_sign_or_a_blank() {
        for arguments in [["--secure-port=1", "-v=2"], ["--secure_port=1", "-v2"]] {
            let given = parse(&arguments).unwrap();
            assert_eq!((given.last("secure-port"), given.last("v")), (Some("1"), Some("2")));
        }
        let given = parse(&["--secure-port", "1", "-v", "2", "--", "--profiling"]).unwrap();
        assert_eq!((given.last("secure-port"), given.last("v")), (Some("1"), Some("2")));
        assert_eq!(given.arguments, ["--profiling"]);
    }

    #[test]
    fn switches_need_no_value_and_do_not_take_the_next_argument() {
        let given = parse(&["--profiling", "false", "-h"]).unwrap();
        assert_eq!(
            (given.last("profiling"), given.last("help")),
            (Some("true"), Some("true"))
        );
        assert_eq!(given.arguments, ["false"]);
        assert!(!parse(&["--profiling=F"]).unwrap().is_on("profiling", true));
    }

    #[test]
    fn lists_are_joined_and_arrays_keep_their_commas() {
        let given = parse(&[
            "--etcd-servers=a,b",
            "--etcd-servers",
            "\"c,d\"",
            "--service-account-issuer=x,y",
        ])
        .unwrap();
        assert_eq!(given.items("etcd-servers"), ["a", "b", "c,d"]);
        assert_eq!(given.all("service-account-issuer"), ["x,y"]);
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_the_package() {
        for (arguments, words) in [
            (&["--nosuch"][..], "unknown flag: --nosuch"),
            (&["--no-such=1"], "unknown flag: --no-such"),
            (&["-x"], "unknown shorthand flag: 'x' in -x"),
            (&["-hx"], "unknown shorthand flag: 'x' in -x"),
            (&["--secure-port"], "flag needs an argument: --secure-port"),
            (&["-v"], "flag needs an argument: 'v' in -v"),
            (&["--=x"], "bad flag syntax: --=x"),
            (&["---x"], "bad flag syntax: ---x"),
            (
                &["--secure-port=abc"],
                "invalid argument \"abc\" for \"--secure-port\" flag: strconv.ParseInt: parsing \"abc\": invalid syntax",
            ),
            (
                &["--profiling=maybe"],
                "invalid argument \"maybe\" for \"--profiling\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax",
            ),
            (
                &["-v=x"],
                "invalid argument \"x\" for \"-v, --v\" flag: strconv.ParseUint: parsing \"x\": invalid syntax",
            ),
        ] {
            assert_eq!(parse(arguments).unwrap_err(), words);
        }
    }
}

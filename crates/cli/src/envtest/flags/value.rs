//! Values of flags: whether one is of its type, in Go's words if it is not.

use std::net::IpAddr;

use kubewright_apimachinery::{duration, go::quote};

/// What is wrong with a value of a type. Types that have no rule here take every text.
pub(super) fn check(kind: &str, text: &str) -> Result<(), String> {
    match kind {
        "version" if text == "raw" => Ok(()),
        "bool" | "version" => boolean(text).map(drop),
        "int" | "int64" => number("ParseInt", text, i64::from_str_radix),
        "int32" => number("ParseInt", text, |digits, radix| {
            i32::from_str_radix(digits, radix).map(i64::from)
        }),
        "uint" | "uint64" | "Level" => number("ParseUint", text, u64::from_str_radix),
        "float32" | "float64" => {
            let parsed = text.parse::<f64>();
            let wrong = || format!("strconv.ParseFloat: parsing {}: invalid syntax", quote(text));
            parsed.map(drop).map_err(|_| wrong())
        }
        "duration" => duration::parse(text).map(drop),
        "ip" => match text.trim().parse::<IpAddr>() {
            Ok(_) => Ok(()),
            Err(_) if text.trim().is_empty() => Ok(()),
            Err(_) => Err(format!("failed to parse IP: {}", quote(text))),
        },
        "stringSlice" => list(text).map(drop),
        "mapStringBool" => text.split(',').filter(|pair| !pair.is_empty()).try_for_each(|pair| {
            let (key, value) = pair.split_once('=').ok_or("malformed pair, expect string=bool")?;
            let wrong = |why| format!("invalid value of {}: {}, err: {why}", key.trim(), value.trim());
            boolean(value.trim()).map(drop).map_err(wrong)
        }),
        _ => Ok(()),
    }
}

/// What Go's `ParseBool` takes.
pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {}: invalid syntax", quote(text))),
    }
}

/// A number as Go's `ParseInt` and `ParseUint` read it with base 0.
fn number<N>(
    function: &str,
    text: &str,
    read: impl Fn(&str, u32) -> Result<N, std::num::ParseIntError>,
) -> Result<(), String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixes = [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8)];
    let based = prefixes
        .into_iter()
        .find_map(|(prefix, radix)| Some((digits.strip_prefix(prefix)?, radix)));
    let octal = digits
        .strip_prefix('0')
        .filter(|rest| !rest.is_empty())
        .map(|rest| (rest, 8));
    let (digits, radix) = based.or(octal).unwrap_or((digits, 10));
    let parsed = if digits.starts_with(['+', '-']) {
        read("", radix)
    } else {
        read(&format!("{sign}{digits}"), radix)
    };
    parsed.map(drop).map_err(|error| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let why = if matches!(error.kind(), PosOverflow | NegOverflow) {
            "value out of range"
        } else {
            "invalid syntax"
        };
        format!("strconv.{function}: parsing {}: {why}", quote(text))
    })
}

/// The items of a list: comma-separated values, in quotes where they have commas themselves.
pub(super) fn list(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut items = Vec::new();
    let mut rest = text;
    loop {
        let at = text.len() - rest.len() + 1;
        let (item, after) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted_item(quoted).ok_or_else(|| {
                format!(
                    "parse error on line 1, column {}: extraneous or missing \" in quoted-field",
                    text.len() + 1
                )
            })?
        } else {
            let (item, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
            if let Some(quote) = item.find('"') {
                return Err(format!(
                    "parse error on line 1, column {}: bare \" in non-quoted-field",
                    at + quote
                ));
            }
            (item.to_owned(), after)
        };
        items.push(item);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(items),
            None => {
                let column = text.len() - after.len();
                return Err(format!(
                    "parse error on line 1, column {column}: extraneous or missing \" in quoted-field"
                ));
            }
        }
    }
}

/// An item up to its closing quote, in which two quotes are one; and what follows.
fn quoted_item(text: &str) -> Option<(String, &str)> {
    let mut item = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        item.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                item.push('"');
                rest = after;
            }
            None => return Some((item, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_each_type_are_known() {
        for (kind, good, bad) in [
            ("bool", &["true", "F", "0"][..], &["yes", ""][..]),
            (
                "int",
                &["0", "-5", "0x10", "+7", "010"],
                &["x", "", "1.5", "9223372036854775808", "--1"],
            ),
            ("int32", &["2147483647"], &["2147483648"]),
            ("uint", &["5"], &["-5", "x"]),
            ("float64", &["0.5", "1e3"], &["x"]),
            ("duration", &["1m0s", "0", "-1.5h"], &["5", "x"]),
            ("ip", &["127.0.0.1", "::1", " 10.0.0.1 "], &["localhost", "1.2.3"]),
            ("stringSlice", &["", "a,b", "\"a,b\",c"], &["a\"b", "\"a"]),
            ("mapStringBool", &["", "A=true,B=false"], &["A", "A=x"]),
            ("something", &["whatever"], &[]),
        ] {
            for text in good {
                assert_eq!(check(kind, text), Ok(()), "{kind} {text}");
            }
            for text in bad {
                assert!(check(kind, text).is_err(), "{kind} {text}");
            }
        }
    }

    #[test]
    fn lists_are_split_at_commas_outside_of_quotes() {
        assert_eq!(list("a,,\"b \"\"c\"\",d\"").unwrap(), ["a", "", "b \"c\",d"]);
    }
}

//! The smallest parts of a pattern: escaped characters and counts of repetitions.
//! Every function reads the part at the beginning of a text, and returns it with the rest of the text.

/// `{min}`, `{min,}` or `{min,max}`. A number too large to be read is `None`.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}

/// Reads the counts at the beginning of a text. `None` where the brace is a literal one.
pub(crate) fn counts(text: &str) -> Option<(Counts, &str)> {
    let (min, rest) = number(text.strip_prefix('{')?)?;
    let Some(rest) = rest.strip_prefix(',') else {
        return Some((Counts { min, max: min }, rest.strip_prefix('}')?));
    };
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((Counts { min, max: None }, rest));
    }
    let (max, rest) = number(rest)?;
    // Where the maximum is too large to be read, Go reports both as unreadable.
    let min = min.filter(|_| max.is_some());
    Some((Counts { min, max }, rest.strip_prefix('}')?))
}

fn number(text: &str) -> Option<(Option<u64>, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().ok().filter(|number| *number < 1_000_000_000), rest))
}

/// Reads an escaped character, from its backslash on. The error is the text behind the place where reading stopped.
pub(crate) fn escaped(text: &str) -> Result<(u32, &str), &str> {
    let mut letters = text.chars();
    letters.next();
    let Some(c) = letters.next() else {
        return Err("");
    };
    let mut rest = letters.as_str();
    let octal = |rest: &str| rest.chars().next().and_then(|c| c.to_digit(8));
    let value = match c {
        '0'..='7' if c == '0' || octal(rest).is_some() => {
            let mut value = c.to_digit(8).unwrap_or(0);
            for _ in 1..3 {
                let Some(digit) = octal(rest) else { break };
                value = value * 8 + digit;
                rest = &rest[1..];
            }
            value
        }
        'x' => return hexadecimal(rest),
        'a' => 0x7,
        'f' => 0xc,
        'n' => 0xa,
        'r' => 0xd,
        't' => 0x9,
        'v' => 0xb,
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => c as u32,
        _ => return Err(rest),
    };
    Ok((value, rest))
}

/// Reads the number behind `\x`. The error is the text behind the place where reading stopped.
fn hexadecimal(text: &str) -> Result<(u32, &str), &str> {
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut value: u32 = 0;
        let mut digits = 0;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            if c == '}' {
                return if digits > 0 { Ok((value, rest)) } else { Err(rest) };
            }
            value = match c.to_digit(16) {
                Some(digit) => value * 16 + digit,
                None => return Err(rest),
            };
            if value > char::MAX as u32 {
                return Err(rest);
            }
            digits += 1;
        }
        return Err(rest);
    }
    let mut rest = text;
    let mut value = Some(0);
    for _ in 0..2 {
        let Some(c) = rest.chars().next() else {
            return Err(rest);
        };
        rest = &rest[c.len_utf8()..];
        value = value.and_then(|value: u32| Some(value * 16 + c.to_digit(16)?));
    }
    value.map(|value| (value, rest)).ok_or(rest)
}

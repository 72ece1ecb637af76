//! Cron schedules: five fields or a descriptor, with the complaints of the parser that upstream uses.

use kubewright_schema::field::go_quote;

use super::time_zone;

struct Bounds {
    min: u64,
    max: u64,
    names: &'static [(&'static str, u64)],
}

const BOUNDS: [Bounds; 5] = [
    Bounds {
        min: 0,
        max: 59,
        names: &[],
    },
    Bounds {
        min: 0,
        max: 23,
        names: &[],
    },
    Bounds {
        min: 1,
        max: 31,
        names: &[],
    },
    Bounds {
        min: 1,
        max: 12,
        names: &[
            ("jan", 1),
            ("feb", 2),
            ("mar", 3),
            ("apr", 4),
            ("may", 5),
            ("jun", 6),
            ("jul", 7),
            ("aug", 8),
            ("sep", 9),
            ("oct", 10),
            ("nov", 11),
            ("dec", 12),
        ],
    },
    Bounds {
        min: 0,
        max: 6,
        names: &[
            ("sun", 0),
            ("mon", 1),
            ("tue", 2),
            ("wed", 3),
            ("thu", 4),
            ("fri", 5),
            ("sat", 6),
        ],
    },
];

/// What is wrong with a schedule, if anything.
pub(crate) fn check(schedule: &str) -> Result<(), String> {
    if schedule.is_empty() {
        return Err("empty spec string".to_owned());
    }
    let mut schedule = schedule;
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        let Some((zone, rest)) = schedule.split_once(' ') else {
            // Upstream's parser falls over here and says how.
            return Err("invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned());
        };
        let zone = zone.split_once('=').map_or(zone, |(_, zone)| zone);
        if !time_zone::exists(zone) {
            return Err(format!("provided bad location {zone}: {}", time_zone::refusal(zone)));
        }
        schedule = rest.trim();
    }
    if schedule.starts_with('@') {
        return check_descriptor(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != BOUNDS.len() {
        let count = fields.len();
        return Err(format!(
            "expected exactly 5 fields, found {count}: [{}]",
            fields.join(" ")
        ));
    }
    for (field, bounds) in fields.into_iter().zip(&BOUNDS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            check_range(range, bounds)?;
        }
    }
    Ok(())
}

fn check_descriptor(descriptor: &str) -> Result<(), String> {
    match descriptor {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => Ok(()),
        _ => match descriptor.strip_prefix("@every ") {
            Some(duration) => check_duration(duration)
                .map_err(|problem| format!("failed to parse duration {descriptor}: time: {problem}")),
            None => Err(format!("unrecognized descriptor: {descriptor}")),
        },
    }
}

fn check_range(range: &str, bounds: &Bounds) -> Result<(), String> {
    let mut parts = range.split('/');
    let ends: Vec<&str> = parts.next().unwrap_or_default().split('-').collect();
    let (start, mut end) = if matches!(ends[0], "*" | "?") {
        (bounds.min, bounds.max)
    } else {
        let start = number_or_name(ends[0], bounds)?;
        match ends[..] {
            [_] => (start, start),
            [_, end] => (start, number_or_name(end, bounds)?),
            _ => return Err(format!("too many hyphens: {range}")),
        }
    };
    let step = match (parts.next(), parts.next()) {
        (None, _) => 1,
        (Some(step), None) => {
            let step = number(step)?;
            if ends.len() == 1 {
                end = bounds.max;
            }
            step
        }
        (Some(_), Some(_)) => return Err(format!("too many slashes: {range}")),
    };
    let Bounds { min, max, .. } = bounds;
    if start < *min {
        return Err(format!("beginning of range ({start}) below minimum ({min}): {range}"));
    }
    if end > *max {
        return Err(format!("end of range ({end}) above maximum ({max}): {range}"));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {range}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {range}"));
    }
    Ok(())
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let lower = text.to_lowercase();
    match bounds.names.iter().find(|(name, _)| *name == lower) {
        Some((_, value)) => Ok(*value),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let problem = if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        "invalid syntax"
    } else {
        match text.parse::<i64>() {
            Ok(number) if number < 0 => return Err(format!("negative number ({number}) not allowed: {text}")),
            Ok(number) => return Ok(number.unsigned_abs()),
            Err(_) => "value out of range",
        }
    };
    Err(format!(
        "failed to parse int from {text}: strconv.Atoi: parsing {}: {problem}",
        go_quote(text)
    ))
}

/// A duration as Go writes one, such as `1h30m`.
fn check_duration(text: &str) -> Result<(), String> {
    let invalid = || format!("invalid duration {}", go_quote(text));
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut nanoseconds: u128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let whole = &rest[..digits];
        let mut fraction = "";
        rest = &rest[digits..];
        if let Some(after) = rest.strip_prefix('.') {
            let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            fraction = &after[..digits];
            rest = &after[digits..];
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_end = rest
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(rest.len());
        let unit = &rest[..unit_end];
        rest = &rest[unit_end..];
        let scale: u128 = match unit {
            "" => return Err(format!("missing unit in duration {}", go_quote(text))),
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            other => {
                return Err(format!(
                    "unknown unit {} in duration {}",
                    go_quote(other),
                    go_quote(text)
                ));
            }
        };
        let whole: u128 = if whole.is_empty() {
            0
        } else {
            whole.parse().map_err(|_| invalid())?
        };
        nanoseconds = whole
            .checked_mul(scale)
            .and_then(|more| nanoseconds.checked_add(more))
            .ok_or_else(invalid)?;
        if nanoseconds > 1 << 63 {
            return Err(invalid());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn the_usual_schedules_are_fine() {
        for schedule in [
            "* * * * *",
            "*/5 0-6 1,15 JAN mon",
            "@daily",
            "@every 1h30m",
            "@every -5s",
            "1,,2 * * * *",
            "? * * * ?",
        ] {
            assert_eq!(check(schedule), Ok(()), "{schedule}");
        }
    }

    #[test]
    fn complaints_are_the_parsers_own() {
        for (schedule, complaint) in [
            ("x", "expected exactly 5 fields, found 1: [x]"),
            (
                "a * * * *",
                r#"failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax"#,
            ),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            (
                "99999999999999999999 * * * *",
                r#"failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range"#,
            ),
            ("@foo", "unrecognized descriptor: @foo"),
            (
                "@every 5",
                r#"failed to parse duration @every 5: time: missing unit in duration "5""#,
            ),
            (
                "@every x",
                r#"failed to parse duration @every x: time: invalid duration "x""#,
            ),
            (
                "@every 5x",
                r#"failed to parse duration @every 5x: time: unknown unit "x" in duration "5x""#,
            ),
            (
                "@every ",
                r#"failed to parse duration @every : time: invalid duration """#,
            ),
            ("TZ=Foo * * * * *", "provided bad location Foo: unknown time zone Foo"),
            (
                "TZ=UTC",
                "invalid schedule format: runtime error: slice bounds out of range [:-1]",
            ),
        ] {
            assert_eq!(check(schedule), Err(complaint.to_owned()), "{schedule}");
        }
    }
}

//! The figures of a run, as Markdown tables with ratios.

use std::fmt::Write as _;

use crate::cases::{Cases, Figures, RuleFigures};

/// A table of the rules, what they are, and the time for all of them as one schema.
pub(crate) fn table(cases: &Cases, theirs: Option<&Figures>, ours: &Figures) -> String {
    let mut text = match theirs {
        Some(theirs) => format!("{} against {}\n\n", ours.version, theirs.version),
        None => format!("{}\n\n", ours.version),
    };
    if theirs.is_some() {
        text.push_str("| rule | compile: Kubernetes | ours | evaluate: Kubernetes | cel-go alone | ours | ");
        text.push_str("allocations: Kubernetes | ours |\n|---|---:|---:|---:|---:|---:|---:|---:|");
    } else {
        text.push_str("| rule | compile | evaluate | allocations |\n|---|---:|---:|---:|");
    }
    for (at, rule) in ours.rules.iter().enumerate() {
        text.push('\n');
        text.push_str(&row(rule, theirs.and_then(|theirs| theirs.rules.get(at))));
    }
    text.push_str("\n\n");
    for case in &cases.rules {
        let _ = writeln!(text, "- {}: `{}`", case.name, case.rule);
    }
    let _ = write!(text, "\nall of them as the rules of one schema, with estimates: ");
    match theirs {
        Some(theirs) => {
            let _ = write!(
                text,
                "Kubernetes {}, ours {} ({})",
                time(theirs.schema),
                time(ours.schema),
                ratio(theirs.schema, ours.schema)
            );
        }
        None => text.push_str(&time(ours.schema)),
    }
    text
}

fn row(ours: &RuleFigures, theirs: Option<&RuleFigures>) -> String {
    let Some(theirs) = theirs else {
        let (compile, eval) = (time(ours.compile), time(ours.eval));
        return format!("| {} | {compile} | {eval} | {} |", ours.name, count(ours.allocations));
    };
    let plain = theirs.plain.map_or_else(
        || "–".to_owned(),
        |plain| format!("{} ({})", time(plain), ratio(plain, ours.eval)),
    );
    format!(
        "| {} | {} | {} ({}) | {} | {plain} | {} ({}) | {} | {} |",
        ours.name,
        time(theirs.compile),
        time(ours.compile),
        ratio(theirs.compile, ours.compile),
        time(theirs.eval),
        time(ours.eval),
        ratio(theirs.eval, ours.eval),
        count(theirs.allocations),
        count(ours.allocations),
    )
}

/// Nanoseconds as a reader wants them: three figures and a unit.
fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        long if long >= 1e6 => (long / 1e6, "ms"),
        middle if middle >= 1e3 => (middle / 1e3, "µs"),
        short => (short, "ns"),
    };
    let digits = match value {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

fn ratio(theirs: f64, ours: f64) -> String {
    let ratio = theirs / ours;
    if ratio >= 10.0 {
        format!("**{ratio:.0}×**")
    } else {
        format!("**{ratio:.1}×**")
    }
}

fn count(allocations: f64) -> String {
    format!("{allocations:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_figures() {
        assert_eq!(time(26.04), "26.0 ns");
        assert_eq!(time(147_001.5), "147 µs");
        assert_eq!(time(3_885_639.0), "3.89 ms");
    }

    #[test]
    fn a_ratio_says_how_often_ours_fits_into_theirs() {
        assert_eq!(ratio(300.0, 100.0), "**3.0×**");
        assert_eq!(ratio(10_960.0, 100.0), "**110×**");
    }
}

//! The calls in `operator()`: `create` inserts them before the marker, `delete` removes exactly those.

/// The comment at the end of `operator()`.
pub(crate) const MARKER: &str = "// kubewright:scaffold:operator";

/// How far calls are indented.
pub(crate) const INDENT: usize = 8;

/// The widest line; `rustfmt` writes an only call on the line of what it is called on.
const WIDTH: usize = 100;

/// The file has no marker to insert lines before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoMarker;

/// The text with the calls before the marker; those it has already are left alone.
pub(crate) fn insert(text: &str, calls: &[String]) -> Result<String, NoMarker> {
    let missing: Vec<&String> = calls.iter().filter(|call| find(text, call).is_none()).collect();
    if missing.is_empty() {
        return Ok(text.to_owned());
    }
    let text = &break_first_call(text);
    let line = marker(text).ok_or(NoMarker)?;
    let indent = " ".repeat(INDENT);
    let added: Vec<&str> = missing.iter().flat_map(|call| [&indent, call.as_str(), "\n"]).collect();
    let added = added.concat();
    Ok(join_only_call(&format!("{}{added}{}", &text[..line], &text[line..])))
}

/// Where the line of the marker begins. The last one counts: a string or a comment further up may quote it.
fn marker(text: &str) -> Option<usize> {
    let mut start = 0;
    let starts = text.split_inclusive('\n').map(|line| {
        let at = start;
        start += line.len();
        (at, line)
    });
    starts
        .filter(|(_, line)| line.trim() == MARKER)
        .last()
        .map(|(at, _)| at)
}

/// The text without the call; `None` if it has it not, or more than once.
pub(crate) fn remove(text: &str, call: &str) -> Option<String> {
    let text = &break_first_call(text);
    let (start, end) = find(text, call)?;
    if find(&text[end..], call).is_some() {
        return None;
    }
    let before = text[..start].trim_end_matches([' ', '\t']);
    let after = text[end..].strip_prefix('\n');
    let text = match after {
        Some(after) if before.ends_with('\n') => format!("{before}{after}"),
        _ => format!("{}{}", &text[..start], &text[end..]),
    };
    Some(join_only_call(&text))
}

/// Where the call is, regardless of line breaks.
fn find(text: &str, call: &str) -> Option<(usize, usize)> {
    let wanted: Vec<char> = significant(call).map(|(_, letter)| letter).collect();
    let letters: Vec<(usize, char)> = significant(text).collect();
    let is_there = |window: &&[(usize, char)]| window.iter().map(|(_, letter)| letter).eq(&wanted);
    let found = letters.windows(wanted.len().max(1)).find(is_there)?;
    let (start, end) = (found.first()?.0, found.last()?);
    Some((start, end.0 + end.1.len_utf8()))
}

/// The characters without white space and without a comma after the last argument.
fn significant(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices().filter(move |&(at, letter)| {
        let last_comma = || letter == ',' && text[at + 1..].trim_start().starts_with(')');
        !letter.is_whitespace() && !last_comma()
    })
}

/// Moves a single call to a line of its own: `rustfmt` puts it on the line of `Operator::new`.
fn break_first_call(text: &str) -> String {
    let Some((start, end)) = operator_line(text) else {
        return text.to_owned();
    };
    match text[start..end].find("\").") {
        Some(at) => format!(
            "{}\n{}{}",
            &text[..start + at + 2],
            " ".repeat(INDENT),
            &text[start + at + 2..]
        ),
        None => text.to_owned(),
    }
}

/// Moves a single call to the line of `Operator::new` if it fits there, as `rustfmt` would.
fn join_only_call(text: &str) -> String {
    let Some((start, end)) = operator_line(text) else {
        return text.to_owned();
    };
    let mut rest = text[end..].trim_start_matches('\n').lines();
    let (Some(call), Some(next)) = (rest.next(), rest.next()) else {
        return text.to_owned();
    };
    let width = text[start..end].len() + call.trim().len();
    let only = call.trim_start().starts_with('.') && next.trim() == MARKER;
    if !only || width > WIDTH {
        return text.to_owned();
    }
    let after = end + 1 + call.len();
    format!("{}{}{}", &text[..end], call.trim(), &text[after..])
}

/// The line of `Operator::new`, if there is one.
fn operator_line(text: &str) -> Option<(usize, usize)> {
    let at = text.find("Operator::new(\"")?;
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    Some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str =
        "pub fn operator() -> Operator {\n    Operator::new(\"bar\")\n    // kubewright:scaffold:operator\n}\n";

    fn calls() -> Vec<String> {
        let calls = [
            ".resource::<api::v1::Bar>()",
            ".controller(controllers::bar::BarReconciler::controller())",
        ];
        calls.map(str::to_owned).to_vec()
    }

    #[test]
    fn calls_go_before_the_marker_once_and_out_again() {
        let with = insert(EMPTY, &calls()).unwrap();
        assert_eq!(
            with,
            "pub fn operator() -> Operator {\n    Operator::new(\"bar\")\n        .resource::<api::v1::Bar>()\n        \
             .controller(controllers::bar::BarReconciler::controller())\n    // kubewright:scaffold:operator\n}\n"
        );
        assert_eq!(insert(&with, &calls()).unwrap(), with);
        let without = calls().iter().try_fold(with, |text, call| remove(&text, call));
        assert_eq!(without.unwrap(), EMPTY);
    }

    #[test]
    fn a_short_chain_stays_on_one_line_as_rustfmt_has_it() {
        let one = insert(EMPTY, &calls()[..1]).unwrap();
        assert!(
            one.contains("    Operator::new(\"bar\").resource::<api::v1::Bar>()\n    //"),
            "{one}"
        );
        let two = insert(&one, &calls()).unwrap();
        assert_eq!(two, insert(EMPTY, &calls()).unwrap());
        assert_eq!(remove(&two, &calls()[1]).unwrap(), one);
        assert_eq!(remove(&one, &calls()[0]).unwrap(), EMPTY);
    }

    #[test]
    fn a_call_is_found_however_its_lines_are_broken() {
        let broken = EMPTY.replace(
            "    //",
            "        .controller(\n            controllers::bar::BarReconciler::controller(),\n        )\n    //",
        );
        assert_eq!(insert(&broken, &calls()[1..]).unwrap(), broken);
        assert_eq!(remove(&broken, &calls()[1]).unwrap(), EMPTY);
    }

    #[test]
    fn the_marker_is_a_line_of_its_own_and_the_last_one_counts() {
        let quoted = format!("//! Before `{MARKER}` go calls.\n{MARKER} is the marker\n{MARKER}\n");
        let with = insert(&format!("{quoted}{EMPTY}"), &calls()).unwrap();
        assert_eq!(with, format!("{quoted}{}", insert(EMPTY, &calls()).unwrap()));
        let text = EMPTY.replace(MARKER, &format!("{MARKER} is gone"));
        assert_eq!(insert(&text, &calls()), Err(NoMarker));
    }

    #[test]
    fn without_a_marker_nothing_is_inserted() {
        let text = EMPTY.replace(MARKER, "");
        assert_eq!(insert(&text, &calls()), Err(NoMarker));
        assert_eq!(remove(EMPTY, &calls()[0]), None);
    }
}

//! The rows of each screen.

use std::fmt::Write as _;

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use serde_json::Value;

use super::mirror::ReconcileRow;
use super::screen::{Row, Scope, Screen};
use super::state::State;
use crate::model::Standing;

/// As many reconciles of an object are listed where it is described.
const LAST_RECONCILES: usize = 10;

pub(super) const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
pub(super) const HEAD: Style = Style::new().add_modifier(Modifier::BOLD);

/// The colour of how something stands.
pub(super) fn style(standing: Standing) -> Style {
    match standing {
        Standing::Good => Style::new().fg(Color::Green),
        Standing::Bad => Style::new().fg(Color::Red),
        Standing::Busy => Style::new().fg(Color::Yellow),
        Standing::Neutral => Style::new(),
    }
}

/// How something stands, as the model says it.
fn standing(value: &Value) -> Standing {
    serde_json::from_value(value["standing"].clone()).unwrap_or(Standing::Neutral)
}

/// The rows of what is shown.
pub(super) fn of(state: &State) -> Vec<Row> {
    let view = state.view();
    let filter = view.filter.to_lowercase();
    match &view.screen {
        Screen::Objects { kind } => {
            let is_of_kind = |found: &str| kind.as_ref().is_none_or(|kind| kind == found);
            let tree = state.mirror.tree(&|object| {
                is_of_kind(&object.kind) && (filter.is_empty() || object.label().to_lowercase().contains(&filter))
            });
            let rows = tree.into_iter().map(|(object, depth)| Row::Object {
                uid: object.uid.clone(),
                depth,
            });
            let troubles = state.mirror.unreadable.iter().filter(|_| kind.is_none());
            let troubles = troubles.map(|(kind, why)| said(Standing::Busy, &format!("{kind} cannot be read: {why}")));
            rows.chain(troubles).collect()
        }
        Screen::Reconciles(scope) => {
            let is_meant = |one: &&ReconcileRow| match scope {
                Scope::All => true,
                Scope::Controller(name) => one.controller == *name,
                Scope::Key(key) => one.key == *key,
            };
            let contains = |one: &&ReconcileRow| {
                format!("{} {} {}", one.controller, one.key, one.outcome)
                    .to_lowercase()
                    .contains(&filter)
            };
            let newest_first = state.mirror.reconciles.values().rev();
            newest_first
                .filter(is_meant)
                .filter(contains)
                .map(|one| Row::Reconcile(one.order))
                .collect()
        }
        Screen::Warnings => {
            let mut found: Vec<_> = state.mirror.warnings.values().collect();
            // Not by when they come again: what loops would never stand still.
            found.sort_by_key(|warning| std::cmp::Reverse(warning.first));
            let found = found
                .into_iter()
                .filter(|one| one.what.to_lowercase().contains(&filter));
            found.map(|warning| Row::Warning(warning.id.clone())).collect()
        }
        Screen::Controllers => {
            let all = state.mirror.controllers.iter();
            let found = all.filter(|one| one.name.to_lowercase().contains(&filter));
            found.map(|one| Row::Controller(one.name.clone())).collect()
        }
        screen => {
            let mut lines = match screen {
                Screen::Reconcile(id) => reconcile(state, id),
                Screen::Describe(uid) => describe(state, uid),
                Screen::Yaml(_) => yaml(state),
                Screen::Change { .. } => change(state),
                Screen::Between { .. } => between(state),
                Screen::Log => state.log.iter().map(|line| text(line)).collect(),
                Screen::PodLog(_) => state.pod_log.iter().map(|line| text(line)).collect(),
                Screen::Build => build(state),
                _ => help(state),
            };
            if !filter.is_empty() {
                lines.retain(|row| contains(row, &filter));
            }
            lines
        }
    }
}

fn contains(row: &Row, filter: &str) -> bool {
    match row {
        Row::Text(line, _) => {
            let text: String = line.iter().map(|span| span.content.as_ref()).collect();
            text.to_lowercase().contains(filter)
        }
        _ => true,
    }
}

fn text(line: &str) -> Row {
    Row::Text(Line::raw(printable(line)), None)
}

fn said(standing: Standing, line: &str) -> Row {
    Row::Text(Line::styled(printable(line), style(standing)), None)
}

fn head(title: &str) -> [Row; 2] {
    let title = Line::styled(title.to_owned(), HEAD);
    [Row::Text(Line::default(), None), Row::Text(title, None)]
}

/// Text without what would move the cursor or change colours: tabs are spaces, escape sequences and other controls are left out.
pub(super) fn printable(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\t' => plain.push_str("    "),
            // `ESC [ … letter`, as colours are; of others only the first two characters.
            '\u{1b}' => {
                if chars.next() == Some('[') {
                    let _ = chars.by_ref().find(|char| ('\u{40}'..='\u{7e}').contains(char));
                }
            }
            // Characters that turn the direction of text would let a name look like another.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            char if char.is_control() => {}
            char => plain.push(char),
        }
    }
    plain
}

fn missing(state: &State) -> Vec<Row> {
    if state.is_gone() {
        vec![said(Standing::Busy, "it is not kept any more")]
    } else {
        Vec::new()
    }
}

/// A reconcile: what woke it, what it did, how it ended, what that woke.
fn reconcile(state: &State, id: &str) -> Vec<Row> {
    let Some(whole) = state.answer() else {
        return missing(state);
    };
    let word = |field: &str| whole[field].as_str().unwrap_or_default();
    let standing = standing(whole);
    let mut times = format!(
        " · {} · waited {}",
        clock(whole["at"].as_i64().unwrap_or(0)),
        seconds(&whole["waited"])
    );
    if whole["took"].is_number() {
        let _ = write!(times, " · took {}", seconds(&whole["took"]));
    }
    if whole["isTerminal"] == true {
        times.push_str(" · not tried again");
    } else if whole["again"].is_number() {
        let _ = write!(times, " · tried again after {}", seconds(&whole["again"]));
    }
    let mut rows = vec![
        Row::Text(
            Line::styled(
                printable(&format!("#{id} {} {}", word("controller"), word("key"))),
                HEAD,
            ),
            None,
        ),
        Row::Text(
            Line::from(vec![
                Span::styled(word("outcome").to_owned(), style(standing)),
                Span::raw(times),
            ]),
            None,
        ),
    ];
    rows.extend(word("error").lines().map(|line| said(Standing::Bad, line)));
    let smells = whole["smells"].as_array().into_iter().flatten();
    rows.extend(
        smells
            .filter_map(Value::as_str)
            .map(|smell| said(Standing::Busy, smell)),
    );
    rows.extend(head("Woken by"));
    for woken in whole["wokenBy"].as_array().into_iter().flatten() {
        let line = Line::raw(format!("  {}", printable(woken["text"].as_str().unwrap_or_default())));
        let writer = woken["writer"].as_str().map(|id| Screen::Reconcile(id.to_owned()));
        rows.push(Row::Text(line, writer));
    }
    if let Some(more @ 1..) = whole["wokenByMore"].as_u64() {
        rows.push(text(&format!("  and {more} more")));
    }
    rows.extend(head("What it did"));
    let steps = whole["steps"].as_array().into_iter().flatten();
    rows.extend(steps.flat_map(step));
    let caused: Vec<&str> = whole["caused"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !caused.is_empty() {
        rows.extend(head("Woke"));
    }
    for id in caused {
        let about = state.mirror.reconcile(id);
        let about = about.map(|one| format!(" {} {} {}", one.controller, one.key, one.outcome));
        let line = Line::raw(printable(&format!("  #{id}{}", about.unwrap_or_default())));
        rows.push(Row::Text(line, Some(Screen::Reconcile(id.to_owned()))));
    }
    rows
}

/// A step of a reconcile: a read, a request with what it changed, or a line of its log.
fn step(step: &Value) -> Vec<Row> {
    let word = |field: &str| printable(step[field].as_str().unwrap_or_default());
    let after = Span::styled(format!("{:>8} ", seconds(&step["after"])), FAINT);
    let line = |spans: Vec<Span<'static>>| Row::Text(Line::from(spans), None);
    match step["did"].as_str() {
        Some("read") => vec![line(vec![after, Span::raw(format!("read {}", word("text")))])],
        Some("log") => {
            let level = word("level");
            let standing = match &*level {
                "ERROR" => Standing::Bad,
                "WARN" => Standing::Busy,
                _ => Standing::Neutral,
            };
            let level = Span::styled(format!("{level} "), style(standing));
            vec![line(vec![after, level, Span::raw(word("text"))])]
        }
        _ => {
            let error = word("error");
            let result = match (step["changedNothing"].as_bool(), step["revision"].as_u64()) {
                _ if !error.is_empty() => error.clone(),
                (Some(true), _) => "unchanged".to_owned(),
                (_, Some(revision)) => format!("@{revision}"),
                _ => String::new(),
            };
            let code = step["code"]
                .as_u64()
                .map_or("no answer".to_owned(), |code| code.to_string());
            let standing = if error.is_empty() {
                Standing::Good
            } else {
                Standing::Bad
            };
            let mut rows = vec![line(vec![
                after,
                Span::raw(format!("{} {} ", word("verb"), word("target"))),
                Span::styled(format!("{code} {result}"), style(standing)),
                Span::styled(format!(" {}", seconds(&step["took"])), FAINT),
            ])];
            let changes = step["changes"].as_array().into_iter().flatten();
            rows.extend(changes.flat_map(field_change));
            rows
        }
    }
}

/// A field before and after.
fn field_change(change: &Value) -> Vec<Row> {
    let word = |field: &str| change[field].as_str().unwrap_or_default();
    let sides = [("-", "before", Color::Red), ("+", "after", Color::Green)];
    let sides = sides.into_iter().filter(|(_, side, _)| word(side) != "null");
    sides
        .map(|(mark, side, colour)| {
            let line = printable(&format!("           {mark} {}: {}", word("path"), word(side)));
            Row::Text(Line::styled(line, Style::new().fg(colour)), None)
        })
        .collect()
}

/// An object in words: how it stands and why, whose it is, what it owns, its reconciles and versions.
fn describe(state: &State, uid: &str) -> Vec<Row> {
    let Some(object) = state.mirror.objects.get(uid) else {
        return vec![said(Standing::Busy, "the object is gone")];
    };
    let leads = |line: String, to: Screen| Row::Text(Line::raw(printable(&line)), Some(to));
    let mut rows = vec![
        Row::Text(Line::styled(printable(&object.label()), HEAD), None),
        text(&object.api_version),
    ];
    if !object.state.is_empty() {
        let why = if object.why.is_empty() {
            String::new()
        } else {
            format!(" · {}", object.why)
        };
        rows.push(said(object.standing, &format!("{}{why}", object.state)));
    }
    let whole = state.answer().unwrap_or(&Value::Null);
    let conditions = whole["conditions"].as_array();
    if let Some(conditions) = conditions.filter(|conditions| !conditions.is_empty()) {
        rows.extend(head("Conditions"));
        for condition in conditions {
            let word = |field: &str| condition[field].as_str().unwrap_or_default();
            let line = format!("  {} {} {}", word("says"), word("reason"), word("message"));
            rows.push(said(standing(condition), line.trim_end()));
        }
    }
    let owners: Vec<_> = object
        .owners
        .iter()
        .filter_map(|uid| state.mirror.objects.get(uid))
        .collect();
    let owned: Vec<_> = state.mirror.owned(uid).collect();
    for (title, others) in [("Owned by", owners), ("Owns", owned)] {
        if !others.is_empty() {
            rows.extend(head(title));
        }
        for other in others {
            let line = format!("  {} {}", other.label(), other.state);
            rows.push(leads(line, Screen::Describe(other.uid.clone())));
        }
    }
    let key = object.place();
    let reconciles = state.mirror.reconciles.values().rev().filter(|one| one.key == key);
    let last: Vec<_> = reconciles.take(LAST_RECONCILES).collect();
    if !last.is_empty() {
        rows.extend(head("Last reconciles"));
    }
    for one in last {
        let line = format!(
            "  {} #{} {} {} · {}",
            clock(one.at),
            one.id,
            one.controller,
            one.outcome,
            one.why
        );
        rows.push(leads(line, Screen::Reconcile(one.id.clone())));
    }
    let moments = whole["moments"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !moments.is_empty() {
        rows.extend(head("Changes"));
    }
    let revision = |moment: &Value| moment["revision"].as_u64().unwrap_or(0);
    for (place, moment) in moments.iter().enumerate().rev() {
        let from = place.checked_sub(1).map_or(0, |before| revision(&moments[before]));
        let to = revision(moment);
        let deleted = if moment["isDeletion"] == true { " deleted" } else { "" };
        let line = format!("  {} @{to}{deleted}", clock(moment["at"].as_i64().unwrap_or(0)));
        let uid = uid.to_owned();
        rows.push(leads(line, Screen::Change { uid, from, to }));
    }
    rows
}

/// An object as it is, line by line, with who manages what.
fn yaml(state: &State) -> Vec<Row> {
    let Some(whole) = state.answer() else {
        return missing(state);
    };
    let name = |place: &Value| {
        let place = usize::try_from(place.as_u64()?).ok()?;
        whole["managers"][place]["name"].as_str()
    };
    let lines = whole["lines"].as_array().into_iter().flatten();
    lines
        .map(|line| {
            let mut drawn = yaml_line(&printable(line["text"].as_str().unwrap_or_default()));
            let managers: Vec<&str> = line["managers"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(name)
                .collect();
            if !managers.is_empty() {
                drawn.push_span(Span::styled(printable(&format!("  ‹{}›", managers.join(", "))), FAINT));
            }
            Row::Text(drawn, None)
        })
        .collect()
}

/// A line of YAML, the name of its field in another colour than its value.
fn yaml_line(line: &str) -> Line<'static> {
    let name_end = line.find(": ").or_else(|| line.ends_with(':').then(|| line.len() - 1));
    match name_end {
        Some(end) if !line.trim_start().starts_with(['"', '\'']) => Line::from(vec![
            Span::styled(line[..end].to_owned(), Style::new().fg(Color::Cyan)),
            Span::raw(line[end..].to_owned()),
        ]),
        _ => Line::raw(line.to_owned()),
    }
}

/// What changed with a revision.
fn change(state: &State) -> Vec<Row> {
    let Some(whole) = state.answer() else {
        return missing(state);
    };
    let lines = whole["lines"].as_array().map(Vec::as_slice).unwrap_or_default();
    if lines.is_empty() {
        return vec![text("nothing but what every write changes")];
    }
    lines
        .iter()
        .map(|line| {
            let (mark, style) = match line["is"].as_str() {
                Some("removed") => ("-", Style::new().fg(Color::Red)),
                Some("added") => ("+", Style::new().fg(Color::Green)),
                Some("skipped") => return Row::Text(Line::styled(format!("  … {} lines", line["text"]), FAINT), None),
                _ => (" ", Style::new()),
            };
            let line = printable(line["text"].as_str().unwrap_or_default());
            Row::Text(Line::styled(format!("{mark} {line}"), style), None)
        })
        .collect()
}

/// What came, went and changed in the cluster between two moments.
fn between(state: &State) -> Vec<Row> {
    let Some(whole) = state.answer() else {
        return missing(state);
    };
    let moment = |end: &str| whole[end].as_u64().unwrap_or(0);
    let (from, to) = (moment("from"), moment("to"));
    let changes = whole["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut rows = vec![Row::Text(
        Line::styled(format!("{} between @{from} and @{to}", differing(changes.len())), FAINT),
        None,
    )];
    rows.extend(changes.iter().map(|change| {
        let word = |field: &str| change[field].as_str().unwrap_or_default();
        let namespace = change["namespace"].as_str().map(|namespace| format!("{namespace}/"));
        let (mark, means) = match word("became") {
            "created" => ("+", Standing::Good),
            "deleted" => ("-", Standing::Bad),
            "changed" => ("~", Standing::Busy),
            _ => ("±", Standing::Neutral),
        };
        let was = change["was"]["state"].as_str().filter(|was| *was != word("state"));
        let became = match (word("became"), was) {
            ("changed", Some(was)) => format!("{} → {}", known(was), known(word("state"))),
            ("passing", _) => "came and went".to_owned(),
            (became, _) => became.to_owned(),
        };
        let name = format!("{} {}{}", word("kind"), namespace.unwrap_or_default(), word("name"));
        let line = Line::from(vec![
            Span::styled(printable(&format!("{mark} {became:<24} ")), style(means)),
            Span::raw(printable(&name)),
        ]);
        let uid = word("uid").to_owned();
        Row::Text(line, Some(Screen::Change { uid, from, to }))
    }));
    rows
}

fn differing(objects: usize) -> String {
    match objects {
        0 => "no object differs".to_owned(),
        1 => "1 object differs".to_owned(),
        many => format!("{many} objects differ"),
    }
}

/// A state in a word, also if nothing says how something stands.
fn known(state: &str) -> &str {
    if state.is_empty() { "unknown" } else { state }
}

fn build(state: &State) -> Vec<Row> {
    let session = &state.mirror.session;
    match session.trouble() {
        "" => vec![text("nothing is wrong with the build; :logs shows what was said")],
        trouble => {
            let title = format!("the operator {}", session.words());
            let lines = trouble.lines().map(text);
            [said(Standing::Bad, &title), text("")]
                .into_iter()
                .chain(lines)
                .collect()
        }
    }
}

fn help(state: &State) -> Vec<Row> {
    const KEYS: [(&str, &str); 21] = [
        ("j k ↓ ↑", "next, previous row"),
        ("ctrl-f ctrl-b", "a page on, a page back"),
        ("g G", "first, last row"),
        ("enter", "what the row leads to"),
        ("esc", "back; first out of a filter"),
        ("d", "describe the object: state, owners, reconciles, changes"),
        ("y", "its YAML"),
        ("r", "its reconciles"),
        ("l", "the log of a Pod; else what the command and the operator say"),
        ("ctrl-d", "delete the object, once it is confirmed"),
        ("s", "scale it"),
        ("w", "warnings"),
        ("m c", "mark this moment; what came, went and changed since"),
        ("e", "the compiler's errors"),
        ("/text", "only rows with this text"),
        (":objects :reconciles", "the tree, the timeline"),
        (":warnings :controllers", "what deserves a look, queues and workers"),
        (":logs :build", "what is said, the compiler's errors"),
        (":pods :deploy …", "objects of a kind"),
        (":changes 120 140", "what differs between two revisions of the cluster"),
        ("q ctrl-c :q", "end the command"),
    ];
    let row = |(keys, meaning): (&str, &str)| {
        let keys = Span::styled(format!("  {keys:<24}"), Style::new().fg(Color::Cyan));
        Row::Text(Line::from(vec![keys, Span::raw(meaning.to_owned())]), None)
    };
    let mut rows = vec![Row::Text(Line::styled("Keys", HEAD), None)];
    rows.extend(KEYS.map(row));
    if !state.link.is_empty() {
        rows.extend(head("The same in a browser of this machine"));
        rows.push(text(&format!("  {}", state.link)));
    }
    rows
}

/// A time of day in UTC, to the millisecond.
pub(super) fn clock(milliseconds: i64) -> String {
    let of_day = milliseconds.rem_euclid(86_400_000);
    let (seconds, rest) = (of_day / 1000, of_day % 1000);
    format!(
        "{:02}:{:02}:{:02}.{rest:03}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Seconds as people write them.
fn seconds(value: &Value) -> String {
    duration(value.as_f64().unwrap_or(0.0))
}

/// `240µs`, `3.2ms`, `1.5s`, `2m5s`.
pub(super) fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    if seconds < 0.001 {
        format!("{:.0}µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.1}ms", seconds * 1e3)
    } else if seconds < 60.0 {
        format!("{seconds:.1}s")
    } else {
        format!("{:.0}m{:.0}s", (seconds / 60.0).floor(), seconds % 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_moves_nothing_on_the_screen() {
        assert_eq!(printable("a\tb\r\n\u{1b}[31mred\u{1b}[0m\u{7}"), "a    bred");
        assert_eq!(printable("\u{1b}]0;title"), "0;title");
        assert_eq!(printable("ad\u{202e}min"), "admin");
    }

    #[test]
    fn times_read_as_people_write_them() {
        let times = [0.000_24, 0.0032, 1.5, 125.0].map(duration);
        assert_eq!(times, ["240µs", "3.2ms", "1.5s", "2m5s"]);
        assert_eq!(clock(86_400_000 + 3_723_004), "01:02:03.004");
    }
}

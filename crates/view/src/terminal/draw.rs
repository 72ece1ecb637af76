//! The state of the terminal as a screen.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::mirror::{ControllerRow, ObjectRow, ReconcileRow, WarningRow};
use super::rows::{FAINT, HEAD, clock, duration, printable, style};
use super::screen::{Row, Scope, Screen};
use super::state::{FURNITURE, Mode, State};
use crate::actions::ObjectName;
use crate::model::Standing;

const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
const TITLE: Style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);

/// Draws the screen.
pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    if area.height <= FURNITURE || area.width < 20 {
        let hint = Line::raw("the terminal is too small");
        buffer.set_line(area.x, area.y, &hint, area.width);
        return;
    }
    let line = |buffer: &mut Buffer, row: u16, line: &Line<'_>| {
        buffer.set_line(area.x, area.y + row, line, area.width);
    };
    line(buffer, 0, &status(state));
    line(buffer, 1, &path(state));
    line(buffer, 2, &Line::styled(heads(&state.view().screen, area.width), HEAD));
    let height = area.height - FURNITURE;
    let view = state.view();
    for (place, row) in state.rows.iter().enumerate().skip(view.top).take(usize::from(height)) {
        let at = 3 + u16::try_from(place - view.top).unwrap_or(u16::MAX);
        line(buffer, at, &drawn(state, row, area.width));
        if place == view.cursor {
            buffer.set_style(Rect::new(area.x, area.y + at, area.width, 1), CHOSEN);
        }
    }
    if state.rows.is_empty() {
        line(buffer, 3, &Line::styled(nothing(state), FAINT));
    }
    line(
        buffer,
        area.height - 2,
        &Line::styled("─".repeat(area.width.into()), FAINT),
    );
    line(buffer, area.height - 1, &prompt(state));
}

/// What is run, how it stands, and what deserves a look.
fn status(state: &State) -> Line<'static> {
    let session = &state.mirror.session;
    let mut spans = vec![Span::styled(state.title.clone(), TITLE)];
    let words = session.words();
    if !words.is_empty() {
        spans.push(Span::raw(" · the operator "));
        spans.push(Span::styled(words, style(session.standing())));
    }
    if let (Some(since), "running") = (session.since, &*session.state) {
        spans.push(Span::raw(format!(" since {}", &clock(since)[..8])));
    }
    if let (Some(compiler), Some(rest)) = (session.compiler, session.rest) {
        let took = format!(" (cargo {}, the rest {})", duration(compiler), duration(rest));
        spans.push(Span::styled(took, FAINT));
    }
    match state.mirror.warnings.len() {
        0 => {}
        1 => spans.push(Span::styled(" · 1 warning", style(Standing::Busy))),
        count => spans.push(Span::styled(format!(" · {count} warnings"), style(Standing::Busy))),
    }
    if let Some(why) = &state.mirror.unreachable {
        spans.push(Span::styled(
            format!(" · its trace is not read: {}", printable(why)),
            FAINT,
        ));
    }
    if state.mirror.missed > 0 {
        spans.push(Span::styled(format!(" · {} records lost", state.mirror.missed), FAINT));
    }
    Line::from(spans)
}

/// The way here, and how much is listed.
fn path(state: &State) -> Line<'static> {
    let steps: Vec<String> = state.path().map(|view| title(state, &view.screen)).collect();
    let mut spans = vec![Span::styled(format!("<{}>", steps.join("> <")), style(Standing::Busy))];
    spans.push(Span::raw(format!(" [{}]", state.rows.len())));
    if !state.view().filter.is_empty() {
        spans.push(Span::styled(format!(" /{}", state.view().filter), TITLE));
    }
    Line::from(spans)
}

fn title(state: &State, screen: &Screen) -> String {
    let label = |uid: &String| {
        let object = state.mirror.objects.get(uid);
        printable(&object.map_or("gone".to_owned(), ObjectRow::label))
    };
    match screen {
        Screen::Objects { kind: None } => "objects".to_owned(),
        Screen::Objects { kind: Some(kind) } => printable(kind),
        Screen::Reconciles(Scope::All) => "reconciles".to_owned(),
        Screen::Reconciles(Scope::Controller(of) | Scope::Key(of)) => format!("reconciles of {}", printable(of)),
        Screen::Reconcile(id) => format!("#{id}"),
        Screen::Describe(uid) => label(uid),
        Screen::Yaml(uid) => format!("yaml of {}", label(uid)),
        Screen::Change { from: 0, to, .. } => format!("created @{to}"),
        Screen::Change { from, to, .. } => format!("change @{from} to @{to}"),
        Screen::Between { from, to: None } => format!("changes since @{from}"),
        Screen::Between { from, to: Some(to) } => format!("changes @{from} to @{to}"),
        Screen::Warnings => "warnings".to_owned(),
        Screen::Controllers => "controllers".to_owned(),
        Screen::Log => "logs".to_owned(),
        Screen::PodLog(uid) => format!("log of {}", label(uid)),
        Screen::Build => "build".to_owned(),
        Screen::Help => "help".to_owned(),
    }
}

/// Why there is nothing.
fn nothing(state: &State) -> &'static str {
    match &state.view().screen {
        _ if !state.view().filter.is_empty() => "nothing has this text; esc shows all",
        Screen::Warnings => "nothing smells",
        Screen::Reconciles(_) => "no reconciles yet",
        Screen::Objects { .. } => "no objects yet",
        Screen::Controllers => "the operator has not said yet what it does",
        _ => "",
    }
}

/// What is typed or asked, what was done, or what can be done.
fn prompt(state: &State) -> Line<'static> {
    let label = |name: &ObjectName| {
        let namespace = name.namespace.as_ref().map(|namespace| format!("{namespace}/"));
        printable(&format!("{} {}{}", name.kind, namespace.unwrap_or_default(), name.name))
    };
    match (&state.mode, &state.message) {
        (Mode::Command(typed), _) => Line::styled(format!(":{typed}▏"), TITLE),
        (Mode::Filter(typed), _) => Line::styled(format!("/{typed}▏"), TITLE),
        (Mode::Delete { name, .. }, _) => Line::styled(
            format!("delete {}? y deletes, any other key does not", label(name)),
            style(Standing::Bad),
        ),
        (Mode::Scale { name, typed }, _) => Line::styled(format!("replicas of {}: {typed}▏", label(name)), TITLE),
        (Mode::Normal, Some((message, standing))) => Line::styled(printable(message), style(*standing)),
        (Mode::Normal, None) if !state.mirror.session.trouble().is_empty() => {
            let text = format!("the operator {}: e shows why", state.mirror.session.words());
            Line::styled(text, style(Standing::Bad))
        }
        (Mode::Normal, None) => {
            let hints = "<enter> open  <d> describe  <y> yaml  <r> reconciles  <c> changes  <l> logs  </> filter  <:> go to  <?> help  <q> quit";
            Line::styled(hints, FAINT)
        }
    }
}

/// The widths of the columns before the last: `None` has what is left over.
fn object_columns(width: u16) -> (usize, usize) {
    let name = usize::from(width) * 55 / 100;
    (name, 12)
}

const RECONCILE_COLUMNS: [usize; 4] = [8, 13, 12, 9];

fn heads(screen: &Screen, width: u16) -> String {
    match screen {
        Screen::Objects { .. } => {
            let (name, state) = object_columns(width);
            format!("{}{}WHY", cut("OBJECT", name), cut("STATE", state))
        }
        Screen::Reconciles(_) => {
            let [id, time, outcome, took] = RECONCILE_COLUMNS;
            let heads = [("ID", id), ("TIME", time), ("OUTCOME", outcome), ("TOOK", took)];
            let heads: String = heads.iter().map(|(head, width)| cut(head, *width)).collect();
            format!("{heads}W CONTROLLER AND OBJECT · WOKEN BY")
        }
        Screen::Warnings => format!("{}{}WHAT · WHAT TO DO", cut("LAST", 13), cut("TIMES", 6)),
        Screen::Controllers => format!("{}READY  LATER  BUSY/WORKERS  DONE  FAILED", cut("CONTROLLER", 30)),
        _ => String::new(),
    }
}

fn drawn(state: &State, row: &Row, width: u16) -> Line<'static> {
    let gone = || Line::styled("gone", FAINT);
    match row {
        Row::Object { uid, depth } => {
            let object = state.mirror.objects.get(uid);
            object.map_or_else(gone, |object| object_line(object, *depth, width))
        }
        Row::Reconcile(order) => state.mirror.reconciles.get(order).map_or_else(gone, reconcile_line),
        Row::Warning(id) => state.mirror.warnings.get(id).map_or_else(gone, warning_line),
        Row::Controller(name) => {
            let found = state.mirror.controllers.iter().find(|one| one.name == *name);
            found.map_or_else(gone, controller_line)
        }
        Row::Text(line, _) => line.clone(),
    }
}

fn object_line(object: &ObjectRow, depth: usize, width: u16) -> Line<'static> {
    let (name_width, state_width) = object_columns(width);
    let branch = match depth {
        0 => String::new(),
        depth => format!("{}└ ", "  ".repeat(depth.min(8) - 1)),
    };
    let name = cut(&format!("{branch}{}", printable(&object.label())), name_width);
    Line::from(vec![
        Span::raw(name),
        Span::styled(cut(&object.state, state_width), style(object.standing)),
        Span::styled(printable(&object.why), FAINT),
    ])
}

fn reconcile_line(one: &ReconcileRow) -> Line<'static> {
    let [id, time, outcome, took] = RECONCILE_COLUMNS;
    let writes = match one.writes {
        0 => "  ".to_owned(),
        writes => format!("{:<2}", writes.min(99)),
    };
    let took_text = one.took.map(duration).unwrap_or_default();
    let mut spans = vec![
        Span::raw(cut(&format!("#{}", one.id), id)),
        Span::styled(cut(&clock(one.at), time), FAINT),
        Span::styled(cut(&one.outcome, outcome), style(one.standing)),
        Span::raw(cut(&took_text, took)),
        Span::raw(writes),
        Span::raw(printable(&format!("{} {}", one.controller, one.key))),
        Span::styled(format!(" · {}", printable(&without_group(&one.why))), FAINT),
    ];
    let smells = one.smells.iter();
    spans.extend(smells.map(|smell| Span::styled(format!(" · {smell}"), style(Standing::Busy))));
    Line::from(spans)
}

/// What woke a reconcile, with the kind of the object without its group: room is short, and the reconcile's own screen has it.
fn without_group(why: &str) -> String {
    match why.split_once(' ') {
        Some((kind, rest)) if kind.starts_with(|first: char| first.is_ascii_uppercase()) => {
            format!("{} {rest}", kind.split('.').next().unwrap_or(kind))
        }
        _ => why.to_owned(),
    }
}

fn warning_line(warning: &WarningRow) -> Line<'static> {
    Line::from(vec![
        Span::styled(cut(&clock(warning.last), 13), FAINT),
        Span::raw(cut(&format!("×{}", warning.times), 6)),
        Span::styled(printable(&warning.what), style(Standing::Busy)),
        Span::styled(format!(" · {}", printable(&warning.advice)), FAINT),
    ])
}

fn controller_line(one: &ControllerRow) -> Line<'static> {
    let count = |names: &[&str]| names.iter().filter_map(|name| one.reconciles.get(*name)).sum::<f64>();
    let failed = count(&["errors", "terminal", "panics", "timeouts"]);
    let done = count(&["success", "requeueAfter", "requeue", "errors", "terminal"]);
    let standing = if failed > 0.0 { Standing::Bad } else { Standing::Neutral };
    Line::from(vec![
        Span::raw(cut(&printable(&one.name), 30)),
        Span::raw(format!("{:<7}{:<7}", one.ready.count, one.waiting.count)),
        Span::raw(cut(&format!("{}/{}", one.busy, one.workers), 14)),
        Span::raw(cut(&done.to_string(), 6)),
        Span::styled(failed.to_string(), style(standing)),
    ])
}

/// A text in a column: filled up, or with an ellipsis, and a space before the next.
fn cut(text: &str, width: usize) -> String {
    let fits = width.saturating_sub(1);
    let count = Span::raw(text).width();
    if count <= fits {
        return format!("{text}{}", " ".repeat(width - count));
    }
    let mut kept = String::new();
    let mut used = 0;
    for char in text.chars() {
        let next = Span::raw(char.to_string()).width();
        if used + next + 1 > fits {
            break;
        }
        kept.push(char);
        used += next;
    }
    format!("{kept}…{}", " ".repeat(width.saturating_sub(used + 1)))
}

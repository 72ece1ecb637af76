//! The state of the terminal and what an event makes of it. Pure: what is to be done besides is returned as an [`Effect`].

use std::collections::VecDeque;

use serde_json::Value;

use super::mirror::{Mirror, ObjectRow};
use super::rows;
use super::screen::{Row, Scope, Screen, Wanted, means_kind, named};
use crate::actions::{Abilities, ObjectName};
use crate::model::Standing;

/// As many lines of a log are kept.
const MOST_LINES: usize = 10_000;

/// Something that happened.
#[derive(Debug)]
pub(super) enum Event {
    Key(Key),
    /// The terminal has so many rows.
    Resized {
        height: u16,
    },
    News(Value),
    /// What a screen wanted of the model; `None` if it is not kept.
    Detail(Wanted, Option<Value>),
    /// The command, the compiler or the operator said a line.
    Said(String),
    /// The Pod with this uid wrote a line.
    PodSaid(String, String),
    /// Something that was asked for is done, or refused.
    Done(Result<String, String>),
}

/// A key, as far as one means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Control(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

/// What is to be done beside drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// End the command.
    Quit,
    Delete {
        name: ObjectName,
        uid: String,
    },
    Scale {
        name: ObjectName,
        replicas: u32,
    },
    /// Follow the log of a Pod, and no other.
    FollowLog {
        name: ObjectName,
        uid: String,
    },
    /// Follow none.
    LeaveLog,
}

/// What keys mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Normal,
    /// `:` and what was typed.
    Command(String),
    /// `/` and what was typed.
    Filter(String),
    /// Delete it, once that is confirmed.
    Delete {
        name: ObjectName,
        uid: String,
    },
    /// Scale it to what was typed.
    Scale {
        name: ObjectName,
        typed: String,
    },
}

/// A screen, and where one is on it.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) screen: Screen,
    pub(super) filter: String,
    /// The row that is chosen.
    pub(super) cursor: usize,
    /// The first row that is visible.
    pub(super) top: usize,
    /// Whether the last row is chosen, whatever comes.
    follows: bool,
    /// Whether somebody chose a row. Until then a tree that grows shows its top.
    is_chosen: bool,
    anchor: Option<String>,
}

impl View {
    fn new(screen: Screen) -> Self {
        View {
            follows: screen.is_log(),
            is_chosen: !matches!(screen, Screen::Objects { .. }),
            screen,
            filter: String::new(),
            cursor: 0,
            top: 0,
            anchor: None,
        }
    }
}

/// The state of the terminal.
#[derive(Debug)]
pub(super) struct State {
    pub(super) title: String,
    pub(super) link: String,
    pub(super) abilities: Abilities,
    pub(super) mirror: Mirror,
    pub(super) log: VecDeque<String>,
    pub(super) pod_log: VecDeque<String>,
    pub(super) mode: Mode,
    /// What was done or refused last.
    pub(super) message: Option<(String, Standing)>,
    /// The revision since which changes are listed; since the oldest that is known if none was marked.
    mark: Option<u64>,
    /// What the model answered to what a screen wants.
    pub(super) detail: Option<(Wanted, Option<Value>)>,
    /// Never empty; the last one is shown.
    views: Vec<View>,
    pub(super) rows: Vec<Row>,
    /// How many rows of the screen are for the list.
    height: usize,
}

/// Rows of the screen that are not for the list: two above, the heads of columns, and two below.
pub(super) const FURNITURE: u16 = 5;

impl State {
    pub(super) fn new(title: &str, link: &str, abilities: Abilities) -> Self {
        State {
            title: title.to_owned(),
            link: link.to_owned(),
            abilities,
            mirror: Mirror::default(),
            log: VecDeque::new(),
            pod_log: VecDeque::new(),
            mode: Mode::Normal,
            message: None,
            mark: None,
            detail: None,
            views: vec![View::new(Screen::Objects { kind: None })],
            rows: Vec::new(),
            height: 1,
        }
    }

    /// What is shown.
    pub(super) fn view(&self) -> &View {
        &self.views[self.views.len() - 1]
    }

    fn view_mut(&mut self) -> &mut View {
        let last = self.views.len() - 1;
        &mut self.views[last]
    }

    /// The way here.
    pub(super) fn path(&self) -> impl Iterator<Item = &View> {
        self.views.iter()
    }

    /// What the model has to be asked for.
    pub(super) fn wanted(&self) -> Option<Wanted> {
        self.view().screen.wanted()
    }

    /// What the model answered, if it is about what is shown.
    pub(super) fn answer(&self) -> Option<&Value> {
        let (about, value) = self.detail.as_ref()?;
        value.as_ref().filter(|_| Some(about) == self.wanted().as_ref())
    }

    /// Whether the model was asked and has nothing.
    pub(super) fn is_gone(&self) -> bool {
        let about = self.detail.as_ref().filter(|(_, value)| value.is_none());
        about.is_some_and(|(about, _)| Some(about) == self.wanted().as_ref())
    }

    /// Takes an event.
    pub(super) fn update(&mut self, event: Event) -> Option<Effect> {
        let mut effect = None;
        match event {
            Event::Key(key) => effect = self.key(key),
            Event::Resized { height } => self.height = usize::from(height.saturating_sub(FURNITURE)).max(1),
            Event::News(news) => self.mirror.take(news),
            Event::Detail(about, value) => self.detail = Some((about, value)),
            Event::Said(line) => keep(&mut self.log, line),
            Event::PodSaid(uid, line) => {
                if self.view().screen == Screen::PodLog(uid) {
                    keep(&mut self.pod_log, line);
                }
            }
            Event::Done(Ok(done)) => self.message = Some((done, Standing::Good)),
            Event::Done(Err(refusal)) => self.message = Some((refusal, Standing::Bad)),
        }
        self.lay_out();
        effect
    }

    /// Makes the rows anew, and leaves the chosen one chosen.
    fn lay_out(&mut self) {
        self.rows = rows::of(self);
        let (rows, height) = (&self.rows, self.height);
        let last = rows.len().saturating_sub(1);
        let anchored = |anchor: &String| rows.iter().position(|row| row.anchor().as_ref() == Some(anchor));
        let view = &self.views[self.views.len() - 1];
        let cursor = match &view.anchor {
            _ if view.follows => last,
            _ if !view.is_chosen => 0,
            // Where it was, if it did not move.
            Some(anchor) if rows.get(view.cursor).and_then(Row::anchor).as_ref() == Some(anchor) => view.cursor,
            Some(anchor) => anchored(anchor).unwrap_or(view.cursor),
            None => view.cursor,
        };
        let cursor = cursor.min(last);
        let anchor = self.rows.get(cursor).and_then(Row::anchor);
        let view = self.view_mut();
        view.cursor = cursor;
        view.anchor = anchor;
        view.top = view.top.clamp((cursor + 1).saturating_sub(height), cursor);
        view.top = view.top.min((last + 1).saturating_sub(height));
    }

    fn key(&mut self, key: Key) -> Option<Effect> {
        self.message = None;
        if key == Key::Control('c') {
            return Some(Effect::Quit);
        }
        match std::mem::replace(&mut self.mode, Mode::Normal) {
            Mode::Normal => self.normal_key(key),
            Mode::Command(typed) => match edited(typed, key) {
                Typed::More(typed) => {
                    self.mode = Mode::Command(typed);
                    None
                }
                Typed::Entered(command) => self.command(command.trim()),
                Typed::Left => None,
            },
            Mode::Filter(typed) => {
                match edited(typed, key) {
                    Typed::More(typed) => {
                        self.filter(&typed);
                        self.mode = Mode::Filter(typed);
                    }
                    Typed::Entered(filter) => self.filter(&filter),
                    Typed::Left => self.filter(""),
                }
                None
            }
            Mode::Delete { name, uid } => {
                matches!(key, Key::Char('y') | Key::Enter).then_some(Effect::Delete { name, uid })
            }
            Mode::Scale { name, typed } => match edited(typed, key) {
                Typed::More(typed) => {
                    let typed = typed.chars().filter(char::is_ascii_digit).collect();
                    self.mode = Mode::Scale { name, typed };
                    None
                }
                Typed::Entered(typed) => {
                    let replicas = typed.parse().ok();
                    if replicas.is_none() {
                        self.message = Some((format!("{typed:?} is no number of replicas"), Standing::Bad));
                    }
                    replicas.map(|replicas| Effect::Scale { name, replicas })
                }
                Typed::Left => None,
            },
        }
    }

    fn normal_key(&mut self, key: Key) -> Option<Effect> {
        let page = self.height.max(2) - 1;
        match key {
            Key::Char('j') | Key::Down => self.move_to(self.view().cursor.saturating_add(1)),
            Key::Char('k') | Key::Up => self.move_to(self.view().cursor.saturating_sub(1)),
            Key::Control('f') | Key::Char(' ') | Key::PageDown => self.move_to(self.view().cursor.saturating_add(page)),
            Key::Control('b') | Key::PageUp => self.move_to(self.view().cursor.saturating_sub(page)),
            Key::Char('g') | Key::Home => self.move_to(0),
            Key::Char('G') | Key::End => self.move_to(usize::MAX),
            Key::Char(':') => self.mode = Mode::Command(String::new()),
            Key::Char('/') => self.mode = Mode::Filter(self.view().filter.clone()),
            Key::Char('?') => return self.open(Screen::Help),
            Key::Char('q') => return Some(Effect::Quit),
            Key::Enter => {
                if let Some(screen) = self.target() {
                    return self.open(screen);
                }
            }
            Key::Escape => return self.back(),
            Key::Char('d') => return self.open_object(Screen::Describe),
            Key::Char('y') => return self.open_object(Screen::Yaml),
            Key::Char('r') => return self.open_reconciles(),
            Key::Char('w') => return self.open(Screen::Warnings),
            Key::Char('m') => self.mark(),
            Key::Char('c') => return self.open(self.since_mark()),
            Key::Char('e') => return self.open(Screen::Build),
            Key::Char('l') => return self.open_log(),
            Key::Char('s') => self.ask_scale(),
            Key::Control('d') => self.ask_delete(),
            _ => {}
        }
        None
    }

    fn move_to(&mut self, row: usize) {
        let last = self.rows.len().saturating_sub(1);
        let row = row.min(last);
        let anchor = self.rows.get(row).and_then(Row::anchor);
        let view = self.view_mut();
        view.follows = view.screen.is_log() && row == last;
        view.is_chosen = true;
        view.cursor = row;
        view.anchor = anchor;
    }

    fn filter(&mut self, filter: &str) {
        filter.clone_into(&mut self.view_mut().filter);
    }

    /// Goes to a screen, from which the way back leads here.
    fn open(&mut self, screen: Screen) -> Option<Effect> {
        if self.view().screen == screen {
            return None;
        }
        let effect = self.follow(&screen);
        self.views.push(View::new(screen));
        effect
    }

    /// Back by a step: first from a filter, then from a screen.
    fn back(&mut self) -> Option<Effect> {
        if !self.view().filter.is_empty() {
            self.filter("");
            return None;
        }
        if self.views.len() == 1 {
            return None;
        }
        let was_log = matches!(self.view().screen, Screen::PodLog(_));
        self.views.pop();
        let screen = self.view().screen.clone();
        self.follow(&screen).or(was_log.then_some(Effect::LeaveLog))
    }

    /// What a screen needs that is followed only while it is shown.
    fn follow(&mut self, screen: &Screen) -> Option<Effect> {
        match screen {
            Screen::PodLog(uid) => {
                self.pod_log.clear();
                let name = name_of(self.mirror.objects.get(uid)?);
                Some(Effect::FollowLog { name, uid: uid.clone() })
            }
            _ if matches!(self.view().screen, Screen::PodLog(_)) => Some(Effect::LeaveLog),
            _ => None,
        }
    }

    fn command(&mut self, command: &str) -> Option<Effect> {
        if matches!(command, "q" | "q!" | "quit" | "exit") {
            return Some(Effect::Quit);
        }
        let between = command
            .strip_prefix("changes")
            .and_then(|moments| self.between(moments));
        let screen = named(command).or(between).or_else(|| {
            let kinds = self.mirror.objects.values().map(|object| &object.kind);
            let kind = kinds
                .into_iter()
                .find(|kind| means_kind(&command.to_lowercase(), kind))?;
            Some(Screen::Objects {
                kind: Some(kind.clone()),
            })
        });
        match screen {
            // A command leads to a place of its own, not deeper.
            Some(screen) => {
                let effect = self.follow(&screen);
                self.views.truncate(1);
                if self.view().screen == (Screen::Objects { kind: None }) && screen != self.view().screen {
                    self.views.push(View::new(screen));
                } else {
                    self.views = vec![View::new(screen)];
                }
                effect
            }
            None if command.is_empty() => None,
            None => {
                let text = format!("there is no {command:?} here: ? lists the commands");
                self.message = Some((text, Standing::Bad));
                None
            }
        }
    }

    fn mark(&mut self) {
        let newest = self.mirror.newest;
        self.mark = Some(newest);
        self.message = Some((
            format!("@{newest} is marked: c shows what changed since"),
            Standing::Good,
        ));
    }

    fn since_mark(&self) -> Screen {
        Screen::Between {
            from: self.mark.unwrap_or(self.mirror.oldest),
            to: None,
        }
    }

    /// What `:changes`, `:changes 120` and `:changes 120 140` mean; `None` if it is something else.
    fn between(&self, moments: &str) -> Option<Screen> {
        let moments: Result<Vec<u64>, _> = moments.split_whitespace().map(str::parse).collect();
        match moments.ok()?[..] {
            [] => Some(self.since_mark()),
            [from] => Some(Screen::Between { from, to: None }),
            [from, to] => Some(Screen::Between { from, to: Some(to) }),
            _ => None,
        }
    }

    /// Where the chosen row leads.
    fn target(&self) -> Option<Screen> {
        match self.rows.get(self.view().cursor)? {
            Row::Object { uid, .. } => Some(Screen::Describe(uid.clone())),
            Row::Reconcile(order) => {
                let reconcile = self.mirror.reconciles.get(order)?;
                Some(Screen::Reconcile(reconcile.id.clone()))
            }
            Row::Warning(id) => {
                let warning = self.mirror.warnings.get(id)?;
                let reconcile = warning.reconcile.clone().map(Screen::Reconcile);
                reconcile.or_else(|| warning.uid.clone().map(Screen::Describe))
            }
            Row::Controller(name) => Some(Screen::Reconciles(Scope::Controller(name.clone()))),
            Row::Text(_, target) => target.clone(),
        }
    }

    /// The object that is chosen or shown.
    fn object(&self) -> Option<&ObjectRow> {
        let of_screen = match &self.view().screen {
            Screen::Describe(uid) | Screen::Yaml(uid) | Screen::PodLog(uid) | Screen::Change { uid, .. } => Some(uid),
            _ => None,
        };
        let uid = match self.rows.get(self.view().cursor) {
            Some(Row::Object { uid, .. } | Row::Text(_, Some(Screen::Describe(uid)))) => Some(uid),
            Some(Row::Warning(id)) => self.mirror.warnings.get(id).and_then(|warning| warning.uid.as_ref()),
            _ => of_screen,
        };
        if let Some(object) = uid.and_then(|uid| self.mirror.objects.get(uid)) {
            return Some(object);
        }
        // A reconcile is about the object with its key; of which kind is not said, but mostly the controller is called so.
        let reconcile = match (self.rows.get(self.view().cursor), &self.view().screen) {
            (Some(Row::Reconcile(order)), _) => self.mirror.reconciles.get(order),
            (_, Screen::Reconcile(id)) => self.mirror.reconcile(id),
            _ => None,
        }?;
        let named = |object: &&ObjectRow| object.place() == reconcile.key;
        let same_kind = |object: &&ObjectRow| object.kind.to_lowercase() == reconcile.controller.to_lowercase();
        let mut candidates: Vec<&ObjectRow> = self.mirror.objects.values().filter(named).collect();
        candidates.sort_by_key(|object| !same_kind(object));
        candidates.first().copied()
    }

    fn open_object(&mut self, screen: fn(String) -> Screen) -> Option<Effect> {
        match self.object().map(|object| object.uid.clone()) {
            Some(uid) => self.open(screen(uid)),
            None => self.refuse("choose an object first"),
        }
    }

    fn open_reconciles(&mut self) -> Option<Effect> {
        let scope = match self.object() {
            Some(object) => Scope::Key(object.place()),
            None => Scope::All,
        };
        self.open(Screen::Reconciles(scope))
    }

    fn open_log(&mut self) -> Option<Effect> {
        match self.object().filter(|object| object.kind == "Pod") {
            Some(pod) => {
                let uid = pod.uid.clone();
                self.open(Screen::PodLog(uid))
            }
            None => self.open(Screen::Log),
        }
    }

    fn ask_delete(&mut self) {
        if let Some((name, uid)) = self.writable() {
            self.mode = Mode::Delete { name, uid };
        }
    }

    fn ask_scale(&mut self) {
        if let Some((name, _)) = self.writable() {
            let typed = String::new();
            self.mode = Mode::Scale { name, typed };
        }
    }

    /// The chosen object, if it may be changed.
    fn writable(&mut self) -> Option<(ObjectName, String)> {
        if !self.abilities.writes {
            self.refuse("nothing is changed from here: --allow-writes allows it");
            return None;
        }
        let found = self.object().map(|object| (name_of(object), object.uid.clone()));
        if found.is_none() {
            self.refuse("choose an object first");
        }
        found
    }

    fn refuse(&mut self, why: &str) -> Option<Effect> {
        self.message = Some((why.to_owned(), Standing::Busy));
        None
    }
}

fn name_of(object: &ObjectRow) -> ObjectName {
    ObjectName {
        api_version: object.api_version.clone(),
        kind: object.kind.clone(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    }
}

fn keep(lines: &mut VecDeque<String>, line: String) {
    if lines.len() == MOST_LINES {
        lines.pop_front();
    }
    lines.push_back(line);
}

/// What a key makes of a line that is typed.
enum Typed {
    More(String),
    Entered(String),
    Left,
}

fn edited(mut typed: String, key: Key) -> Typed {
    match key {
        Key::Char(char) => typed.push(char),
        Key::Backspace if typed.is_empty() => return Typed::Left,
        Key::Backspace => {
            typed.pop();
        }
        Key::Control('u') => typed.clear(),
        Key::Enter => return Typed::Entered(typed),
        Key::Escape => return Typed::Left,
        _ => {}
    }
    Typed::More(typed)
}

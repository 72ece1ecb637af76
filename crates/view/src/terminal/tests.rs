//! The terminal as a user meets it: keys in, a screen out.

use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use serde_json::{Value, json};

use super::draw::draw;
use super::screen::Wanted;
use super::state::{Effect, Event, Key, State};
use crate::actions::Abilities;

/// A terminal that somebody sits at.
struct Seat {
    state: State,
    screen: Terminal<TestBackend>,
}

impl Seat {
    fn new(writes: bool) -> Self {
        let abilities = Abilities { writes, forks: false };
        let mut seat = Seat {
            state: State::new("kubewright dev", "http://127.0.0.1:1/#token=t", abilities),
            screen: Terminal::new(TestBackend::new(120, 16)).unwrap(),
        };
        seat.state.update(Event::Resized { height: 16 });
        seat
    }

    fn with_news(writes: bool) -> Self {
        let mut seat = Seat::new(writes);
        seat.state.update(Event::News(news()));
        seat
    }

    fn press(&mut self, keys: &str) -> Option<Effect> {
        let mut effect = None;
        for char in keys.chars() {
            let key = match char {
                '\n' => Key::Enter,
                '\u{1b}' => Key::Escape,
                '\u{4}' => Key::Control('d'),
                '\u{3}' => Key::Control('c'),
                char => Key::Char(char),
            };
            effect = self.state.update(Event::Key(key));
        }
        effect
    }

    /// The rows of the screen, without what is empty at their ends.
    fn screen(&mut self) -> String {
        let state = &self.state;
        self.screen
            .draw(|frame| {
                let area = frame.area();
                draw(state, area, frame.buffer_mut());
            })
            .unwrap();
        let buffer = self.screen.backend().buffer();
        let rows = buffer.content().chunks(buffer.area().width.into());
        let rows = rows.map(|row| row.iter().map(ratatui_core::buffer::Cell::symbol).collect::<String>());
        rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn sees(&mut self, texts: &[&str]) {
        let screen = self.screen();
        for text in texts {
            assert!(screen.contains(text), "{text:?} is not on the screen:\n{screen}");
        }
    }
}

fn object(uid: &str, kind: &str, name: &str, owners: &[&str]) -> Value {
    json!({
        "uid": uid, "apiVersion": "apps/v1", "kind": kind, "namespace": "shop", "name": name, "owners": owners, "state": "ready",
        "standing": "good", "why": "Available", "revision": 5, "at": 0,
    })
}

#[test]
fn a_tree_that_grows_shows_its_top_until_a_row_is_chosen() {
    let mut seat = Seat::new(true);
    let come = |seat: &mut Seat, name: &str| {
        let one = object(name, "ConfigMap", name, &[]);
        seat.state.update(Event::News(
            json!({ "objects": { "anew": false, "changed": [one], "deleted": [] } }),
        ));
    };
    come(&mut seat, "m");
    come(&mut seat, "b");
    assert_eq!(seat.state.view().cursor, 0);
    // Chosen, a row stays chosen.
    seat.press("j");
    come(&mut seat, "a");
    assert_eq!(seat.state.view().cursor, 2);
}

fn reconcile(id: u64, outcome: &str) -> Value {
    json!({
        "id": id.to_string(), "order": id, "controller": "deployment", "key": "shop/web", "at": 1000, "waited": 0.001, "took": 0.02,
        "outcome": outcome, "standing": "good", "why": "Website.web.example.com shop/web updated @7", "smells": ["woken by its own write"], "writes": 1,
    })
}

fn news() -> Value {
    json!({
        "session": { "state": "running", "since": 1000, "compiler": 1.5, "rest": 0.1 },
        "objects": { "anew": true, "deleted": [], "changed": [
            object("d", "Deployment", "web", &[]), object("p", "Pod", "web-1", &["d"]), object("c", "ConfigMap", "plain", &[]),
        ] },
        "reconciles": { "changed": [reconcile(1, "done"), reconcile(2, "failed")], "oldest": 0, "missed": 0 },
        "warnings": [{ "id": "w", "what": "deployment shop/web wakes itself", "advice": "write less", "reconcile": "2", "times": 4, "first": 0, "last": 9 }],
        "operator": { "page": { "controllers": [{ "name": "deployment", "workers": 2, "busy": 1, "reconciles": { "success": 2, "seconds": 0.5 } }] }, "unreachable": null },
    })
}

#[test]
fn the_first_screen_is_the_tree_with_how_the_operator_stands() {
    let mut seat = Seat::with_news(true);
    seat.sees(&[
        "kubewright dev · the operator runs since 00:00:01 (cargo 1.5s, the rest 100.0ms) · 1 warning",
        "<objects> [3]",
        "OBJECT ",
        "Deployment shop/web ",
        "\n└ Pod shop/web-1 ",
        "ready       Available",
        "<?> help",
    ]);
    let mut small = Seat::new(true);
    small.screen = Terminal::new(TestBackend::new(30, 4)).unwrap();
    small.sees(&["the terminal is too small"]);
}

#[test]
fn a_filter_leaves_what_has_its_text_and_escape_takes_it_back() {
    let mut seat = Seat::with_news(true);
    seat.press("/plain");
    seat.sees(&["/plain▏", "<objects> [1] /plain", "ConfigMap shop/plain"]);
    seat.press("\n");
    assert!(!seat.screen().contains("Deployment"));
    seat.press("\u{1b}");
    seat.sees(&["<objects> [3]", "Deployment shop/web"]);
}

#[test]
fn commands_lead_to_screens_and_kinds_as_in_k9s() {
    let mut seat = Seat::with_news(true);
    seat.press(":po\n");
    seat.sees(&["<objects> <Pod> [2]", "Pod shop/web-1"]);
    assert!(!seat.screen().contains("plain"));
    seat.press(":reconciles\n");
    seat.sees(&[
        "<objects> <reconciles> [2]",
        "#2      00:00:01.000 failed",
        "deployment shop/web · Website shop/web updated @7",
        "woken by its own write",
    ]);
    seat.press(":ctl\n");
    seat.sees(&["CONTROLLER", "deployment", "1/2"]);
    seat.press("\n");
    seat.sees(&["<reconciles of deployment> [2]"]);
    seat.press(":nonsense\n");
    seat.sees(&["there is no \"nonsense\" here: ? lists the commands"]);
    seat.press("?");
    seat.sees(&["ctrl-d", "delete the object"]);
    assert_eq!(seat.press(":q\n"), Some(Effect::Quit));
    assert_eq!(seat.press("q"), Some(Effect::Quit));
    assert_eq!(seat.press("/\u{3}"), Some(Effect::Quit));
}

#[test]
fn a_reconcile_shows_what_woke_it_what_it_did_and_leads_to_what_it_woke() {
    let mut seat = Seat::with_news(true);
    seat.press(":rec\nj\n");
    assert_eq!(seat.state.wanted(), Some(Wanted::Reconcile("1".to_owned())));
    let mut detail = reconcile(1, "failed");
    let added = json!({
        "wokenBy": [{ "text": "Pod shop/web-1 updated @7", "writer": null }], "wokenByMore": 3, "error": "no such thing", "again": 5.0, "caused": ["2"],
        "steps": [
            { "did": "read", "text": "Pod shop/web-1: @7", "after": 0.0001 },
            { "did": "call", "verb": "patch", "target": "Pod shop/web-1", "code": 200, "error": null, "revision": 8, "changedNothing": false, "took": 0.002,
              "after": 0.001, "changes": [{ "path": "spec.replicas", "before": "1", "after": "2" }] },
            { "did": "log", "level": "WARN", "text": "hm\u{1b}[2J", "after": 0.002 },
        ],
    });
    detail
        .as_object_mut()
        .unwrap()
        .extend(added.as_object().unwrap().clone());
    let mut for_good = detail.clone();
    for_good["isTerminal"] = true.into();
    seat.screen = Terminal::new(TestBackend::new(120, 40)).unwrap();
    seat.state.update(Event::Resized { height: 40 });
    seat.state
        .update(Event::Detail(Wanted::Reconcile("1".to_owned()), Some(for_good)));
    seat.sees(&["took 20.0ms · not tried again"]);
    seat.state
        .update(Event::Detail(Wanted::Reconcile("1".to_owned()), Some(detail)));
    seat.sees(&[
        "failed · 00:00:01.000 · waited 1.0ms · took 20.0ms · tried again after 5.0s",
        "no such thing",
        "Woken by\n  Pod shop/web-1 updated @7\n  and 3 more",
        "   100µs read Pod shop/web-1: @7",
        "   1.0ms patch Pod shop/web-1 200 @8 2.0ms",
        "- spec.replicas: 1\n",
        "+ spec.replicas: 2\n",
        "   2.0ms WARN hm\n",
        "  #2 deployment shop/web failed",
    ]);
    // To what it woke, and back.
    seat.press("G\n");
    assert_eq!(seat.state.wanted(), Some(Wanted::Reconcile("2".to_owned())));
    seat.state
        .update(Event::Detail(Wanted::Reconcile("2".to_owned()), None));
    seat.sees(&["<reconciles> <#1> <#2>", "it is not kept any more"]);
    seat.press("\u{1b}");
    assert_eq!(seat.state.wanted(), Some(Wanted::Reconcile("1".to_owned())));
}

#[test]
fn an_object_is_described_shown_as_yaml_and_its_changes_as_a_difference() {
    let mut seat = Seat::with_news(true);
    seat.press("d");
    let wanted = Wanted::Object("d".to_owned());
    assert_eq!(seat.state.wanted(), Some(wanted.clone()));
    let detail = json!({
        "lines": [{ "text": "kind: Deployment", "field": "kind" }, { "text": "spec:", "field": "spec" }, { "text": "  replicas: 2", "field": "spec.replicas", "managers": [0] }],
        "managers": [{ "name": "kubectl" }], "conditions": [{ "says": "not Available", "standing": "busy", "reason": "Why", "message": "" }],
        "moments": [{ "revision": 4, "at": 0, "isDeletion": false }, { "revision": 5, "at": 0, "isDeletion": false }],
    });
    seat.state.update(Event::Detail(wanted.clone(), Some(detail)));
    seat.screen = Terminal::new(TestBackend::new(120, 40)).unwrap();
    seat.state.update(Event::Resized { height: 40 });
    seat.sees(&[
        "  not Available Why",
        "Owns\n  Pod shop/web-1 ready",
        "#2 deployment failed",
        "Changes\n  00:00:00.000 @5\n  00:00:00.000 @4",
    ]);
    seat.press("y");
    seat.sees(&["<yaml of Deployment shop/web>", "  replicas: 2  ‹kubectl›"]);
    seat.press("\u{1b}Gk\n");
    let wanted = Wanted::Change {
        uid: "d".to_owned(),
        from: 4,
        to: 5,
    };
    assert_eq!(seat.state.wanted(), Some(wanted.clone()));
    let change = json!({ "lines": [{ "is": "skipped", "text": 7 }, { "is": "removed", "text": "  replicas: 1" }, { "is": "added", "text": "  replicas: 2" }] });
    seat.state.update(Event::Detail(wanted, Some(change)));
    seat.sees(&["  … 7 lines\n-   replicas: 1\n+   replicas: 2"]);
}

#[test]
fn what_changed_in_the_cluster_since_a_mark_is_listed_and_leads_to_what_differs() {
    let mut seat = Seat::with_news(true);
    let at = |newest: u64| json!({ "objects": { "anew": false, "changed": [], "deleted": [], "oldest": 3, "newest": newest } });
    seat.state.update(Event::News(at(7)));
    // Without a mark since the beginning.
    seat.press("c");
    let wanted = |from, to| Some(Wanted::Between { from, to });
    assert_eq!(seat.state.wanted(), wanted(3, u64::MAX));
    seat.press("\u{1b}m");
    seat.sees(&["@7 is marked: c shows what changed since"]);
    seat.state.update(Event::News(at(9)));
    seat.press("c");
    assert_eq!(seat.state.wanted(), wanted(7, u64::MAX));
    let mut changed = object("p", "Pod", "web-1", &["d"]);
    changed["became"] = "changed".into();
    changed["was"] = json!({ "state": "progressing", "standing": "busy" });
    let mut gone = object("c", "ConfigMap", "plain", &[]);
    gone["became"] = "deleted".into();
    let whole = json!({ "from": 7, "to": 9, "changes": [gone, changed] });
    seat.state
        .update(Event::Detail(wanted(7, u64::MAX).unwrap(), Some(whole)));
    seat.sees(&[
        "<objects> <changes since @7>",
        "2 objects differ between @7 and @9",
        "\n- deleted                  ConfigMap shop/plain",
        "\n~ progressing → ready      Pod shop/web-1",
    ]);
    seat.press("jj\n");
    let (from, to) = (7, 9);
    let uid = "p".to_owned();
    assert_eq!(seat.state.wanted(), Some(Wanted::Change { uid, from, to }));
    seat.press(":changes 4 6\n");
    assert_eq!(seat.state.wanted(), wanted(4, 6));
    seat.sees(&["<changes @4 to @6>"]);
    seat.press(":changes of nothing\n");
    seat.sees(&["there is no \"changes of nothing\" here"]);
}

#[test]
fn an_object_is_deleted_and_scaled_only_when_that_is_confirmed_and_allowed() {
    let mut seat = Seat::with_news(true);
    assert_eq!(seat.press("\u{4}"), None);
    seat.sees(&["delete Deployment shop/web? y deletes"]);
    assert_eq!(seat.press("n"), None);
    seat.press("\u{4}");
    let Some(Effect::Delete { name, uid }) = seat.press("y") else {
        panic!("it is not deleted");
    };
    assert_eq!((name.kind.as_str(), uid.as_str()), ("Deployment", "d"));
    seat.state.update(Event::Done(Err("it is protected".to_owned())));
    seat.sees(&["it is protected"]);
    seat.press("s");
    let Some(Effect::Scale { replicas, .. }) = seat.press("1x2\n") else {
        panic!("it is not scaled");
    };
    assert_eq!(replicas, 12);
    let mut looking = Seat::with_news(false);
    assert_eq!(looking.press("\u{4}y"), None);
    assert_eq!(looking.press("s1\n"), None);
    looking.press("\u{1b}\u{4}");
    looking.sees(&["nothing is changed from here"]);
}

#[test]
fn what_is_chosen_stays_chosen_while_others_come_and_go() {
    let mut seat = Seat::with_news(true);
    seat.press(":rec\n");
    let chosen = |seat: &Seat| seat.state.rows[seat.state.view().cursor].anchor();
    let before = chosen(&seat);
    for id in 3..40 {
        seat.state.update(Event::News(
            json!({ "reconciles": { "changed": [reconcile(id, "done")], "oldest": 0, "missed": 0 } }),
        ));
    }
    assert_eq!(chosen(&seat), before);
    seat.sees(&["#2  "]);
    seat.press("g");
    seat.sees(&["#39 "]);
    assert!(!seat.screen().contains("#2  "));
}

#[test]
fn logs_follow_their_end_until_one_looks_back() {
    let mut seat = Seat::with_news(true);
    seat.press(":logs\n");
    for line in 0..100 {
        seat.state.update(Event::Said(format!("line {line}.")));
    }
    seat.sees(&["line 99."]);
    seat.press("kk");
    seat.state.update(Event::Said("line 100.".to_owned()));
    seat.sees(&["line 97."]);
    assert!(!seat.screen().contains("line 100."));
    seat.press("G");
    seat.state.update(Event::Said("line 101.".to_owned()));
    seat.sees(&["line 101."]);
    // The log of a Pod is followed while it is shown.
    seat.press(":po\nj");
    assert!(matches!(seat.press("l"), Some(Effect::FollowLog { uid, .. }) if uid == "p"));
    seat.state
        .update(Event::PodSaid("p".to_owned(), "from the Pod".to_owned()));
    seat.state
        .update(Event::PodSaid("other".to_owned(), "from another".to_owned()));
    let screen = seat.screen();
    assert!(
        screen.contains("from the Pod") && !screen.contains("from another"),
        "{screen}"
    );
    assert_eq!(seat.press("\u{1b}"), Some(Effect::LeaveLog));
}

#[test]
fn a_build_that_fails_is_said_wherever_one_is() {
    let mut seat = Seat::with_news(true);
    let failed = json!({ "session": { "state": "buildFailed", "isRunning": true, "errors": "error[E0425]: cannot find value", "since": 1 } });
    seat.state.update(Event::News(failed));
    seat.sees(&["the operator does not build; the one before goes on: e shows why"]);
    seat.press("e");
    seat.sees(&["error[E0425]: cannot find value"]);
    seat.press(":warn\n\n");
    assert_eq!(seat.state.wanted(), Some(Wanted::Reconcile("2".to_owned())));
}

#[test]
fn ten_thousand_objects_are_a_list_of_what_is_visible() {
    let mut seat = Seat::new(true);
    let all: Vec<Value> = (0..10_000)
        .map(|number| object(&format!("u{number:05}"), "ConfigMap", &format!("c{number:05}"), &[]))
        .collect();
    seat.state.update(Event::News(
        json!({ "objects": { "anew": true, "changed": all, "deleted": [] } }),
    ));
    seat.press("G");
    seat.sees(&["<objects> [10000]", "c09999"]);
    seat.press("/c00042");
    seat.sees(&["[1]", "c00042"]);
}

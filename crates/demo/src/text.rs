//! The demo as text for people: chapters, each with a timeline in which objects are indented below their owners.

use std::fmt::Write as _;
use std::time::Duration;

use kubewright_runtime::controller::Outcome;

use super::line::{Change, ConditionChange, Content, FinishedReconcile, Line, ObjectChange, Pods, Summary};
use super::presenter::Format;
use super::terminal::{Terminal, Tone, escaped_control_characters, padded, shortened, wrapped};

/// The widths of the columns of the timeline: the time and the kind.
const TIME: usize = 10;
const KIND: usize = 18;
/// The width of the detail of an object, and of the gauge of Pods in it.
const DETAIL: usize = 27;
const GAUGE: usize = 8;
const MARGIN: &str = "    ";

/// Text for a terminal.
pub(super) struct Text {
    terminal: Terminal,
    /// The reasons of the last reconcile that was printed. Reconciles for the same reasons are printed together.
    last: Vec<String>,
    held: Option<DelayedReconciles>,
}

/// Reconciles that are printed as one line later. The line has no time, because they took place at several.
struct DelayedReconciles {
    first: u64,
    last: u64,
    took: Duration,
}

impl Text {
    pub(super) fn new(terminal: Terminal) -> Self {
        Text {
            terminal,
            last: Vec::new(),
            held: None,
        }
    }

    /// A line of the timeline.
    fn line(&self, at: impl Into<Option<Duration>>, mark: (&str, Tone), what: &str, text: &str) -> String {
        let time = at.into().map(moment).unwrap_or_default();
        let time = self.terminal.coloured(Tone::Faint, &format!("{time:>TIME$}"));
        let mark = self.terminal.coloured(mark.1, mark.0);
        let what = self.terminal.coloured(Tone::Kind, &padded(what, KIND));
        let line = format!("{time}  {mark} {what} {text}");
        format!("{}\n", line.trim_end())
    }

    /// A continuation of a line of the timeline.
    fn below(&self, text: &str) -> String {
        format!("{}{text}\n", " ".repeat(self.terminal.width - self.room()))
    }

    /// How many characters fit behind the first columns.
    fn room(&self) -> usize {
        self.terminal.width.saturating_sub(TIME + 4 + KIND + 1)
    }

    fn chapter(&mut self, number: usize, title: &str, words: &str) -> String {
        self.last.clear();
        let number = self.terminal.coloured(Tone::Number, &format!("{number:>2}"));
        let mut text = format!("\n{number}  {}\n", self.terminal.coloured(Tone::Title, title));
        for line in wrapped(words, self.terminal.width - MARGIN.len()) {
            let _ = writeln!(text, "{MARGIN}{}", self.terminal.coloured(Tone::Faint, &line));
        }
        text
    }

    fn object(&self, at: Duration, object: &ObjectChange) -> String {
        let mark = match object.change {
            Change::Created => ("+", Tone::Good),
            Change::Changed => ("~", Tone::Change),
            Change::Ready => ("●", Tone::Good),
            Change::Deleted => ("−", Tone::Bad),
            // An object without finalizers is printed when it is gone.
            Change::Leaving if object.detail.is_empty() || object.kind == "Pod" => return String::new(),
            Change::Leaving => ("◌", Tone::Bad),
        };
        let what = format!("{}{}", "  ".repeat(object.depth), object.kind);
        let name_width = self.room().saturating_sub(DETAIL + 2).clamp(12, 44);
        let name = padded(&shortened(&object.name, name_width), name_width);
        let room = self.room().saturating_sub(name_width + 2);
        let (gauge, width) = self.gauge(object.pods, room);
        let room = room.saturating_sub(width);
        // A detail that does not fit is left out.
        let detail = if object.detail.chars().count() <= room {
            self.terminal.coloured(Tone::Faint, &object.detail)
        } else {
            String::new()
        };
        let name = match object.change {
            Change::Deleted => self.terminal.coloured(Tone::Faint, &name),
            _ => name,
        };
        self.line(at, mark, &what, &format!("{name}  {gauge}{detail}"))
    }

    /// One sign for each Pod, padded to the usual width, and the width of the whole. If the signs do not fit: the numbers.
    fn gauge(&self, pods: Option<Pods>, room: usize) -> (String, usize) {
        let Some(pods) = pods else {
            return (String::new(), 0);
        };
        let count = pods.leaving + pods.old + pods.new;
        if count >= room.min(2 * GAUGE) {
            let text = format!("{}/{} ", pods.ready, pods.old + pods.new);
            let width = text.chars().count();
            return (self.terminal.coloured(Tone::Good, &text), width);
        }
        let starting = pods.new.saturating_sub(pods.ready);
        let missing = GAUGE.saturating_sub(count);
        let text = format!(
            "{}{}{}{}{} ",
            self.terminal.coloured(Tone::Faint, &"◇".repeat(pods.leaving)),
            self.terminal.coloured(Tone::Old, &"◆".repeat(pods.old)),
            self.terminal.coloured(Tone::Good, &"●".repeat(pods.ready)),
            self.terminal.coloured(Tone::Faint, &"○".repeat(starting)),
            " ".repeat(missing),
        );
        (text, count + missing + 1)
    }

    fn condition(&self, at: Duration, change: &ConditionChange) -> String {
        // `Degraded` is good if it is `False`; any other condition if it is `True`.
        let is_good = (change.condition == "Degraded") == (change.status == "False");
        let mark = if is_good {
            ("✓", Tone::Good)
        } else {
            ("!", Tone::Change)
        };
        let what = format!("{}{}", "  ".repeat(change.depth), change.kind);
        let why = if change.message.is_empty() {
            &change.reason
        } else {
            &change.message
        };
        let status = format!("{} is {}", change.condition, change.status);
        if status.chars().count() + 2 + why.chars().count() > self.room() {
            let mut lines = self.paragraph(at, mark, &what, &status, Some(mark.1));
            for line in wrapped(why, self.room()) {
                lines.push_str(&self.below(&self.terminal.coloured(Tone::Faint, &line)));
            }
            return lines;
        }
        let (status, why) = (
            self.terminal.coloured(mark.1, &status),
            self.terminal.coloured(Tone::Faint, why),
        );
        self.line(at, mark, &what, &format!("{status}  {why}"))
    }

    fn reconcile(&mut self, at: Duration, work: &FinishedReconcile) -> String {
        let is_routine = work.error.is_none() && work.reasons == ["its timer"];
        if is_routine {
            return String::new();
        }
        if work.error.is_none() && work.reasons == self.last {
            let held = self.held.get_or_insert(DelayedReconciles {
                first: work.number,
                last: work.number,
                took: Duration::ZERO,
            });
            held.last = work.number;
            held.took += work.took;
            return String::new();
        }
        let mut text = self.flush();
        self.last.clone_from(&work.reasons);
        let label = format!("reconcile {}", work.number);
        let took = format!(" · {}", precise(work.took));
        let (end, tone) = match (&work.error, work.outcome) {
            (Some(error), _) => (format!("{took} · failed: {error}"), Tone::Bad),
            (None, Outcome::Requeue) => (format!("{took} · asks for another"), Tone::Faint),
            (None, _) => (took, Tone::Faint),
        };
        text.push_str(&self.work(Some(at), &label, &gathered(&work.reasons), &end, tone));
        text
    }

    /// A line of the timeline, wrapped.
    fn paragraph(&self, at: Duration, mark: (&str, Tone), what: &str, words: &str, tone: Option<Tone>) -> String {
        let coloured = |line: String| tone.map_or_else(|| line.clone(), |tone| self.terminal.coloured(tone, &line));
        let mut lines = wrapped(words, self.room()).into_iter();
        let mut text = self.line(at, mark, what, &coloured(lines.next().unwrap_or_default()));
        for line in lines {
            text.push_str(&self.below(&coloured(line)));
        }
        text
    }

    /// A reconcile: its reasons and its end, wrapped.
    fn work(&self, at: Option<Duration>, label: &str, reasons: &str, end: &str, tone: Tone) -> String {
        let mut lines = wrapped(reasons, self.room());
        match lines.last_mut() {
            Some(last) if last.chars().count() + end.chars().count() <= self.room() => {
                last.push_str(&self.terminal.coloured(tone, end));
            }
            _ => {
                let end = wrapped(end.trim_start_matches(" · "), self.room());
                lines.extend(end.iter().map(|line| self.terminal.coloured(tone, line)));
            }
        }
        let mut lines = lines.into_iter();
        let mut text = self.line(at, ("↻", Tone::Reconcile), label, &lines.next().unwrap_or_default());
        for line in lines {
            text.push_str(&self.below(&line));
        }
        text
    }

    fn command(&self, line: &str) -> String {
        let mut text = String::new();
        let room = self.terminal.width.saturating_sub(MARGIN.len() + 2);
        let lines = if line.chars().count() <= room {
            vec![line.to_owned()]
        } else {
            // A shell would take a word that is split over two lines for two words.
            let words = line.split_whitespace().map(|word| shortened(word, room - 2));
            wrapped(&words.collect::<Vec<_>>().join(" "), room - 2)
        };
        let last = lines.len().saturating_sub(1);
        for (at, line) in lines.iter().enumerate() {
            let begin = if at == 0 { "$" } else { " " };
            let end = if at == last { "" } else { " \\" };
            let line = self.terminal.coloured(Tone::Command, &format!("{begin} {line}{end}"));
            let _ = writeln!(text, "{MARGIN}{line}");
        }
        text
    }

    fn summary(&self, summary: &Summary) -> String {
        let Summary { start_up, .. } = summary;
        let failed = match summary.failed {
            0 => "none failed".to_owned(),
            count => format!("{count} failed"),
        };
        let mean = summary.reconciling / u32::try_from(summary.reconciles.max(1)).unwrap_or(u32::MAX);
        let rows = [
            (
                "Start-up",
                format!(
                    "{} until the operator's webhooks answered: API server {}, nodes {}, installation {}, operator {}",
                    moment(start_up.total()),
                    moment(start_up.server),
                    moment(start_up.nodes),
                    moment(start_up.install),
                    moment(start_up.operator),
                ),
            ),
            (
                "Reconciles",
                format!(
                    "{} by the operator, {} on average, {failed}; {} by the cluster's own controllers",
                    summary.reconciles,
                    precise(mean),
                    summary.others
                ),
            ),
            (
                "Writes",
                format!(
                    "{} at the API server, {} of them by the operator",
                    summary.writes, summary.own_writes
                ),
            ),
            (
                "Time",
                match summary.paused {
                    Duration::ZERO => moment(summary.took),
                    _ => format!(
                        "{}, of which {} were pauses for you; --fast makes none",
                        moment(summary.took),
                        moment(summary.paused)
                    ),
                },
            ),
        ];
        let mut text = format!("\n    {}\n", self.terminal.coloured(Tone::Title, "In numbers"));
        for (what, said) in rows {
            let mut lines = wrapped(&said, self.terminal.width.saturating_sub(16)).into_iter();
            let what = self.terminal.coloured(Tone::Kind, &padded(what, 12));
            let _ = writeln!(text, "{MARGIN}{what}{}", lines.next().unwrap_or_default());
            for line in lines {
                let _ = writeln!(text, "{MARGIN}{}{line}", " ".repeat(12));
            }
        }
        text
    }

    fn end(&self, again: &str) -> String {
        let words = "The cluster is gone. To keep it, look at its pages and play with it with kubectl:";
        let mut text = "\n".to_owned();
        for line in wrapped(words, self.terminal.width - MARGIN.len()) {
            let _ = writeln!(text, "{MARGIN}{line}");
        }
        let _ = writeln!(text, "\n{MARGIN}  {}\n", self.terminal.coloured(Tone::Command, again));
        text
    }

    /// The link is whole and on a line of its own, however narrow the terminal is: one in pieces can be neither clicked nor copied.
    fn inside(&self, at: Duration, link: &str) -> String {
        let words = "a page shows each reconcile and what woke it, with this story beside it:";
        let text = self.paragraph(at, ("•", Tone::Change), "inside", words, None);
        format!("{text}\n{MARGIN}  {}\n", self.terminal.coloured(Tone::Command, link))
    }

    fn serving(&self, pages: &str, export: &str) -> String {
        let command = |text: &str| self.terminal.coloured(Tone::Command, text);
        let faint = |text: &str| self.terminal.coloured(Tone::Faint, text);
        format!(
            "\n    {}\n    {}\n\n      {}\n      {}\n\n    {}\n\n",
            self.terminal
                .coloured(Tone::Title, &format!("The pages are on {pages}")),
            faint("The cluster stays. In another terminal:"),
            command(export),
            command("kubectl get markdownviews,deployments,pods"),
            faint("What you do to it shows below. Ctrl-C ends it."),
        )
    }
}

impl Format for Text {
    fn render(&mut self, line: &Line) -> String {
        let at = line.since_chapter;
        match &without_control_characters(&line.content) {
            Content::Chapter { title, words } => {
                let text = self.flush();
                text + &self.chapter(line.chapter, title, words)
            }
            Content::Command(line) => self.command(line),
            Content::Fact { subject, text } => self.paragraph(at, ("•", Tone::Good), subject, text, None),
            Content::Object(object) => self.object(at, object),
            Content::Condition(change) => self.condition(at, change),
            Content::Reconcile(work) => self.reconcile(at, work),
            Content::Denied { reason, message } => {
                let text = format!("Error from server ({reason}): {message}");
                self.paragraph(at, ("✗", Tone::Bad), "denied", &text, Some(Tone::Bad))
            }
            Content::Warning(text) => self.paragraph(at, ("!", Tone::Change), "note", text, None),
            Content::Summary(summary) => self.summary(summary),
            Content::Inside { link } => self.inside(at, link),
            Content::Serving { pages, export, .. } => self.serving(pages, export),
            Content::End { again } => self.end(again),
        }
    }

    fn flush(&mut self) -> String {
        let Some(held) = self.held.take() else {
            return String::new();
        };
        let count = held.last - held.first + 1;
        let label = match count {
            1 => format!("reconcile {}", held.first),
            _ => format!("reconcile {}–{}", held.first, held.last),
        };
        let mean = precise(held.took / u32::try_from(count).unwrap_or(u32::MAX));
        let took = match count {
            1 => format!(" · {mean}"),
            _ => format!(" · {mean} each"),
        };
        self.work(None, &label, &gathered(&self.last), &took, Tone::Faint)
    }
}

/// Escapes control characters, which a terminal would obey: anyone who writes to the cluster chooses names and messages.
fn without_control_characters(content: &Content) -> Content {
    let mut content = content.clone();
    let texts: Vec<&mut String> = match &mut content {
        Content::Command(text) | Content::Warning(text) | Content::Fact { text, .. } | Content::End { again: text } => {
            vec![text]
        }
        Content::Object(object) => vec![&mut object.kind, &mut object.name, &mut object.detail],
        Content::Condition(ConditionChange {
            kind,
            condition,
            status,
            reason,
            message,
            ..
        }) => vec![kind, condition, status, reason, message],
        Content::Reconcile(work) => work.reasons.iter_mut().chain(&mut work.error).collect(),
        Content::Denied { reason, message } => vec![reason, message],
        Content::Inside { link } => vec![link],
        Content::Serving { pages, export, .. } => vec![pages, export],
        Content::Chapter { .. } | Content::Summary(_) => Vec::new(),
    };
    for text in texts {
        *text = escaped_control_characters(text);
    }
    content
}

/// A moment of the timeline: `12 ms`, `1.24 s`.
fn moment(at: Duration) -> String {
    match at.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        millis @ 1000..10_000 => format!("{:.2} s", millis as f64 / 1000.0),
        millis => format!("{:.1} s", millis as f64 / 1000.0),
    }
}

/// How long something short took.
fn precise(took: Duration) -> String {
    match took.as_micros() {
        micros @ 0..100_000 => format!("{:.1} ms", micros as f64 / 1000.0),
        _ => moment(took),
    }
}

/// Reasons, grouped by what happened: `ConfigMap, Service created`.
fn gathered(reasons: &[String]) -> String {
    let mut gathered: Vec<(Vec<&str>, &str)> = Vec::new();
    for reason in reasons {
        // A kind and what happened to it.
        let (what, change) = match reason.split_once(' ') {
            Some((kind, change)) if !change.contains(' ') && kind.starts_with(char::is_uppercase) => (kind, change),
            _ => (reason.as_str(), ""),
        };
        match gathered
            .iter_mut()
            .find(|(_, same)| *same == change && !change.is_empty())
        {
            Some((all, _)) => all.push(what),
            None => gathered.push((vec![what], change)),
        }
    }
    let said = gathered.into_iter().map(|(what, change)| {
        let text = format!("{} {change}", what.join(", "));
        text.trim_end().to_owned()
    });
    said.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(content: Content) -> Line {
        Line {
            since_start: Duration::from_secs(3),
            since_chapter: Duration::from_millis(12),
            chapter: 3,
            content,
        }
    }

    fn work(number: u64, reasons: &[&str]) -> Content {
        Content::Reconcile(FinishedReconcile {
            number,
            object: "default/docs".to_owned(),
            reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
            outcome: Outcome::Success,
            error: None,
            took: Duration::from_millis(2),
        })
    }

    fn pod(change: Change) -> Content {
        Content::Object(ObjectChange {
            change,
            kind: "Pod".to_owned(),
            namespace: "default".to_owned(),
            name: "viewer-markdownview-sample-695c9996cc-x9fl4".to_owned(),
            owner: Some("ReplicaSet/viewer-markdownview-sample-695c9996cc".to_owned()),
            depth: 3,
            detail: "ready on node-1".to_owned(),
            pods: Some(Pods {
                old: 2,
                new: 3,
                ready: 2,
                leaving: 1,
            }),
        })
    }

    #[test]
    fn reconciles_for_the_same_reasons_are_printed_together() {
        let mut text = Text::new(Terminal::plain(100));
        let first = text.render(&line(work(4, &["Deployment updated"])));
        assert_eq!(first, "     12 ms  ↻ reconcile 4        Deployment updated · 2.0 ms\n");
        for number in 5..8 {
            assert_eq!(text.render(&line(work(number, &["Deployment updated"]))), "");
        }
        let both = text.render(&line(work(8, &["Service deleted"])));
        let lines: Vec<&str> = both.lines().collect();
        assert_eq!(
            lines[0],
            "            ↻ reconcile 5–7      Deployment updated · 2.0 ms each"
        );
        assert!(lines[1].contains("reconcile 8 "), "{both}");
        assert_eq!(text.flush(), "");
    }

    #[test]
    fn what_reasons_have_in_common_is_said_once() {
        let reasons = [
            "ConfigMap created",
            "Deployment updated",
            "Service created",
            "its timer",
        ];
        assert_eq!(
            gathered(&reasons.map(str::to_owned)),
            "ConfigMap, Service created; Deployment updated; its timer"
        );
    }

    #[test]
    fn a_pod_stands_below_its_owners_beside_the_others() {
        let line = Text::new(Terminal::plain(100)).render(&line(pod(Change::Ready)));
        assert_eq!(
            line,
            "     12 ms  ●       Pod          …-markdownview-sample-695c9996cc-x9fl4  ◇◆◆●●○   ready on node-1\n"
        );
    }

    fn condition(message: &str) -> Content {
        Content::Condition(ConditionChange {
            kind: "MarkdownView".to_owned(),
            namespace: "default".to_owned(),
            name: "docs".to_owned(),
            depth: 0,
            condition: "Available".to_owned(),
            status: "False".to_owned(),
            reason: "NotYet".to_owned(),
            message: message.to_owned(),
        })
    }

    /// One line of each kind, with `text` wherever users or the cluster choose the text.
    fn everything(text: &str) -> [Content; 12] {
        let mut failed = work(1, &[text]);
        let mut crowded = pod(Change::Created);
        let mut named = pod(Change::Changed);
        if let (Content::Reconcile(work), Content::Object(crowd), Content::Object(object)) =
            (&mut failed, &mut crowded, &mut named)
        {
            work.error = Some(text.to_owned());
            crowd.pods = Some(Pods {
                new: 1000,
                ready: 990,
                ..Pods::default()
            });
            (object.name, object.detail) = (text.to_owned(), text.to_owned());
        }
        [
            failed,
            crowded,
            named,
            pod(Change::Deleted),
            work(2, &["its timer", text]),
            condition(text),
            Content::Command(text.to_owned()),
            Content::Warning(text.to_owned()),
            Content::Fact {
                subject: "Operator",
                text: text.to_owned(),
            },
            Content::Summary(Summary::default()),
            Content::Denied {
                reason: "Invalid".to_owned(),
                message: text.to_owned(),
            },
            Content::End {
                again: "kubewright demo --serve".to_owned(),
            },
        ]
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen";
        let word = format!("kubectl apply -f {}view.yaml", "a-folder/".repeat(30));
        for (width, text) in [60, 80, 100, 120]
            .into_iter()
            .flat_map(|width| [(width, words), (width, word.as_str())])
        {
            let mut format = Text::new(Terminal::plain(width));
            for content in everything(text) {
                for line in format.render(&line(content)).lines() {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn nothing_from_the_cluster_reaches_the_terminal_as_a_command() {
        let mut format = Text::new(Terminal::plain(100));
        for content in everything("a\u{1b}]0;owned\u{7}\u{9b}2J\nb") {
            let lines = format.render(&line(content));
            assert!(!lines.chars().any(|c| c.is_control() && c != '\n'), "{lines:?}");
        }
        let line = format.render(&line(condition("\u{1b}[31mred")));
        assert_eq!(
            line,
            "     12 ms  ! MarkdownView       Available is False  \\u{1b}[31mred\n"
        );
    }

    #[test]
    fn a_long_condition_goes_on_below() {
        let text = "AvailableReplicas is 0, and 3 are wanted";
        let lines = Text::new(Terminal::plain(60)).render(&line(condition(text)));
        let below = " ".repeat(33);
        assert_eq!(
            lines,
            format!(
                "     12 ms  ! MarkdownView       Available is False\n{below}AvailableReplicas is 0, and\n{below}3 are wanted\n"
            )
        );
    }
}

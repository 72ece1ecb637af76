//! Plays a case on the real server and on the embedded one, and compares their answers.

use std::sync::{Arc, LazyLock, mpsc};
use std::thread;
use std::time::SystemTime;

use regex::Regex;
use serde_json::Value;
use tokio::sync::{RwLock, oneshot};

use super::decoded::Decoded;
use crate::case::{CaseFile, Variant};
use crate::diff::{Difference, differences};
use crate::embedded::Embedded;
use crate::normalise::transcript_of;
use crate::run::{NAMESPACES, PlayedCase, play};
use crate::seconds;
use crate::target::Target;

/// The server's own address; in protobuf with the lengths of the messages that it is in.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s:(?:.\n\x02v1\x12.\n\t0\.0\.0\.0/0\x12.)?127\.0\.0\.1:[0-9]+)").expect("the pattern is valid")
});

/// What a case writes that other cases would meet: defaults for all Pods, claims and Ingresses.
const DEFAULTS_FOR_ALL: [&str; 2] = ["globalDefault: true", "is-default-class"];

/// How often the real server is asked again before a difference counts.
const ATTEMPTS: usize = 5;

/// The same where it goes through maps: of a small one, Go begins anywhere, so that most orders are rare.
const ATTEMPTS_AT_MAPS: usize = 40;

/// The two servers.
pub struct Pair {
    real: Arc<dyn Target>,
    /// Held to write by a case that others on the real server would notice, and to read by all others. Each case has an embedded
    /// server of its own.
    shared: RwLock<()>,
    embedded: mpsc::Sender<Played>,
}

type Played = (Arc<CaseFile>, oneshot::Sender<PlayedCase>);

/// What a comparison found.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every one of so many answers is equal.
    Equal(usize),
    /// So many answers are equal, and the next one is not.
    Different(usize, Vec<Difference>),
    /// So many answers are equal; to the next request the real server never gives the embedded one's answer, and not twice the same: this
    /// is how its last two differ.
    Unstable(usize, Vec<Difference>),
}

impl Pair {
    /// The real server and a thread that starts an embedded one for each case, on a clock of its own that waits for nothing.
    pub fn new(real: Arc<dyn Target>) -> std::io::Result<Self> {
        let real: Arc<dyn Target> = Arc::new(Decoded(real));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()?;
        let (embedded, asked) = mpsc::channel::<Played>();
        thread::spawn(move || {
            for (file, answer) in asked {
                let played = runtime.block_on(async {
                    // In a task of its own, a panic of the server fails this case and not the whole run.
                    let server = Decoded(Embedded::start());
                    tokio::spawn(async move { play(&server, &file, &Variant::default(), "fuzz").await }).await
                });
                drop(answer.send(played.unwrap_or_else(|error| PlayedCase {
                    steps: Vec::new(),
                    failure: Some(format!("the server panicked: {error}")),
                    namespace: "none".to_owned(),
                    unique: "none".to_owned(),
                    places: Vec::new(),
                })));
            }
        });
        Ok(Pair {
            real,
            shared: RwLock::new(()),
            embedded,
        })
    }

    async fn ours(&self, file: &Arc<CaseFile>) -> PlayedCase {
        let (sender, answer) = oneshot::channel();
        self.embedded
            .send((Arc::clone(file), sender))
            .expect("the thread of the embedded server lives as long as the pair");
        answer.await.expect("the embedded server's thread answers every case")
    }

    async fn theirs(&self, file: &CaseFile) -> PlayedCase {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let (variant, now) = (Variant::default(), now.to_string());
        let played = || play(&*self.real, file, &variant, &now);
        let text = &file.source;
        if DEFAULTS_FOR_ALL.iter().any(|default| text.contains(default)) {
            let _alone = self.shared.write().await;
            let result = played().await;
            // What the case wrote is deleted, but the plugins of the real server learn that from their caches.
            tokio::time::sleep(self.real.takes_effect_within()).await;
            return result;
        }
        let _together = self.shared.read().await;
        played().await
    }

    /// Compares once.
    pub async fn once(&self, file: &Arc<CaseFile>) -> Verdict {
        let (theirs, ours) = tokio::join!(self.theirs(file), self.ours(file));
        compared(file, &theirs, &ours)
    }

    /// Compares; a difference counts if the real server answers the same once more.
    pub async fn settled(&self, file: &Arc<CaseFile>) -> Verdict {
        let (mut last, ours) = tokio::join!(self.theirs(file), self.ours(file));
        let mut verdict = compared(file, &last, &ours);
        let mut varied = (0, Vec::new());
        for attempt in 0..ATTEMPTS_AT_MAPS {
            if matches!(verdict, Verdict::Equal(_)) {
                return verdict;
            }
            let goes_through_maps = is_reordered(&verdict) || is_cut_short(&verdict);
            if attempt >= ATTEMPTS && !goes_through_maps {
                break;
            }
            let next = self.theirs(file).await;
            verdict = compared(file, &next, &ours);
            match compared(file, &last, &next) {
                // The same mistakes twice in another order may be chance.
                Verdict::Equal(_) if is_reordered(&verdict) || is_cut_short(&verdict) => {}
                Verdict::Equal(_) => return verdict,
                Verdict::Different(equal, differences) | Verdict::Unstable(equal, differences) => {
                    varied = (equal, differences);
                }
            }
            last = next;
        }
        match verdict {
            Verdict::Equal(_) => verdict,
            // What differs before the real server begins to vary, or without that it varies, is a difference like any other.
            Verdict::Different(equal, _) if varied.1.is_empty() || equal < varied.0 => verdict,
            _ => Verdict::Unstable(varied.0, varied.1),
        }
    }
}

/// Whether both servers name the same causes of a refusal, in another order.
fn is_reordered(verdict: &Verdict) -> bool {
    let Verdict::Different(_, differences) = verdict else {
        return false;
    };
    let causes = || differences.iter().filter(|difference| difference.at != "/body/message");
    let sorted = |side: fn(&Difference) -> &Option<Value>| {
        let mut values: Vec<String> = causes().map(|difference| format!("{:?}", side(difference))).collect();
        values.sort();
        values
    };
    causes().next().is_some()
        && causes().all(|difference| difference.at.starts_with("/body/details/causes/"))
        && sorted(|difference| &difference.expected) == sorted(|difference| &difference.actual)
}

/// Whether both servers say what is wrong with the type of an applied object. The real one goes through the fields of an object in any order
/// and goes no further once it finds one that is not in the schema.
fn is_cut_short(verdict: &Verdict) -> bool {
    let Verdict::Different(_, differences) = verdict else {
        return false;
    };
    let is_of_type = |message: &Option<Value>| {
        let text = message.as_ref().and_then(Value::as_str).unwrap_or_default();
        text.starts_with("failed to create typed") && text.contains("field not declared in schema")
    };
    differences.iter().all(|difference| {
        difference.at == "/body/message" && is_of_type(&difference.expected) && is_of_type(&difference.actual)
    })
}

/// Leaves out the groups of definitions that other cases have on the real server at the same time.
fn leave_out_others(body: &mut Value) {
    if let Some(paths) = body.get_mut("paths").and_then(Value::as_array_mut) {
        paths.retain(|path| !path.as_str().is_some_and(|path| path.starts_with("/apis/unique-")));
    }
}

/// Sorts what is wrong with the type of an applied object: the real server finds it while it goes through maps, in any order.
fn sort_type_errors(message: &mut Value) {
    let Some((head, lines)) = message.as_str().and_then(|text| text.split_once("errors:\n")) else {
        return;
    };
    if head.starts_with("failed to create typed") {
        let mut lines: Vec<&str> = lines.lines().collect();
        lines.sort_unstable();
        *message = format!("{head}errors:\n{}", lines.join("\n")).into();
    }
}

/// The frames of a watch that was read to its end, of which the order of members does not matter.
fn frames(body: &Value) -> Option<Value> {
    let text = body.as_str().filter(|text| text.starts_with('{'))?;
    let frames: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    frames.ok().map(Value::Array)
}

/// Leaves out of a list or a Table what is in the namespaces that other cases have on the real server at the same time, these themselves, and
/// what a server tells of itself in `kube-system`: its authorities, and since when it runs.
fn leave_out_other_namespaces(body: &mut Value, own: &str) {
    let is_others = |item: &Value| {
        let metadata = &item.get("object").unwrap_or(item)["metadata"];
        let (name, namespace) = (metadata["name"].as_str(), metadata["namespace"].as_str());
        let is_case = |place: &str| place.starts_with(NAMESPACES) && place != own;
        namespace == Some("kube-system") || namespace.or(name).is_some_and(is_case)
    };
    for members in ["items", "rows"] {
        if let Some(items) = body.get_mut(members).and_then(Value::as_array_mut) {
            items.retain(|item| !is_others(item));
        }
    }
}

/// The same run without what other cases wrote, and with the frames of watches as a replay has them, so that versions of bookmarks and the order
/// of managers are told as there.
fn alone(played: &PlayedCase) -> PlayedCase {
    let mut played = played.clone();
    for step in &mut played.steps {
        if let Some(frames) = frames(&step["body"]) {
            step["body"] = frames;
        }
        leave_out_other_namespaces(&mut step["body"], &played.namespace);
    }
    played
}

/// Compares two runs of a case up to the first step that differs, since what follows is a consequence of it.
fn compared(file: &CaseFile, theirs: &PlayedCase, ours: &PlayedCase) -> Verdict {
    let (theirs, ours) = (&alone(theirs), &alone(ours));
    // The embedded server's clock stands still. Where a second ended on the real one, the order of managers says when it did.
    let timed = !seconds::crossed(file, &theirs.steps) && !seconds::crossed(file, &ours.steps);
    let told = |played: &PlayedCase| {
        let mut steps = transcript_of(file, &Variant::default(), played, timed);
        for step in steps.as_array_mut().into_iter().flatten() {
            leave_out_others(&mut step["body"]);
            if let Some(message) = step.pointer_mut("/body/message") {
                sort_type_errors(message);
            }
            if let Value::String(text) = &step["body"] {
                // Discovery has the server's own address, which is a field of its own in JSON alone.
                step["body"] = ADDRESS.replace_all(text, "<server-address>").into();
            }
        }
        steps
    };
    let found = differences(&told(theirs), &told(ours));
    if let Some(step) = found.iter().map(|difference| difference.step).min() {
        return Verdict::Different(
            step - 1,
            found.into_iter().filter(|difference| difference.step == step).collect(),
        );
    }
    if theirs.failure.is_some() == ours.failure.is_some() {
        return Verdict::Equal(theirs.steps.len());
    }
    let shown = |played: &PlayedCase| played.failure.clone().map(Value::from);
    let failed = Difference {
        step: theirs.steps.len() + 1,
        at: "/failure".to_owned(),
        expected: shown(theirs),
        actual: shown(ours),
    };
    Verdict::Different(theirs.steps.len(), vec![failed])
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use bytes::Bytes;
    use http::{Request, Response};
    use http_body_util::{BodyExt as _, Full};
    use serde_json::json;

    use super::super::generated::{GeneratedCase, Step};
    use super::super::weights::Class;
    use super::*;
    use crate::kubelet::ServePort;
    use crate::target::{AuditAnnotations, Compaction, ResponseFuture, RunPodFuture, UpgradeFuture};

    /// An embedded server that gives other answers for `/version`: these, one after another, and then the last one again.
    struct Scripted {
        server: Arc<dyn Target>,
        answers: Mutex<VecDeque<Value>>,
        asked: Mutex<usize>,
    }

    impl Scripted {
        fn new(answers: impl IntoIterator<Item = Value>) -> Arc<Self> {
            Arc::new(Scripted {
                server: Embedded::start(),
                answers: Mutex::new(answers.into_iter().collect()),
                asked: Mutex::new(0),
            })
        }
    }

    impl Target for Scripted {
        fn send(&self, request: Request<Bytes>) -> ResponseFuture<'_> {
            if request.uri().path() != "/version" {
                return self.server.send(request);
            }
            *self.asked.lock().unwrap() += 1;
            let mut answers = self.answers.lock().unwrap();
            let answer = match answers.len() {
                0 => panic!("a script has an answer"),
                1 => answers[0].clone(),
                _ => answers.pop_front().unwrap_or_default(),
            };
            drop(answers);
            let body = Full::new(Bytes::from(answer.to_string())).map_err(|never| match never {});
            let response = Response::builder()
                .header("content-type", "application/json")
                .header("audit-id", "of a script")
                .header("cache-control", "no-cache, private");
            let response = response.body(body.boxed_unsync()).unwrap();
            Box::pin(std::future::ready(Ok(response)))
        }

        fn upgrade(&self, request: Request<Bytes>) -> UpgradeFuture<'_> {
            self.server.upgrade(request)
        }

        fn run_pod<'a>(
            &'a self,
            namespace: &'a str,
            pod: &'a str,
            ports: Vec<(String, ServePort)>,
        ) -> RunPodFuture<'a> {
            self.server.run_pod(namespace, pod, ports)
        }

        fn compact(&self) -> Compaction<'_> {
            self.server.compact()
        }

        fn audit_annotations<'a>(&'a self, id: &'a str) -> AuditAnnotations<'a> {
            self.server.audit_annotations(id)
        }
    }

    fn case(steps: Vec<Step>) -> Arc<CaseFile> {
        let case = GeneratedCase {
            class: Class::Http,
            seed: 0,
            index: 0,
            given: Vec::new(),
            steps: steps.into_iter().map(Into::into).collect(),
        };
        Arc::new(case.file().unwrap())
    }

    fn played(bodies: &[Value]) -> PlayedCase {
        PlayedCase {
            steps: bodies.iter().map(|body| json!({"status": 200, "body": body})).collect(),
            failure: None,
            namespace: "ns".to_owned(),
            unique: "unique-1".to_owned(),
            places: Vec::new(),
        }
    }

    fn steps(count: usize) -> Arc<CaseFile> {
        case((0..count).map(|_| Step::new("GET", "/version")).collect())
    }

    /// The verdict about such bodies of the two servers.
    fn told(theirs: &[Value], ours: &[Value]) -> Verdict {
        compared(&steps(theirs.len()), &played(theirs), &played(ours))
    }

    fn causes(fields: [&str; 2]) -> Value {
        let causes = fields.map(|field| json!({"field": field, "message": "wrong"}));
        json!({"message": fields.join(" and "), "details": {"causes": causes}})
    }

    #[test]
    fn a_case_is_compared_up_to_the_first_step_that_differs() {
        let (same, one, other) = (json!({"a": 1}), json!({"b": 1, "c": 1}), json!({"b": 2, "c": 2}));
        assert_eq!(
            told(&[same.clone(), one.clone()], &[same.clone(), one.clone()]),
            Verdict::Equal(2)
        );
        let verdict = told(
            &[same.clone(), one.clone(), same.clone()],
            &[same, other.clone(), other],
        );
        let Verdict::Different(1, differences) = verdict else {
            panic!("{verdict:?}");
        };
        let places: Vec<_> = differences
            .iter()
            .map(|difference| (difference.step, &*difference.at))
            .collect();
        assert_eq!(places, [(2, "/body/b"), (2, "/body/c")]);
        assert_eq!(
            (&differences[0].expected, &differences[0].actual),
            (&Some(json!(1)), &Some(json!(2)))
        );
    }

    #[test]
    fn a_case_that_one_server_cannot_play_to_its_end_differs_behind_its_last_step() {
        let (whole, mut broken) = (played(&[json!(1)]), played(&[json!(1)]));
        broken.failure = Some("the connection ended".to_owned());
        let verdict = compared(&steps(1), &whole, &broken);
        assert!(
            matches!(&verdict, Verdict::Different(1, differences) if differences[0].at == "/failure"),
            "{verdict:?}"
        );
        assert_eq!(compared(&steps(1), &broken, &broken), Verdict::Equal(1));
    }

    #[test]
    fn what_no_two_servers_share_is_not_compared() {
        let paths = |others: &[&str]| {
            let paths = [&["/api"], others].concat();
            json!({ "paths": paths })
        };
        assert_eq!(told(&[paths(&["/apis/unique-2.x"])], &[paths(&[])]), Verdict::Equal(1));
        assert_ne!(told(&[paths(&["/apis/apps"])], &[paths(&[])]), Verdict::Equal(1));
        let address = |port: u16| json!(format!("at 127.0.0.1:{port}"));
        assert_eq!(told(&[address(1)], &[address(2)]), Verdict::Equal(1));
        let errors = |lines: &str| json!({"message": format!("failed to create typed patch object: errors:\n{lines}")});
        assert_eq!(told(&[errors("a\nb")], &[errors("b\na")]), Verdict::Equal(1));
        assert_ne!(told(&[errors("a\nb")], &[errors("a\nc")]), Verdict::Equal(1));
        let object = |namespace: &str| json!({"metadata": {"name": "a", "namespace": namespace}});
        let list = |namespaces: &[&str]| json!({"items": namespaces.iter().copied().map(object).collect::<Vec<_>>()});
        let others = list(&["case-other", "default", "kube-system"]);
        assert_eq!(told(&[others], &[list(&["default"])]), Verdict::Equal(1));
        assert_ne!(told(&[list(&["default"])], &[list(&[])]), Verdict::Equal(1));
        let rows = json!({"rows": [{"object": {"metadata": {"name": "case-other"}}}]});
        assert_eq!(told(&[rows], &[json!({"rows": []})]), Verdict::Equal(1));
    }

    #[test]
    fn causes_in_another_order_are_told_from_other_causes() {
        let is_reordered = |one: Value, other: Value| is_reordered(&told(&[one], &[other]));
        assert!(is_reordered(causes(["x", "y"]), causes(["y", "x"])));
        assert!(!is_reordered(causes(["x", "y"]), causes(["x", "z"])));
        assert!(!is_reordered(causes(["x", "y"]), causes(["x", "y"])));
        let mut coded = causes(["y", "x"]);
        coded["code"] = json!(409);
        assert!(!is_reordered(causes(["x", "y"]), coded));
        let message = |text: &str| json!({"message": text});
        assert!(!is_reordered(message("x and y"), message("y and x")));
    }

    /// What comes of a case whose only request these answers are given to, of which `None` is the embedded server's, and how often it was
    /// asked.
    async fn settled(answers: &[Option<Value>]) -> (Verdict, usize) {
        let request = Request::get("/version").body(Bytes::new()).unwrap();
        let ours = Embedded::start().send(request).await.unwrap();
        let ours = ours.into_body().collect().await.unwrap().to_bytes();
        let ours: Value = serde_json::from_slice(&ours).unwrap();
        let real = Scripted::new(
            answers
                .iter()
                .map(|answer| answer.clone().unwrap_or_else(|| ours.clone())),
        );
        let pair = Pair::new(Arc::clone(&real) as Arc<dyn Target>).unwrap();
        let verdict = pair.settled(&case(vec![Step::new("GET", "/version")])).await;
        let asked = *real.asked.lock().unwrap();
        (verdict, asked)
    }

    #[tokio::test]
    async fn a_difference_counts_if_the_real_server_answers_the_same_once_more() {
        let (same, other) = (Some(json!({"major": "2"})), Some(json!({"major": "3"})));
        assert_eq!(settled(&[None]).await, (Verdict::Equal(1), 1));
        let (verdict, asked) = settled(std::slice::from_ref(&same)).await;
        assert!(matches!(verdict, Verdict::Different(0, _)), "{verdict:?}");
        assert_eq!(asked, 2);
        // It came to our answer, or to one that it keeps to.
        assert_eq!(settled(&[same.clone(), None]).await, (Verdict::Equal(1), 2));
        let (verdict, asked) = settled(&[same, other.clone(), other]).await;
        assert!(matches!(verdict, Verdict::Different(0, _)), "{verdict:?}");
        assert_eq!(asked, 3);
    }

    #[tokio::test]
    async fn a_server_that_never_answers_the_same_twice_is_unstable() {
        let answers: Vec<_> = (0..6).map(|at| Some(json!({"major": at}))).collect();
        let (verdict, asked) = settled(&answers).await;
        let Verdict::Unstable(0, differences) = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(asked, 6);
        // Its last two answers.
        assert_eq!(
            (&differences[0].expected, &differences[0].actual),
            (&Some(json!(4)), &Some(json!(5)))
        );
    }
}

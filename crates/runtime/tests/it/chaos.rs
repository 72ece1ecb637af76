//! A server on a bad day: refusals, failures, answers that get lost and watches that break. What is wanted comes about all the
//! same, once, and nothing is left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use http::{Method, Request as HttpRequest, Response, StatusCode};
use http_body_util::{BodyDataStream, BodyExt as _, StreamBody};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::client::Body;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::helpers::{ignore_not_found, set_controller_reference};
use kubewright_runtime::client::{Client, Error, Outcome};
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::informer::{Cache, Declarations};
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::operator::Operator;
use kubewright_runtime::random::Random;
use kubewright_runtime::stop::Stopper;
use serde_json::json;

use super::support::{BoxError, LayerResponse, config_map_with, unchanged};

/// What goes wrong, and how often it did.
#[derive(Clone, Default)]
struct Chaos {
    on: Arc<AtomicBool>,
    dice: Arc<AtomicU64>,
    troubles: Arc<[AtomicUsize; 5]>,
    writes: Arc<AtomicUsize>,
    watches: Arc<AtomicUsize>,
}

/// A watch that is open, as long as it is not dropped.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(count))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Chaos {
    fn seeded(seed: u64) -> Self {
        let chaos = Chaos::default();
        chaos.dice.store(seed, Ordering::Relaxed);
        chaos
    }

    /// A number below `sides`, the same in every run (splitmix64).
    fn roll(&self, sides: u64) -> u64 {
        let state = self.dice.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    /// Counts a trouble.
    fn note(&self, which: usize) {
        self.troubles[which].fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> [usize; 5] {
        std::array::from_fn(|which| self.troubles[which].load(Ordering::Relaxed))
    }

    fn client(&self, server: &ApiServer) -> kube::Client {
        let (chaos, plain) = (self.clone(), server.client());
        let service = tower::service_fn(move |request| {
            let (chaos, plain) = (chaos.clone(), plain.clone());
            async move { chaos.send(plain, request).await }
        });
        kube::Client::new(service, "default")
    }

    /// Sends a request; about every third meets with trouble.
    async fn send(&self, plain: kube::Client, request: HttpRequest<Body>) -> Result<LayerResponse, kube::Error> {
        let is_write = request.method() != Method::GET;
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch="));
        if is_write {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        let answered = |answer| {
            if is_watch {
                self.brittle(answer)
            } else {
                unchanged(answer)
            }
        };
        if !self.on.load(Ordering::Relaxed) {
            return plain.send(request).await.map(answered);
        }
        match self.roll(12) {
            0 if is_write => {
                self.note(0);
                Ok(unchanged(refusal(StatusCode::CONFLICT, "Conflict")))
            }
            1 => {
                self.note(1);
                Ok(unchanged(refusal(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests")))
            }
            2 => {
                self.note(2);
                Ok(unchanged(refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")))
            }
            3 => {
                // Done, but nobody hears of it.
                plain.send(request).await?;
                self.note(3);
                Err(kube::Error::Service("timed out".into()))
            }
            _ => plain.send(request).await.map(answered),
        }
    }

    /// A watch that breaks at any frame, which is lost.
    fn brittle(&self, answer: Response<Body>) -> LayerResponse {
        let (chaos, open) = (self.clone(), Open::new(&self.watches));
        answer.map(|body| {
            let frames = BodyDataStream::new(body).take_while(move |_| {
                let _held = &open;
                let breaks = chaos.on.load(Ordering::Relaxed) && chaos.roll(5) == 0;
                if breaks {
                    chaos.note(4);
                }
                std::future::ready(!breaks)
            });
            StreamBody::new(frames.map_ok(hyper::body::Frame::data).map_err(BoxError::from)).boxed_unsync()
        })
    }
}

fn refusal(code: StatusCode, reason: &str) -> Response<Body> {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "reason": reason, "message": "on purpose", "code": code.as_u16(),
    });
    let answer = Response::builder()
        .status(code)
        .header("content-type", "application/json");
    let answer = if code == StatusCode::TOO_MANY_REQUESTS {
        answer.header("retry-after", "1")
    } else {
        answer
    };
    answer.body(Body::from(status.to_string().into_bytes())).unwrap()
}

fn value(object: &ConfigMap) -> &str {
    &object.data.as_ref().unwrap()["key"]
}

/// Tries until it works, as a queue would.
async fn persistently<T>(mut attempt: impl AsyncFnMut() -> Result<T, Error>) -> T {
    for _ in 0..200 {
        if let Ok(done) = attempt().await {
            return done;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("200 attempts failed");
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

async fn own(server: &ApiServer) -> Vec<(String, String)> {
    let user = Client::new(server.client(), Cache::default()).live();
    let objects = user
        .list::<ConfigMap>(&Query::all().in_namespace("default"))
        .await
        .unwrap();
    let own = objects
        .iter()
        .filter(|object| object.key().name().starts_with("object-"));
    own.map(|object| (object.key().name().to_owned(), value(object).to_owned()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn helpers_called_again_come_to_what_is_wanted_and_then_rest() {
    let server = ApiServer::new(Options::new());
    let before = tasks();
    for seed in 0..8 {
        let server = server.fork();
        let chaos = Chaos::seeded(seed);
        let mut declarations = Declarations::default();
        declarations.reads(Kind::of::<ConfigMap>());
        let cache = Cache::new(declarations).unwrap();
        let kube = chaos.client(&server);
        let watches = cache.start(&kube, &Random::seeded(seed));
        cache.synced().await;
        let client = Client::new(kube, cache).field_owner("tester");
        chaos.on.store(true, Ordering::Relaxed);
        for round in ["one", "two"] {
            for number in 0..10 {
                let name = format!("object-{number}");
                if number % 2 == 0 {
                    persistently(async || client.apply(&config_map_with(&name, round)).await).await;
                } else {
                    let change = |object: &mut ConfigMap| {
                        object.data = config_map_with("", round).data;
                        Ok(())
                    };
                    persistently(async || client.create_or_update(config_map_with(&name, ""), change).await).await;
                }
            }
            server.compact();
        }
        chaos.on.store(false, Ordering::Relaxed);
        let wanted: Vec<_> = (0..10)
            .map(|number| (format!("object-{number}"), "two".to_owned()))
            .collect();
        assert_eq!(own(&server).await, wanted, "seed {seed}");

        // What is so already is not sent again.
        tokio::time::sleep(Duration::from_mins(2)).await;
        let sent = chaos.writes.load(Ordering::Relaxed);
        for number in 0..10 {
            let wanted = config_map_with(&format!("object-{number}"), "two");
            let outcome = if number % 2 == 0 {
                client.apply(&wanted).await.unwrap().outcome
            } else {
                client.create_or_update(wanted, |_| Ok(())).await.unwrap().outcome
            };
            assert_eq!(outcome, Outcome::Unchanged, "seed {seed}, object {number}");
        }
        assert_eq!(chaos.writes.load(Ordering::Relaxed), sent, "seed {seed}");
        drop((watches, client));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(tasks(), before);
}

/// Copies every `ConfigMap` into a Secret, and deletes the copy of what is gone.
fn copier() -> Operator {
    let controller = Controller::of::<ConfigMap>()
        .named("copier")
        .owns::<Secret>()
        .max_concurrent_reconciles(4)
        .reconcile_with(|context| {
            let client = context.client();
            move |request: Request| {
                let client = client.clone();
                async move {
                    let Some(source) = client.get_opt::<ConfigMap>(&request).await? else {
                        ignore_not_found(client.delete::<Secret>(&request).await)?;
                        return Ok(Action::done());
                    };
                    let mut copy = Secret::default();
                    copy.metadata.name.clone_from(&source.metadata.name);
                    copy.metadata.namespace.clone_from(&source.metadata.namespace);
                    copy.string_data.clone_from(&source.data);
                    set_controller_reference(&*source, &mut copy).map_err(Failure::terminal)?;
                    client.apply(&copy).await?;
                    Ok(Action::done())
                }
            }
        });
    Operator::new("copier").controller(controller)
}

#[tokio::test(start_paused = true)]
async fn an_operator_converges_and_leaves_nothing_behind() {
    let before = tasks();
    let mut seen = [0; 5];
    for seed in 0..8 {
        let server = ApiServer::new(Options::new());
        let user = Client::new(server.client(), Cache::default()).live();
        let chaos = Chaos::seeded(seed);
        let (stopper, stop) = Stopper::new();
        let manager = copier().manager().unwrap().random(Random::seeded(seed));
        let running = tokio::spawn(manager.run(chaos.client(&server), stop));
        tokio::time::sleep(Duration::from_secs(10)).await;
        let at_rest = tasks();

        chaos.on.store(true, Ordering::Relaxed);
        for number in 0..20 {
            user.create(&config_map_with(&format!("object-{number:02}"), "one"))
                .await
                .unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        server.compact();
        for number in 0..20 {
            let name = format!("object-{number:02}");
            if number % 4 == 0 {
                user.delete::<ConfigMap>(&ObjectKey::namespaced("default", &name))
                    .await
                    .unwrap();
            } else {
                user.update(&config_map_with(&name, "two")).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_mins(1)).await;
        chaos.on.store(false, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_mins(10)).await;

        let copies = user
            .list::<Secret>(&Query::all().in_namespace("default"))
            .await
            .unwrap();
        let copies: Vec<_> = copies
            .iter()
            .filter(|copy| copy.key().name().starts_with("object-"))
            .map(|copy| {
                let data = String::from_utf8(copy.data.as_ref().unwrap()["key"].0.clone()).unwrap();
                (copy.key().name().to_owned(), data)
            })
            .collect();
        assert_eq!(copies, own(&server).await, "seed {seed}: {:?}", chaos.counts());
        assert_eq!(copies.len(), 15);
        assert!(copies.iter().all(|(_, data)| data == "two"));
        // The clients that only looked are gone by then.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(tasks(), at_rest, "seed {seed}");
        // One watch for each kind, however often they broke.
        assert_eq!(chaos.watches.load(Ordering::Relaxed), 2, "seed {seed}");

        stopper.stop();
        running.await.unwrap().unwrap();
        for (total, count) in seen.iter_mut().zip(chaos.counts()) {
            *total += count;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(chaos.watches.load(Ordering::Relaxed), 0, "seed {seed}");
        drop((user, server, chaos));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(tasks(), before, "seed {seed}");
    }
    assert!(
        seen.iter().all(|count| *count > 0),
        "not every trouble came up: {seen:?}"
    );
}

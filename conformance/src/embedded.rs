//! The embedded server as a target, in this process and on virtual time.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kubewright_apiserver::{AdmissionPlugin, ApiServer, Body, Options, User};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::case::EVERY_PLUGIN;
use crate::cores::on_every_core;
use crate::corpus::Corpus;
use crate::decisions::Decision;
use crate::kubelet::{RunningPod, ServePort, containers};
use crate::replay::{Outcome, Settings, replay};
use crate::target::{
    AuditAnnotations, Compaction, Connection, OwnCredentials, ResponseFuture, RunPodFuture, StreamingBody, Target,
    UpgradeFuture,
};

/// The port that nodes say their kubelet has. The embedded server asks none.
const KUBELET_PORT: u16 = 10250;
/// The address of Pods, of those for documentation. The embedded server asks for Pods, not for addresses.
const POD_ADDRESS: &str = "198.51.100.7";
/// The first port of a Pod that a case names.
const FIRST_PORT: u16 = 48_001;

/// An embedded server.
pub struct Embedded(ApiServer);

impl Embedded {
    /// Starts a server with a fixed seed, so that a replay is repeatable.
    pub fn start() -> Arc<dyn Target> {
        Arc::new(Embedded(ApiServer::new(Options::default().seed(36))))
    }

    /// The same with the plugins of [`EVERY_PLUGIN`] on.
    pub fn start_with_every_plugin() -> Arc<dyn Target> {
        let plugins = AdmissionPlugin::ALL.into_iter();
        let options = plugins
            .filter(|plugin| EVERY_PLUGIN.contains(&plugin.name()))
            .fold(Options::default().seed(36), |options, plugin| {
                options.admission(plugin, true)
            });
        Arc::new(Embedded(ApiServer::new(configured(options))))
    }
}

impl Embedded {
    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        let own = request.extensions().get::<OwnCredentials>().is_some();
        self.0.handle_as((!own).then(administrator).as_ref(), request).await
    }
}

/// Tells plugins what they are told on the real server.
fn configured(options: Options) -> Options {
    let text = include_str!("../upstream/admission.yaml");
    let file: Value = yaml_serde::from_str(text).expect("the configuration of admission plugins is YAML");
    let plugins = file["plugins"].as_array().into_iter().flatten();
    plugins.fold(options, |options, told| {
        let mut known = AdmissionPlugin::ALL.into_iter();
        let plugin = known.find(|plugin| told["name"] == plugin.name());
        let plugin = plugin.expect("a plugin that is here");
        let options = options.configure_admission(plugin, &told["configuration"]);
        options.expect("a configuration that the real server takes")
    })
}

fn streaming(body: Body) -> StreamingBody {
    body.map_err(Into::into).boxed_unsync()
}

impl Target for Embedded {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture<'_> {
        Box::pin(async move { Ok(self.answer(request).await.map(streaming)) })
    }

    fn upgrade(&self, request: Request<Bytes>) -> UpgradeFuture<'_> {
        Box::pin(async move {
            let response = self.answer(request).await;
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                return Ok((response.map(streaming), None));
            }
            let (head, body) = response.into_parts();
            let connection = body
                .into_connection()
                .map(|connection| Box::new(connection) as Box<dyn Connection>);
            Ok((Response::from_parts(head, streaming(Body::empty())), connection))
        })
    }

    fn run_pod<'a>(&'a self, namespace: &'a str, pod: &'a str, ports: Vec<(String, ServePort)>) -> RunPodFuture<'a> {
        containers::register(&self.0, namespace, pod);
        let mut running = RunningPod {
            kubelet: KUBELET_PORT,
            address: POD_ADDRESS.to_owned(),
            ports: BTreeMap::new(),
            serving: JoinSet::new(),
        };
        for ((name, serve), port) in ports.into_iter().zip(FIRST_PORT..) {
            self.0
                .on_connect(namespace, pod, port, move |connection| serve(Box::new(connection)));
            running.ports.insert(name, port);
        }
        Box::pin(std::future::ready(Ok(running)))
    }

    fn audit_annotations<'a>(&'a self, id: &'a str) -> AuditAnnotations<'a> {
        let events = self.0.audit().filter(|event| event.id == id).events();
        let annotations = events.into_iter().flat_map(|event| event.annotations).collect();
        Box::pin(std::future::ready(Ok(annotations)))
    }

    fn compact(&self) -> Compaction<'_> {
        Box::pin(async move {
            self.0.compact();
            Ok(())
        })
    }
}

/// The administrator of the recordings: `upstream/start` gives the bearer of its token this name, uid and group.
fn administrator() -> User {
    User {
        uid: "admin".to_owned(),
        ..User::admin()
    }
}

/// How many cases that call webhooks run at once: few enough that no webhook call times out while it waits for the processor.
const CALLING_AT_ONCE: usize = 8;

/// Replays a corpus against embedded servers on a paused clock, where waiting takes no time. Cases that call webhooks run on a
/// real clock: a paused one would advance while the server waits for a socket.
pub fn replay_embedded(corpus: &Corpus, decisions: &[Decision], whole: bool) -> std::io::Result<Outcome> {
    let (calling, quiet) = corpus.split();
    let every = quiet.clone().with_every_plugin(true);
    let quiet = quiet.with_every_plugin(false);
    let usual: fn() -> Arc<dyn Target> = Embedded::start;
    let mut shares = vec![
        (calling, false, CALLING_AT_ONCE, usual),
        (every, true, 64, Embedded::start_with_every_plugin),
    ];
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    shares.extend(quiet.dealt(cores).into_iter().map(|share| (share, true, 64, usual)));
    let cases = on_every_core(shares, |(corpus, paused, at_once, start)| {
        let settings = Settings {
            run: "replay".to_owned(),
            at_once,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(paused)
            .build()?;
        Ok::<_, std::io::Error>(runtime.block_on(replay(start, &corpus, &settings)))
    });
    let cases: Vec<_> = cases.into_iter().collect::<Result<_, _>>()?;
    Ok(Outcome::of(cases.into_iter().flatten().collect(), decisions, whole))
}

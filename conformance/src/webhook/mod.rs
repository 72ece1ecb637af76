//! The webhook process: an HTTPS server on loopback that answers reviews as cases specify and records the calls.
//!
//! One server, in a thread of its own, serves all cases at once: the first segment of a path identifies the case, the next is the
//! name of one of its `webhooks`. Recording and replaying use the same server.

mod certificates;
mod convert;
mod script;
mod serve;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use serde_json::{Value, json};
use thiserror::Error;

use certificates::{Certificates, ServedCertificate};
pub use script::{Script, ScriptError};

use crate::extension::Extensions;
use crate::template::Variables;

/// The reason why the webhook process could not be started.
#[derive(Debug, Error)]
pub enum WebhookServerError {
    /// The certificates could not be made.
    #[error("the webhook process has no certificates: {0}")]
    Certificates(#[from] certificates::CertificateError),
    /// No port could be opened.
    #[error("the webhook process cannot listen: {0}")]
    Listen(#[from] io::Error),
}

/// The webhook process of this program, started when the first case needs it.
pub fn server() -> Result<&'static WebhookServer, &'static WebhookServerError> {
    static SERVER: OnceLock<Result<WebhookServer, WebhookServerError>> = OnceLock::new();
    SERVER.get_or_init(WebhookServer::start).as_ref()
}

/// A running webhook process.
pub struct WebhookServer {
    listening: Vec<(ServedCertificate, SocketAddr)>,
    certificates: Arc<Certificates>,
    state: Arc<State>,
}

/// The scripts of the running cases, and the calls that were recorded.
#[derive(Default)]
struct State {
    cases: Mutex<BTreeMap<String, CaseState>>,
    extensions: Extensions,
}

#[derive(Default)]
struct CaseState {
    scripts: BTreeMap<String, Script>,
    calls: Vec<Call>,
}

/// A call by a server.
#[derive(Clone, Debug)]
pub struct Call {
    webhook: String,
    note: Value,
}

impl State {
    fn cases(&self) -> MutexGuard<'_, BTreeMap<String, CaseState>> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a call and returns the reply to it. `None` if no running case has such a webhook.
    fn called(&self, case: &str, webhook: &str, note: Value) -> Option<script::Reply> {
        let mut cases = self.cases();
        let case = cases.get_mut(case)?;
        let reply = case.scripts.get_mut(webhook)?.next();
        if reply.is_noted(&note["body"]) {
            case.calls.push(Call {
                webhook: webhook.to_owned(),
                note,
            });
        }
        Some(reply)
    }
}

impl WebhookServer {
    fn start() -> Result<Self, WebhookServerError> {
        let certificates = Arc::new(Certificates::generate()?);
        let state = Arc::new(State::default());
        let mut listening = Vec::new();
        let mut doors = Vec::new();
        for served in ServedCertificate::ALL {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            listening.push((served, listener.local_addr()?));
            doors.push((listener, Certificates::server_config(&certificates, served)?));
        }
        let shared = Arc::clone(&state);
        thread::Builder::new()
            .name("webhooks".to_owned())
            .spawn(move || serve::forever(doors, &shared))?;
        Ok(Self {
            listening,
            certificates,
            state,
        })
    }

    /// The extension API servers behind the same listener.
    pub fn extensions(&self) -> &Extensions {
        &self.state.extensions
    }

    /// Adds the webhooks of a case.
    pub fn open(&self, case: &str, scripts: BTreeMap<String, Script>) {
        let state = CaseState {
            scripts,
            calls: Vec::new(),
        };
        self.state.cases().insert(case.to_owned(), state);
    }

    /// Removes the webhooks of a case.
    pub fn close(&self, case: &str) {
        self.state.cases().remove(case);
    }

    /// Takes the recorded calls. A server calls validating webhooks in parallel, so consecutive calls of webhooks whose names begin
    /// with `validate` are sorted by name.
    pub fn calls(&self, case: &str) -> Vec<Value> {
        let mut calls = match self.state.cases().get_mut(case) {
            Some(state) => std::mem::take(&mut state.calls),
            None => Vec::new(),
        };
        for together in calls.chunk_by_mut(|one, other| one.at_once() && other.at_once()) {
            together.sort_by(|one, other| one.webhook.cmp(&other.webhook));
        }
        calls.into_iter().map(|call| call.note).collect()
    }

    /// The values of `${webhook…}` in a case.
    pub fn variables(&self, case: &str) -> Variables {
        let mut variables = Variables::new();
        for (served, address) in &self.listening {
            let name = served.variable();
            variables.insert(format!("{name}.url"), json!(format!("https://{address}/{case}")));
            variables.insert(format!("{name}.port"), json!(address.port()));
        }
        variables.insert("webhook.ca".to_owned(), json!(self.certificates.bundle()));
        variables.insert("webhook.leaf".to_owned(), json!(self.certificates.leaf_bundle()));
        variables
    }

    /// The texts that differ from run to run, with their placeholders.
    pub fn places(&self) -> Vec<(String, String)> {
        let mut places = vec![
            (self.certificates.bundle(), "<webhook.ca>".to_owned()),
            (self.certificates.leaf_bundle(), "<webhook.leaf>".to_owned()),
        ];
        for (served, address) in &self.listening {
            let name = served.variable();
            places.push((address.to_string(), format!("<{name}>")));
            for before in [":", "port "] {
                places.push((format!("{before}{}", address.port()), format!("{before}<{name}.port>")));
            }
        }
        places
    }
}

impl Call {
    fn at_once(&self) -> bool {
        self.webhook.starts_with("validate")
    }
}

#[cfg(test)]
mod tests;

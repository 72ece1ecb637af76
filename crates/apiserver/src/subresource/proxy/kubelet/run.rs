//! `/run`: a command that is run to its end, and answered with what it printed.

use http::{Response, StatusCode, header};
use kubewright_apimachinery::go::quote;
use tokio::io::{AsyncRead, AsyncReadExt as _, copy, sink};

use super::route::{ContainerPath, PodPath};
use super::{Kubelet, NOTHING_THERE, json, plain};
use crate::stream::exec::{ExecCommand, ExecEnd};
use crate::stream::remote_command::{Wanted, pipes};
use crate::subresource::connect::until_the_end;
use crate::wire::body::Body;

/// How much of what a command prints is kept, of each of its streams: what runtimes keep.
const MOST: u64 = 16 * 1024 * 1024;

pub(super) async fn answer(kubelet: Kubelet<'_>, at: ContainerPath<'_>) -> Response<Body> {
    let failed = |why: String| plain(StatusCode::INTERNAL_SERVER_ERROR, why);
    let Some(pod) = kubelet.pod(PodPath { uid: None, ..at.pod }) else {
        return plain(StatusCode::NOT_FOUND, "pod does not exist");
    };
    let is_another = at.pod.uid.is_some_and(|uid| uid != pod.identity.uid);
    if is_another || !pod.has(at.container) {
        return failed(format!("container not found ({})", quote(at.container)));
    }
    let server = kubelet.call.server;
    let Some(handler) = server.containers.of(&server.store, &pod.identity).exec() else {
        return failed(NOTHING_THERE.to_owned());
    };
    let asked = kubelet.query.text("cmd");
    let command = ExecCommand {
        namespace: pod.identity.namespace,
        pod: pod.identity.name,
        uid: pod.identity.uid,
        container: at.container.to_owned(),
        command: asked.split(' ').map(str::to_owned).collect(),
        tty: false,
        stdin: false,
        stdin_ends: true,
    };
    let (streams, ends) = pipes(Wanted {
        stdin: false,
        stdout: true,
        stderr: true,
        tty: false,
    });
    let running = until_the_end(handler(command, streams), pod.life);
    let (end, printed, messages) = tokio::join!(running, kept(ends.stdout), kept(ends.stderr));
    match end {
        // Whatever it is, the kubelet calls it JSON; of nothing it says nothing.
        ExecEnd::Exited(0) => {
            let printed = [printed, messages].concat();
            let is_nothing = printed.is_empty();
            let mut response = json(printed);
            if is_nothing {
                response.headers_mut().remove(header::CONTENT_TYPE);
            }
            response
        }
        ExecEnd::Exited(code) => {
            let messages = String::from_utf8_lossy(&messages);
            failed(format!("command '{asked}' exited with {code}: {messages}"))
        }
        ExecEnd::Failed(why) => failed(why),
    }
}

/// The beginning of what is read; the rest is thrown away.
async fn kept(mut from: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut kept = Vec::new();
    // A pipe to a command does not break: it ends.
    let _ = (&mut from).take(MOST).read_to_end(&mut kept).await;
    let _ = copy(&mut from, &mut sink()).await;
    kept
}

//! What the containers of Pods do on the embedded server, as those of `upstream/kubelet` do.

use std::io;

use kubewright_apiserver::{ApiServer, AttachTarget, ExecCommand, ExecEnd, ExecStreams};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};

/// What containers of these names have printed.
const LOGS: [(&str, &str, usize); 3] = [
    ("app", "one\ntwo\nthree\n", 1),
    ("long", "0123456789abcde\n", 400),
    ("silent", "", 1),
];

/// Registers the containers of a Pod, which need not exist yet.
pub(crate) fn register(server: &ApiServer, namespace: &str, pod: &str) {
    server.on_exec(namespace, pod, exec);
    server.on_attach(namespace, pod, attach);
    server.on_connect(namespace, pod, 7, |connection| async move {
        let (mut reading, mut writing) = tokio::io::split(connection);
        // A client that is gone is not missed.
        let _ = tokio::io::copy(&mut reading, &mut writing).await;
    });
    server.on_connect(namespace, pod, 13, |mut connection| async move {
        let _ = connection.write_all(b"noon\n").await;
    });
    for (container, text, times) in LOGS {
        server.set_pod_log(namespace, pod, container, text.repeat(times));
    }
}

async fn exec(command: ExecCommand, streams: ExecStreams) -> ExecEnd {
    let (program, arguments) = match command.command.split_first() {
        Some((program, arguments)) => (program.as_str(), arguments.join(" ")),
        None => ("", String::new()),
    };
    let ended = match program {
        "exit" => return ExecEnd::Exited(arguments.parse().unwrap_or(0)),
        "print" => say(streams.stdout, &arguments).await,
        "complain" => say(streams.stderr, &arguments).await,
        "copy" => copy(streams.stdin, streams.stdout).await,
        "lines" => lines(arguments.parse().unwrap_or(0), streams.stdin, streams.stdout).await,
        "sizes" => sizes(arguments.parse().unwrap_or(0), streams).await,
        "wait" => std::future::pending().await,
        other => {
            let why = format!("exec: {other:?}: executable file not found in $PATH");
            return ExecEnd::Failed(why);
        }
    };
    ended.map_or_else(|error| ExecEnd::Failed(error.to_string()), |()| ExecEnd::Exited(0))
}

async fn attach(target: AttachTarget, mut streams: ExecStreams) -> ExecEnd {
    let attached = async {
        streams.stdout.write_all(b"attached\n").await?;
        if !target.stdin {
            return Ok(());
        }
        lines(1, streams.stdin, streams.stdout).await
    };
    attached.await.map_or_else(
        |error: io::Error| ExecEnd::Failed(error.to_string()),
        |()| ExecEnd::Exited(0),
    )
}

async fn say(mut to: impl AsyncWrite + Unpin, text: &str) -> io::Result<()> {
    to.write_all(format!("{text}\n").as_bytes()).await
}

async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    tokio::io::copy(&mut from, &mut to).await.map(drop)
}

/// Repeats so many lines, each as soon as it is whole.
async fn lines(count: u32, from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut from = BufReader::new(from);
    for _ in 0..count {
        let mut line = Vec::new();
        if (&mut from).take(1 << 20).read_until(b'\n', &mut line).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "EOF"));
        }
        to.write_all(&line).await?;
    }
    Ok(())
}

async fn sizes(count: u32, mut streams: ExecStreams) -> io::Result<()> {
    for _ in 0..count {
        let Some(size) = streams.resize.next().await else { break };
        let text = format!("{}x{}\n", size.width, size.height);
        streams.stdout.write_all(text.as_bytes()).await?;
    }
    Ok(())
}

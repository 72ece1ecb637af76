//! Clients that connect to containers which are processes of this machine: from the API server's terms to those of the controllers.

use std::sync::Arc;

use futures_util::stream;
use kubewright_apiserver::{
    AttachTarget, Connection, ContainerBackend, ExecCommand, ExecEnd, ExecFuture, ExecStreams, PodBackend, PodIdentity,
    PortFuture,
};
use kubewright_controllers::process::{
    CommandEnd, CommandStreams, ContainerCommand, Containers, PodProcesses, TerminalSize,
};

/// Answers for the Pods that have processes.
pub(super) struct ProcessBackend(pub(super) Containers);

impl ContainerBackend for ProcessBackend {
    fn pod(&self, pod: &PodIdentity) -> Option<Arc<dyn PodBackend>> {
        let found = self.0.pod(&pod.namespace, &pod.name, &pod.uid)?;
        Some(Arc::new(Processes(found)))
    }
}

/// The processes of a Pod.
struct Processes(PodProcesses);

impl PodBackend for Processes {
    fn exec(&self, command: ExecCommand, streams: ExecStreams) -> ExecFuture {
        let processes = self.0.clone();
        let command = ContainerCommand {
            container: command.container,
            words: command.command,
            terminal: command.tty,
        };
        Box::pin(async move { end(processes.exec(command, translate(streams)).await) })
    }

    fn attach(&self, target: AttachTarget, streams: ExecStreams) -> ExecFuture {
        let processes = self.0.clone();
        Box::pin(async move { end(processes.attach(&target.container, translate(streams)).await) })
    }

    fn connect_port(&self, port: u16) -> PortFuture {
        let processes = self.0.clone();
        Box::pin(async move {
            let stream = processes.connect(port).await?;
            // What a client sends byte by byte arrives so.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Connection>)
        })
    }
}

fn translate(streams: ExecStreams) -> CommandStreams {
    let sizes = stream::unfold(streams.resize, |mut sizes| async move {
        let size = sizes.next().await?;
        let size = TerminalSize {
            columns: size.width,
            rows: size.height,
        };
        Some((size, sizes))
    });
    CommandStreams {
        stdin: streams.stdin,
        stdout: streams.stdout,
        stderr: streams.stderr,
        sizes: Box::pin(sizes),
    }
}

fn end(end: CommandEnd) -> ExecEnd {
    match end {
        CommandEnd::Exited(code) => ExecEnd::Exited(code),
        CommandEnd::Failed(why) => ExecEnd::Failed(why),
    }
}

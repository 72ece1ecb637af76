//! What clients that attach to a container are connected to: the input of its process, and what the process writes from then on.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::command::CommandStreams;
use super::spawn::{Input, TerminalSize};

/// How many pieces of output wait for a client.
const WAITING_PIECES: usize = 16;
/// How long a client may keep the process from writing. One that reads nothing for so long is let go.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputStream {
    Output,
    Messages,
}

/// The console of a process.
pub(super) struct Console {
    input: tokio::sync::Mutex<Option<Input>>,
    /// Whether clients may write to the process.
    takes_input: bool,
    /// Whether the first client that wrote to it was the only one.
    once: bool,
    clients: Mutex<Option<Vec<Client>>>,
}

#[derive(Clone)]
struct Client {
    output: mpsc::Sender<Arc<[u8]>>,
    messages: mpsc::Sender<Arc<[u8]>>,
}

/// How the connection of a client to a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detached {
    /// The process has ended, or the client is gone.
    Ended,
    /// The client did not read.
    TooSlow,
}

impl Console {
    /// The console of a process with this input. Clients write to it if `takes_input`; it ends with the first of them if `once`.
    pub(super) fn new(input: Option<Input>, takes_input: bool, once: bool) -> Self {
        Console {
            input: tokio::sync::Mutex::new(input),
            takes_input,
            once,
            clients: Mutex::new(Some(Vec::new())),
        }
    }

    /// Sends a piece of output to every client. One that does not read makes this wait, but not for long.
    pub(super) async fn send(&self, stream: OutputStream, bytes: &[u8]) {
        let clients = self.clients.lock().clone().unwrap_or_default();
        if clients.is_empty() {
            return;
        }
        let piece: Arc<[u8]> = bytes.into();
        for client in clients {
            let sender = match stream {
                OutputStream::Output => &client.output,
                OutputStream::Messages => &client.messages,
            };
            if sender.send_timeout(Arc::clone(&piece), PATIENCE).await.is_err() {
                let mut clients = self.clients.lock();
                let others = clients.iter_mut();
                others.for_each(|clients| clients.retain(|other| !other.output.same_channel(&client.output)));
            }
        }
    }

    /// Lets all clients go once they have what was sent: the process has ended.
    pub(super) fn close(&self) {
        self.clients.lock().take();
    }

    /// Connects a client until it is gone or the process has ended.
    pub(super) async fn attach(&self, streams: CommandStreams) -> Detached {
        let (output, output_pieces) = mpsc::channel(WAITING_PIECES);
        let (messages, message_pieces) = mpsc::channel(WAITING_PIECES);
        match &mut *self.clients.lock() {
            Some(clients) => clients.push(Client { output, messages }),
            None => return Detached::Ended,
        }
        let CommandStreams {
            stdin,
            stdout,
            stderr,
            sizes,
        } = streams;
        let _end = EndOfInput(self.once.then_some(self));
        let copying = async {
            tokio::join!(copy(output_pieces, stdout), copy(message_pieces, stderr));
        };
        tokio::select! {
            () = copying => {}
            () = self.feed(stdin) => {}
            () = self.resize(sizes) => {}
        }
        if self.clients.lock().is_some() {
            Detached::TooSlow
        } else {
            Detached::Ended
        }
    }

    /// Writes to the process what a client sends. It never ends by itself.
    async fn feed(&self, mut from: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            if !self.takes_input {
                continue;
            }
            let mut input = self.input.lock().await;
            let written = match &mut *input {
                Some(input) => input.write(&buffer[..read]).await,
                None => break,
            };
            if written.is_err() {
                // The process reads no more.
                input.take();
                break;
            }
        }
        if self.once {
            self.end_input(&mut *self.input.lock().await);
        }
        std::future::pending::<()>().await;
    }

    fn end_input(&self, input: &mut Option<Input>) {
        if self.takes_input && input.as_ref().is_some_and(Input::can_end) {
            input.take();
        }
    }

    async fn resize(&self, mut sizes: impl Stream<Item = TerminalSize> + Unpin) {
        while let Some(size) = sizes.next().await {
            if let Some(input) = &*self.input.lock().await {
                input.resize(size);
            }
        }
        std::future::pending::<()>().await;
    }
}

/// Ends the input of a process when its only client is gone.
struct EndOfInput<'c>(Option<&'c Console>);

impl Drop for EndOfInput<'_> {
    fn drop(&mut self) {
        if let Some(console) = self.0
            && let Ok(mut input) = console.input.try_lock()
        {
            console.end_input(&mut input);
        }
    }
}

/// Writes pieces until there will be no more or the client is gone.
async fn copy(mut pieces: mpsc::Receiver<Arc<[u8]>>, mut to: impl AsyncWrite + Unpin) {
    while let Some(piece) = pieces.recv().await {
        if to.write_all(&piece).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

//! The view in a terminal, with the manners of k9s: the tree of objects, the timeline, what a reconcile did, YAML, warnings, logs.
//!
//! [`state`] is a pure machine over the model's news and keys, [`draw`] makes a screen of it. Here is the shell around both: a thread that reads keys and one
//! that draws, so that a terminal that stands still holds up nobody else.

mod device;
mod draw;
mod mirror;
mod rows;
mod screen;
mod state;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::StreamExt as _;
use kubewright_runtime::stop::{Stop, Stopper};
use ratatui_crossterm::crossterm::event::{self, KeyCode, KeyEventKind, KeyModifiers};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::actions::{Cluster, LogStream, ObjectName, Propagation, WantedLog};
use crate::model::{Cursor, SharedModel};
use device::Device;
use screen::Wanted;
use state::{Effect, Event, Key, State};

/// Screens are not drawn faster than anybody sees.
const FRAME: Duration = Duration::from_millis(25);
/// How often the thread that reads keys looks whether it is still needed.
const LOOKS: Duration = Duration::from_millis(100);
/// How long that thread may take to end.
const KEYS_END_WITHIN: Duration = Duration::from_secs(1);
/// As many of the last lines of a Pod are shown at first.
const TAIL: u32 = 500;

/// The view in the terminal of this process, as long as it is shown. Dropped, the terminal is as it was before.
pub struct TerminalView {
    stopper: Stopper,
    drawing: Option<JoinHandle<()>>,
}

/// What is shown, and where from.
pub struct TerminalSource {
    /// What the command is called.
    pub title: String,
    /// The page that shows the same; empty if there is none.
    pub link: String,
    /// What is known.
    pub model: SharedModel,
    /// What is done in the cluster goes through this.
    pub cluster: Arc<dyn Cluster>,
}

impl TerminalView {
    /// Takes the terminal and shows the view, until `leave` is there, the user leaves or it is dropped. Who leaves sends this process SIGINT, as Ctrl-C
    /// does where no view is shown. Until then all that this process and its children write to standard output and error is shown in the view.
    ///
    /// Fails if standard input or output is no terminal. Has to be called within a tokio runtime.
    pub fn start(source: TerminalSource, leave: impl Future<Output = ()> + Send + 'static) -> io::Result<Self> {
        let device = Device::take()?;
        let (stopper, stop) = Stopper::new();
        let runtime = Handle::current();
        let drawing = std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            let is_left = runtime.block_on(Shell::new(source, device, runtime.clone()).run(Box::pin(leave), stop));
            if is_left {
                use rustix::process::{Signal, getpid, kill_process};
                let _ = kill_process(getpid(), Signal::INT);
            }
        })?;
        Ok(TerminalView {
            stopper,
            drawing: Some(drawing),
        })
    }

    /// Gives the terminal back.
    pub async fn stop(self) {
        // The threads need a moment.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

impl Drop for TerminalView {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(drawing) = self.drawing.take() {
            let _ = drawing.join();
        }
    }
}

/// What draws.
struct Shell {
    source: TerminalSource,
    device: Device,
    runtime: Handle,
    state: State,
    cursor: Cursor,
    events: mpsc::Receiver<Event>,
    sender: mpsc::Sender<Event>,
    following: Option<AbortHandle>,
}

impl Shell {
    fn new(source: TerminalSource, device: Device, runtime: Handle) -> Self {
        let (sender, events) = mpsc::channel(1024);
        Shell {
            state: State::new(&source.title, &source.link, source.cluster.abilities()),
            source,
            device,
            runtime,
            cursor: Cursor::default(),
            events,
            sender,
            following: None,
        }
    }

    /// Whether the user left.
    async fn run(mut self, mut leave: Pin<Box<dyn Future<Output = ()> + Send>>, stop: Stop) -> bool {
        let keys = KeysWanted::default();
        let reading = read_keys(self.sender.clone(), Arc::clone(&keys.is_over));
        let is_left = tokio::select! {
            biased;
            () = stop.stopped() => false,
            () = &mut leave => false,
            () = self.draw_until_left() => true,
        };
        if let Some(following) = self.following.take() {
            following.abort();
        }
        drop(keys);
        let events = self.events;
        drop(events);
        if let Ok(ended) = reading {
            // Before the terminal is given back: nobody else's keys are read. A terminal that is gone is read over and over by crossterm,
            // which does not return then: such a thread ends with the process.
            let _ = ended.recv_timeout(KEYS_END_WITHIN);
        }
        drop(self.device);
        is_left
    }

    async fn draw_until_left(&mut self) {
        let mut writes = self.source.model.writes();
        let lines = self.device.lines();
        writes.mark_changed();
        if let Ok(size) = self.device.terminal.size() {
            self.state.update(Event::Resized { height: size.height });
        }
        loop {
            let wanted = self.state.wanted();
            let mut has_news = false;
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => {
                    if self.take(event) {
                        return;
                    }
                }
                Ok(()) = writes.changed() => has_news = true,
                () = lines.added.notified() => {}
            }
            while let Ok(event) = self.events.try_recv() {
                if self.take(event) {
                    return;
                }
            }
            for line in lines.take() {
                self.state.update(Event::Said(line));
            }
            if has_news && let Some(news) = self.source.model.read(|model| model.news(&mut self.cursor)) {
                self.state.update(Event::News(news));
            }
            if let Some(now_wanted) = self.state.wanted()
                && (has_news || Some(&now_wanted) != wanted.as_ref())
            {
                let found = look(&self.source.model, &now_wanted);
                self.state.update(Event::Detail(now_wanted, found));
            }
            let state = &self.state;
            let drawn = self.device.terminal.draw(|frame| {
                let area = frame.area();
                draw::draw(state, area, frame.buffer_mut());
            });
            if drawn.is_err() {
                // The terminal is gone.
                return;
            }
            tokio::time::sleep(FRAME).await;
        }
    }

    /// Takes an event; whether the user leaves.
    fn take(&mut self, event: Event) -> bool {
        match self.state.update(event) {
            None => return false,
            Some(Effect::Quit) => return true,
            Some(Effect::Delete { name, uid }) => {
                let done = format!("{} is deleted", name.name);
                let cluster = Arc::clone(&self.source.cluster);
                self.act(done, async move {
                    cluster.delete(&name, &uid, Propagation::default()).await
                });
            }
            Some(Effect::Scale { name, replicas }) => {
                let done = format!("{} is scaled to {replicas}", name.name);
                let cluster = Arc::clone(&self.source.cluster);
                self.act(done, async move { cluster.scale(&name, replicas).await });
            }
            Some(Effect::FollowLog { name, uid }) => self.follow(name, uid),
            Some(Effect::LeaveLog) => {
                if let Some(following) = self.following.take() {
                    following.abort();
                }
            }
        }
        false
    }

    /// Does something in the cluster, and says what became of it.
    fn act(&self, done: String, action: impl Future<Output = Result<(), crate::actions::Refusal>> + Send + 'static) {
        let sender = self.sender.clone();
        self.runtime.spawn(async move {
            let outcome = action.await.map(|()| done).map_err(|refusal| refusal.to_string());
            let _ = sender.send(Event::Done(outcome)).await;
        });
    }

    /// Follows the log of a Pod, and no other any more.
    fn follow(&mut self, name: ObjectName, uid: String) {
        let (cluster, sender) = (Arc::clone(&self.source.cluster), self.sender.clone());
        let task = self.runtime.spawn(async move {
            let wanted = WantedLog {
                container: None,
                follows: true,
                tail: TAIL,
                is_previous: false,
            };
            match cluster.logs(&name, &wanted).await {
                Ok(stream) => send_lines(stream, &uid, &sender).await,
                Err(refusal) => {
                    let _ = sender.send(Event::Done(Err(refusal.to_string()))).await;
                }
            }
        });
        if let Some(before) = self.following.replace(task.abort_handle()) {
            before.abort();
        }
    }
}

async fn send_lines(mut stream: LogStream, uid: &str, sender: &mpsc::Sender<Event>) {
    let mut rest = Vec::new();
    while let Some(Ok(piece)) = stream.next().await {
        rest.extend_from_slice(&piece);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest.drain(..=end);
            if sender.send(Event::PodSaid(uid.to_owned(), line)).await.is_err() {
                return;
            }
        }
    }
}

/// What the model has of what a screen wants.
fn look(model: &SharedModel, wanted: &Wanted) -> Option<Value> {
    model.read(|model| match wanted {
        Wanted::Reconcile(id) => model.reconcile_detail(id.parse().ok()?),
        Wanted::Object(uid) => model.object_detail(uid, None),
        Wanted::Change { uid, from, to } => model.difference(uid, *from, *to),
        Wanted::Between { from, to } => Some(model.between(*from, *to)),
    })
}

/// As long as it is held keys are read: not for longer than somebody draws, also if that panics.
#[derive(Default)]
struct KeysWanted {
    is_over: Arc<AtomicBool>,
}

impl Drop for KeysWanted {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// A thread that reads keys until it is over. What it returns is disconnected when the thread ends.
fn read_keys(
    sender: mpsc::Sender<Event>,
    is_over: Arc<AtomicBool>,
) -> io::Result<std::sync::mpsc::Receiver<Infallible>> {
    let (held, ended) = std::sync::mpsc::channel();
    std::thread::Builder::new()
        .name("terminal-keys".to_owned())
        .spawn(move || {
            let _held = held;
            while !is_over.load(Ordering::Acquire) {
                let event = match event::poll(LOOKS) {
                    Ok(true) => event::read(),
                    Ok(false) => continue,
                    // The terminal is gone; a signal says so.
                    Err(_) => return,
                };
                let Ok(event) = event else {
                    return;
                };
                if let Some(event) = meaning(&event)
                    && sender.blocking_send(event).is_err()
                {
                    return;
                }
            }
        })?;
    Ok(ended)
}

fn meaning(event: &event::Event) -> Option<Event> {
    let key = match event {
        event::Event::Resize(_, height) => return Some(Event::Resized { height: *height }),
        event::Event::Key(key) if key.kind != KeyEventKind::Release => key,
        _ => return None,
    };
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(Event::Key(match key.code {
        KeyCode::Char(char) if is_control => Key::Control(char.to_ascii_lowercase()),
        KeyCode::Char(char) => Key::Char(char),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    }))
}

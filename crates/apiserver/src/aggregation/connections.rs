//! The open connections to another server: those of HTTP/1.1 that are idle, and those of HTTP/2, which requests share.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::service::Connection;

const MAX_IDLE: usize = 25;
const IDLE_TIME: Duration = Duration::from_secs(90);

#[derive(Default)]
pub(super) struct Connections(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// HTTP/1.1: nobody uses them.
    idle: Vec<IdleConnection>,
    /// HTTP/2: anybody may open a stream.
    shared: Vec<SharedConnection>,
}

struct IdleConnection {
    authority: String,
    connection: Connection,
    since: Instant,
}

struct SharedConnection {
    authority: String,
    connection: Connection,
}

impl Kept {
    /// Forgets what cannot be used any more, and what nobody has used for long.
    fn clean(&mut self) {
        let now = Instant::now();
        let is_fresh = |since: Instant| now.duration_since(since) < IDLE_TIME;
        self.idle
            .retain(|idle| idle.connection.is_usable() && is_fresh(idle.since));
        self.shared
            .retain(|shared| shared.connection.is_usable() && shared.connection.idle_since().is_none_or(is_fresh));
    }

    fn stream(&self, authority: &str) -> Option<Connection> {
        let to = self.shared.iter().filter(|shared| shared.authority == authority);
        to.map(|shared| &shared.connection).find_map(Connection::stream)
    }
}

impl Connections {
    /// A connection that was used before.
    pub(super) fn reuse(&self, authority: &str) -> Option<Connection> {
        let mut kept = self.0.lock();
        kept.clean();
        if let Some(stream) = kept.stream(authority) {
            return Some(stream);
        }
        let at = kept.idle.iter().rposition(|idle| idle.authority == authority)?;
        Some(kept.idle.swap_remove(at).connection)
    }

    /// What a request uses of a new connection: all of it, or a stream. If several were opened at once where one would have done,
    /// the others are closed.
    pub(super) fn share(&self, connection: Connection, authority: &str) -> Connection {
        if !connection.has_streams() {
            return connection;
        }
        let mut kept = self.0.lock();
        kept.clean();
        if let Some(stream) = kept.stream(authority) {
            return stream;
        }
        let Some(stream) = connection.stream() else {
            return connection;
        };
        kept.shared.push(SharedConnection {
            authority: authority.to_owned(),
            connection,
        });
        stream
    }

    /// Keeps a connection whose response has ended.
    pub(super) fn keep(&self, connection: Connection, authority: String) {
        let mut kept = self.0.lock();
        if !connection.has_streams() && connection.is_usable() && kept.idle.len() < MAX_IDLE {
            kept.idle.push(IdleConnection {
                authority,
                connection,
                since: Instant::now(),
            });
        }
    }

    /// Forgets all. Those that are shared go on for whom they serve.
    pub(super) fn close(&self) {
        *self.0.lock() = Kept::default();
    }
}

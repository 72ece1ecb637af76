//! Server-sent events, as they come in pieces.

/// An event is shorter.
const LONGEST: usize = 16 << 20;

/// Puts events together.
#[derive(Debug, Default)]
pub(super) struct Events {
    buffer: Vec<u8>,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerSent {
    /// `message` if it has no name.
    pub(super) name: String,
    pub(super) data: String,
}

impl Events {
    /// The events that a piece completes. `None`: what comes is no stream of events.
    pub(super) fn take(&mut self, piece: &[u8]) -> Option<Vec<ServerSent>> {
        self.buffer.extend_from_slice(piece);
        let mut events = Vec::new();
        let mut begin = 0;
        while let Some(length) = self.buffer[begin..].windows(2).position(|pair| pair == b"\n\n") {
            events.extend(event(&String::from_utf8_lossy(&self.buffer[begin..begin + length])));
            begin += length + 2;
        }
        self.buffer.drain(..begin);
        (self.buffer.len() <= LONGEST).then_some(events)
    }
}

/// An event from its lines; a comment is none.
fn event(lines: &str) -> Option<ServerSent> {
    let value = |name: &str| {
        let rest = lines
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let values: Vec<&str> = rest.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect();
        (!values.is_empty()).then(|| values.join("\n"))
    };
    Some(ServerSent {
        data: value("data")?,
        name: value("event").unwrap_or_else(|| "message".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_however_they_come() {
        let text = "event: begin\ndata: {\"ü\":1}\n\n:\n\nid: 3\ndata: a\ndata: b\n\nretry: 100\n\n";
        let expected = [("begin", "{\"ü\":1}"), ("message", "a\nb")];
        for size in [1, 2, 7, 1000] {
            let mut events = Events::default();
            let found: Vec<ServerSent> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|piece| events.take(piece).unwrap())
                .collect();
            let found: Vec<_> = found.iter().map(|event| (&*event.name, &*event.data)).collect();
            assert_eq!(found, expected, "pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut events = Events::default();
        let piece = vec![b'x'; LONGEST / 2];
        assert!(events.take(&piece).is_some() && events.take(&piece).is_some());
        assert!(events.take(b"x").is_none());
    }
}

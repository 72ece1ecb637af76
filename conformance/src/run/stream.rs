//! An open watch: newline-delimited frames, or messages of a WebSocket, of which a step reads as many as it asks for.

use std::io;
use std::time::Duration;

use http_body_util::BodyExt;
use serde_json::Value;
use tokio::time::timeout;

use super::StepError;
use super::websocket::WebSocket;
use crate::case::{ClientFrame, Until};
use crate::target::{Connection, StreamingBody};

/// What a watch is read from.
pub(super) enum Stream {
    Lines(Lines),
    WebSocket(WebSocket),
}

/// The body of a watch, and the bytes of its next frame that were received so far.
pub(super) struct Lines {
    body: StreamingBody,
    received: Vec<u8>,
}

impl Stream {
    pub(super) fn new(body: StreamingBody) -> Self {
        Stream::Lines(Lines {
            body,
            received: Vec::new(),
        })
    }

    pub(super) fn over_websocket(connection: Box<dyn Connection>, protocol: &str) -> Self {
        Stream::WebSocket(WebSocket::new(connection, protocol))
    }

    /// Sends a frame; false if this is no WebSocket.
    pub(super) async fn send(&mut self, frame: &ClientFrame) -> io::Result<bool> {
        match self {
            Stream::Lines(_) => Ok(false),
            Stream::WebSocket(socket) => socket.send(frame).await.map(|()| true),
        }
    }

    /// Reads until the step's condition is met. Returns true if the server ended the stream.
    pub(super) async fn read(
        &mut self,
        until: Until,
        patience: Duration,
        frames: &mut Vec<Value>,
    ) -> Result<bool, StepError> {
        while !enough(until, frames) {
            match timeout(patience, self.frame()).await {
                Err(_) => return Err(StepError::Silent(frames.len())),
                Ok(Ok(Some(frame))) => frames.push(frame),
                Ok(Ok(None)) => return Ok(true),
                Ok(Err(error)) => return Err(error),
            }
        }
        Ok(false)
    }

    async fn frame(&mut self) -> Result<Option<Value>, StepError> {
        match self {
            Stream::Lines(lines) => lines.frame().await,
            Stream::WebSocket(socket) => {
                let frame = socket.frame().await;
                frame.map_err(|error| StepError::Transport(error.into()))
            }
        }
    }
}

impl Lines {
    async fn frame(&mut self) -> Result<Option<Value>, StepError> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return parsed(&line).map(Some);
            }
            match self.body.frame().await {
                Some(Ok(chunk)) => {
                    if let Ok(data) = chunk.into_data() {
                        self.received.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => return Err(StepError::Transport(error)),
                None if self.received.is_empty() => return Ok(None),
                None => {
                    let rest = std::mem::take(&mut self.received);
                    return parsed(&rest).map(Some);
                }
            }
        }
    }
}

fn enough(until: Until, frames: &[Value]) -> bool {
    match until {
        Until::Frames(count) => frames.len() >= count,
        Until::Bookmark => frames.last().is_some_and(|frame| {
            let event = frame.get("text").unwrap_or(frame);
            event["type"] == "BOOKMARK"
        }),
        Until::Closed => false,
    }
}

fn parsed(line: &[u8]) -> Result<Value, StepError> {
    serde_json::from_slice(line).map_err(|_| StepError::Frame(String::from_utf8_lossy(line).into_owned()))
}

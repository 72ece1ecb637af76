//! An open watch: newline-delimited frames, read as far as a step asks.

use std::time::Duration;

use http_body_util::BodyExt;
use serde_json::Value;
use tokio::time::timeout;

use super::StepError;
use crate::case::Until;
use crate::target::StreamingBody;

/// A watch's body with what has been received of its next frame.
pub(super) struct Stream {
    body: StreamingBody,
    received: Vec<u8>,
}

impl Stream {
    pub(super) fn new(body: StreamingBody) -> Self {
        Self {
            body,
            received: Vec::new(),
        }
    }

    /// Reads until the step has enough; true if the server ended the stream.
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
        Until::Bookmark => frames.last().is_some_and(|frame| frame["type"] == "BOOKMARK"),
        Until::Closed => false,
    }
}

fn parsed(line: &[u8]) -> Result<Value, StepError> {
    serde_json::from_slice(line).map_err(|_| StepError::Frame(String::from_utf8_lossy(line).into_owned()))
}

//! News as server-sent events. A page that reads slowly gets what happened meanwhile as one piece.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use kubewright_runtime::serve::{HttpResponse, ResponseBody};
use kubewright_runtime::stop::Stop;
use tokio::sync::watch;
use tokio::time::Instant;

use super::respond;
use crate::model::{Cursor, SharedModel};

/// After so much silence a comment is sent, so that a page that is gone is noticed.
const SILENCE: Duration = Duration::from_secs(15);
/// Pieces do not come faster than a screen shows them.
const FRAME: Duration = Duration::from_millis(16);

/// Everything, then what changes.
pub(super) fn news(model: SharedModel, stop: Stop) -> HttpResponse {
    let reader = Reader {
        writes: model.writes(),
        model,
        cursor: Cursor::default(),
        last: None,
        stop,
    };
    let pieces = unfold(reader, |mut reader| async move {
        let piece = reader.next().await?;
        Some((piece, reader))
    });
    respond::events(ResponseBody::stream(pieces))
}

/// A page that follows.
struct Reader {
    model: SharedModel,
    writes: watch::Receiver<u64>,
    cursor: Cursor,
    /// When it was told something last.
    last: Option<Instant>,
    stop: Stop,
}

impl Reader {
    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(last) = self.last {
                let changed = async {
                    let is_there = self.writes.changed().await.is_ok();
                    tokio::time::sleep_until(last + FRAME).await;
                    is_there
                };
                tokio::select! {
                    biased;
                    () = self.stop.stopped() => return None,
                    is_there = changed => if !is_there { return None },
                    () = tokio::time::sleep(SILENCE) => return Some(Bytes::from_static(b":\n\n")),
                }
            }
            self.writes.mark_unchanged();
            let news = self.model.read(|model| model.news(&mut self.cursor));
            let is_first = self.last.replace(Instant::now()).is_none();
            if let Some(news) = news {
                return Some(Bytes::from(format!("data: {news}\n\n")));
            }
            if is_first {
                return Some(Bytes::from_static(b"retry: 1000\n\n"));
            }
        }
    }
}

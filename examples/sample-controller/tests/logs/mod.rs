//! What the controller says in its log, on the thread of the test.

use std::io::{self, Write};
use std::sync::Arc;

use tokio::sync::watch;
use tracing::subscriber::DefaultGuard;

/// All that was logged so far, for as long as it lives.
pub struct Logs {
    text: Arc<watch::Sender<String>>,
    _guard: DefaultGuard,
}

impl Logs {
    pub fn capture() -> Self {
        let text = Arc::new(watch::Sender::new(String::new()));
        let writer = Arc::clone(&text);
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || Lines(Arc::clone(&writer)))
            .finish();
        Logs {
            text,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    /// How often something was said.
    pub fn count(&self, words: &str) -> usize {
        self.text.borrow().matches(words).count()
    }

    /// Waits until something is said.
    pub async fn says(&self, words: &str) {
        let mut text = self.text.subscribe();
        let said = text.wait_for(|text| text.contains(words));
        let limit = std::time::Duration::from_secs(30);
        let in_time = tokio::time::timeout(limit, said).await;
        assert!(in_time.is_ok(), "it never said {words:?}");
    }
}

struct Lines(Arc<watch::Sender<String>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .send_modify(|text| text.push_str(&String::from_utf8_lossy(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

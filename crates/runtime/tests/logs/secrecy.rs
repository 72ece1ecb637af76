//! Keys are in no log line and in no debug output.

use std::io::{self, Write};
use std::sync::Arc;

use kubewright_runtime::certificates::Source;
use parking_lot::Mutex;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use super::support::*;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Log;

    fn make_writer(&self) -> Log {
        self.clone()
    }
}

#[tokio::test]
async fn keys_are_in_no_log_line_and_no_debug_output() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let cluster = Cluster::with_webhooks().await;
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    let mut keys = vec![
        cluster.secret("ca.key").await.unwrap(),
        cluster.secret("tls.key").await.unwrap(),
    ];
    // Everything that logs something: repairs, refusals, rotation.
    let before = cluster.get(SECRET).await["data"].clone();
    cluster.merge(SECRET, &json!({ "data": { "tls.key": null } })).await;
    eventually("the Secret is back", async || {
        cluster.get(SECRET).await["data"] == before
    })
    .await;
    let certificates = replica.stop().await;
    let replica = Replica::resume(certificates, cluster.kube.clone(), day(80));
    eventually("it is renewed", async || cluster.get(SECRET).await["data"] != before).await;
    keys.extend([
        cluster.secret("ca.key").await.unwrap(),
        cluster.secret("tls.key").await.unwrap(),
    ]);
    let debugged = format!("{:?} {:?}", replica.certificates, replica.certificates.certificates());
    replica.stop().await;
    let mut theirs = json!({ "metadata": { "name": "webhooks-cert" }, "data": { "password": encoded("swordfish") } });
    theirs["data"]["tls.key"] = encoded(&keys[0]);
    cluster.delete(SECRET).await;
    cluster.post("/api/v1/namespaces/shop/secrets", &theirs).await;
    let replica = Replica::managed(&cluster, epoch());
    eventually("it is refused", async || {
        replica
            .certificates
            .check()
            .is_err_and(|error| error.contains("not ours"))
    })
    .await;
    let told = format!(
        "{debugged} {:?} {:?}",
        replica.certificates.check(),
        Source::Managed(options())
    );
    replica.stop().await;

    let log = String::from_utf8_lossy(&log.0.lock()).into_owned();
    assert!(
        log.contains("certificates were made") && log.contains("restoring certificates"),
        "{log}"
    );
    assert_eq!(keys.len(), 4);
    for text in [log, told] {
        for key in &keys {
            // The lines of a key, and how JSON holds them.
            let lines: Vec<&str> = key.lines().filter(|line| !line.contains("-----")).collect();
            assert!(!lines.is_empty());
            for line in lines {
                assert!(!text.contains(line), "{text}");
            }
            assert!(!text.contains(&encoded(key).as_str().unwrap()[..60]), "{text}");
        }
        assert!(!text.contains("PRIVATE KEY") && !text.contains("swordfish"), "{text}");
        assert!(!text.contains(encoded("swordfish").as_str().unwrap()), "{text}");
    }
}

//! Where `Sighting`s are: this program serves them itself, and no cluster stores them.

use std::time::Duration;

use kubewright::extension::{ExtensionServer, RowError, RowStore, Rows};

use crate::api::v1::{Sighting, SightingSpec};

/// Reads `Sighting`s from where they are.
#[derive(Clone, Debug, Default)]
pub struct SightingRows;

impl Rows<Sighting> for SightingRows {
    async fn list(&self, _namespace: Option<&str>) -> Result<Vec<Sighting>, RowError> {
        // Read them from where they are: a file, a database, another API. This is asked whenever somebody looks.
        let mut example = Sighting::new("example", SightingSpec::default());
        example.metadata.namespace = Some("default".to_owned());
        Ok(vec![example])
    }
}

/// The kind as it is served. Implement `CreateRows`, `UpdateRows` or `DeleteRows` and add `.create()`, `.update()` or `.delete()`
/// to let clients do that as well: the API says what can be done, and refuses everything else.
pub fn extension() -> ExtensionServer {
    let rows = RowStore::new(SightingRows).watch_every(Duration::from_secs(10));
    ExtensionServer::new().rows::<Sighting, _>(rows)
}

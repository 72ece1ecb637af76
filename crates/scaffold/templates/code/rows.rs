{{header}}//! Where `{{kind}}`s are: this program serves them itself, and no cluster stores them.

use std::time::Duration;

use kubewright::extension::{ExtensionServer, RowError, RowStore, Rows};

use {{use_spec}};

/// Reads `{{kind}}`s from where they are.
#[derive(Clone, Debug, Default)]
pub struct {{kind}}Rows;

{{impl_rows}}
    async fn list(&self, _namespace: Option<&str>) -> Result<Vec<{{kind}}>, RowError> {
        // Read them from where they are: a file, a database, another API. This is asked whenever somebody looks.
{{#if namespaced}}
        let mut example = {{kind}}::new("example", {{kind}}Spec::default());
        example.metadata.namespace = Some("default".to_owned());
{{/if}}
{{#if cluster_wide}}
        let example = {{kind}}::new("example", {{kind}}Spec::default());
{{/if}}
        Ok(vec![example])
    }
}

/// The kind as it is served. Implement `CreateRows`, `UpdateRows` or `DeleteRows` and add `.create()`, `.update()` or `.delete()`
/// to let clients do that as well: the API says what can be done, and refuses everything else.
pub fn extension() -> ExtensionServer {
    let rows = RowStore::new({{kind}}Rows).watch_every(Duration::from_secs(10));
    ExtensionServer::new().rows::<{{kind}}, _>(rows)
}

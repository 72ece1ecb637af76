//! The kinds of these tests.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A book of a library.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "library.example.com",
    version = "v1",
    kind = "Book",
    namespaced,
    shortname = "bk",
    status = "BookStatus",
    printcolumn = r#"{"name":"Pages","type":"integer","jsonPath":".spec.pages"}"#
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BookSpec {
    /// How long it is.
    #[schemars(range(min = 1))]
    pub pages: u32,
    /// Where it stands.
    #[serde(default = "shelf")]
    pub shelf: String,
}

/// Who has it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub(crate) struct BookStatus {
    /// The reader.
    pub reader: Option<String>,
}

fn shelf() -> String {
    "new".to_owned()
}

/// A reader: the rows of these tests.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "library.example.com",
    version = "v1",
    kind = "Reader",
    printcolumn = r#"{"name":"Books","type":"integer","jsonPath":".spec.books"}"#
)]
pub(crate) struct ReaderSpec {
    /// How many books they have.
    pub books: u32,
}

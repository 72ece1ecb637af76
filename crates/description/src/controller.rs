//! Controllers and the kinds whose events make them reconcile.

use serde::{Deserialize, Serialize};

/// A controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ControllerDescription {
    /// Its name.
    pub name: String,
    /// Group and version of what it reconciles.
    pub api_version: String,
    /// Kind of what it reconciles.
    pub kind: String,
    /// What wakes it.
    pub watches: Vec<WatchDescription>,
}

/// A kind whose events wake a controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchDescription {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Which objects are reconciled when one of this kind changes.
    pub wakes: Wakes,
}

/// Which objects are reconciled when a watched one changes.
///
/// ```
/// use kubewright_description::Wakes;
///
/// assert_eq!(serde_json::to_value(Wakes::Controller).unwrap(), "its controller");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Wakes {
    /// The object itself.
    #[serde(rename = "itself")]
    Itself,
    /// The owner that is its controller.
    #[serde(rename = "its controller")]
    Controller,
    /// All its owners.
    #[serde(rename = "its owners")]
    Owners,
    /// Those that a function of the operator names.
    #[serde(rename = "a function")]
    Function,
}

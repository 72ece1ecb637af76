//! The command line of an operator: kubebuilder's flags in one struct, and what follows from them.
//! [`Flags`] are parsed or flattened into your own; [`Flags::config`] finds the cluster; `init_logs` is there with the feature
//! `log`.

mod cluster;
mod environment;
#[cfg(feature = "log")]
mod log_output;
#[cfg(feature = "log")]
mod logs;
mod parse;

pub use cluster::{ConfigError, ConfigSource};
pub use environment::Environment;
#[cfg(feature = "log")]
pub use logs::LogError;
pub(crate) use parse::parse_words;
pub use parse::{Flags, LogFormat};

//! Aggregated APIs: a program of yours serves kinds of its own behind the API server of a cluster, which sends it every request for
//! their group. What `apiserver-builder` and `k8s.io/apiserver` are to Go.
//!
//! [`ExtensionServer`] serves kinds with the pipeline of the embedded API server: discovery, `OpenAPI`, defaulting, validation,
//! server-side apply, watches, Tables, several versions. Objects are kept in memory, or come from wherever a type that implements
//! [`Rows`] has them. [`Delegation`] asks the API server of the cluster who a client is and what they may do.
//!
//! Most kinds should be a `CustomResourceDefinition`, which needs no server. This is for objects that are not in etcd.
//!
//! ```
//! use kube::CustomResource;
//! use kubewright_extension::{ExtensionServer, RowError, RowStore, Rows};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
//! #[kube(group = "planets.example.com", version = "v1", kind = "Moon")]
//! struct MoonSpec {
//!     planet: String,
//! }
//!
//! struct Moons;
//!
//! impl Rows<Moon> for Moons {
//!     async fn list(&self, _namespace: Option<&str>) -> Result<Vec<Moon>, RowError> {
//!         let moons = [("phobos", "Mars"), ("deimos", "Mars"), ("europa", "Jupiter")];
//!         let moon = |(name, planet): (&str, &str)| Moon::new(name, MoonSpec { planet: planet.to_owned() });
//!         Ok(moons.into_iter().map(moon).collect())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let extension = ExtensionServer::new().rows(RowStore::<Moon, _>::new(Moons));
//! let server = extension.local_server().await?; // without access control, for tests
//! let request = http::Request::get("/apis/planets.example.com/v1/moons/europa").body(Default::default())?;
//! assert_eq!(server.handle(request).await.status(), 200);
//! let request = http::Request::delete("/apis/planets.example.com/v1/moons/europa").body(Default::default())?;
//! assert_eq!(server.handle(request).await.status(), 405); // nobody said how to delete a moon
//! # Ok(())
//! # }
//! ```

mod access;
mod rows;
mod server;

pub use access::{Delegation, DelegationOptions};
pub use kubewright_apiserver::{ApiServer, RowError};
pub use rows::{CreateRows, DeleteRows, RowStore, Rows, UpdateRows, WatchRows};
pub use server::{ExtensionError, ExtensionServer};

//! Controllers at work on the embedded server, on the virtual clock.

#![allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]

mod collection;
mod cron_jobs;
mod deployments;
mod jobs;
mod namespaces;
mod nodes;
mod pod_collection;
mod pods;
mod replica_sets;
mod services;
mod support;
mod volumes;

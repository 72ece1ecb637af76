//! The command as a user meets it. What compiles whole projects is apart: `scaffolded_projects` and `walkthroughs`.

#[cfg(unix)]
mod aggregated;
mod apiserver;
mod book;
mod cel;
mod containers;
mod demo;
mod deploy;
mod dev;
mod dev_command;
mod dev_terminal;
mod dev_view;
mod envtest;
mod image;
mod install;
mod kubectl;
#[cfg(unix)]
mod operator_policies;
mod operator_project;
mod policy;
mod project_files;
mod run;
mod scaffold;
mod support;
mod watch;
#[cfg(target_os = "linux")]
mod webhook_host;

//! The programs that commands of a project use.

use super::Check;
use super::program::{ProgramResult, ask, first_line};
use super::project::ProjectFolder;

/// The compiler, new enough for the project.
pub(super) async fn toolchain(project: &ProjectFolder) -> Check {
    const NAME: &str = "rust";
    let folder = project.root();
    let wanted = project.rust_version();
    let cargo = ask(folder, "cargo", &["--version"]).await;
    let rustc = ask(folder, "rustc", &["--version"]).await;
    let (ProgramResult::Said(_), ProgramResult::Said(rustc)) = (&cargo, &rustc) else {
        let broken = [("cargo", cargo), ("rustc", rustc)]
            .into_iter()
            .find_map(|(name, answer)| match answer {
                ProgramResult::Said(_) => None,
                ProgramResult::Missing => Some(format!("{name} is not installed")),
                ProgramResult::Silent => Some(format!("{name} --version does not answer")),
                ProgramResult::Failed(why) => Some(format!("{name} --version fails: {why}")),
            });
        return Check::fail(
            NAME,
            broken.unwrap_or_default(),
            format!("install Rust {wanted} or newer with rustup: https://rustup.rs"),
        );
    };
    let rustc = first_line(rustc);
    let version = rustc.split(' ').nth(1).unwrap_or_default();
    if numbers(version) < numbers(&wanted) {
        let hint = "rustup update stable, or raise the channel in rust-toolchain.toml";
        return Check::fail(NAME, format!("{rustc} is older than {wanted}"), hint);
    }
    Check::ok(NAME, format!("{rustc} (at least {wanted})"))
}

/// The numbers of a version, to compare: `1.95.0-nightly` has 1, 95 and 0.
fn numbers(version: &str) -> [u64; 3] {
    let release = version.split('-').next().unwrap_or_default();
    let mut numbers = release.split('.').map(|part| part.parse().unwrap_or_default());
    std::array::from_fn(|_| numbers.next().unwrap_or_default())
}

/// kubectl, which no command needs.
pub(super) async fn kubectl() -> Check {
    const NAME: &str = "kubectl";
    const GET: &str = "to look into clusters: https://kubernetes.io/docs/tasks/tools";
    match ask(None, NAME, &["version", "--client"]).await {
        ProgramResult::Said(text) => Check::ok(NAME, first_line(&text)),
        ProgramResult::Missing => Check::warn(NAME, "not installed", GET),
        ProgramResult::Silent => Check::warn(NAME, "kubectl version does not answer", GET),
        ProgramResult::Failed(why) => Check::warn(NAME, format!("kubectl version fails: {why}"), GET),
    }
}

/// What builds images.
pub(super) async fn container_engine() -> Check {
    const NAME: &str = "container engine";
    let mut trouble = None;
    for engine in ["docker", "podman"] {
        match ask(None, engine, &["info"]).await {
            ProgramResult::Said(_) => {
                let version = match ask(None, engine, &["--version"]).await {
                    ProgramResult::Said(text) => first_line(&text),
                    _ => engine.to_owned(),
                };
                return Check::ok(NAME, version);
            }
            ProgramResult::Missing => {}
            ProgramResult::Silent => trouble = trouble.or(Some((engine, "does not answer".to_owned()))),
            ProgramResult::Failed(why) => trouble = trouble.or(Some((engine, format!("fails: {why}")))),
        }
    }
    match trouble {
        None => Check::warn(
            NAME,
            "neither docker nor podman is installed",
            "`make docker-build` needs one: https://docs.docker.com/engine/install or https://podman.io",
        ),
        Some((engine, what)) => Check::warn(
            NAME,
            format!("{engine} info {what}"),
            "for `make docker-build` the engine has to run and you have to be allowed to use it",
        ),
    }
}

/// What runs a cluster on this machine.
pub(super) async fn local_cluster() -> Check {
    const NAME: &str = "local cluster";
    for (program, arguments) in [("kind", &["version"][..]), ("minikube", &["version", "--short"])] {
        match ask(None, program, arguments).await {
            ProgramResult::Said(text) => {
                let version = first_line(&text);
                let version = version.strip_prefix(program).unwrap_or(&version).trim();
                return Check::ok(NAME, format!("{program} {version}"));
            }
            ProgramResult::Missing | ProgramResult::Silent | ProgramResult::Failed(_) => {}
        }
    }
    Check::warn(
        NAME,
        "neither kind nor minikube is there",
        "to deploy images on this machine: https://kind.sigs.k8s.io; without one: `kubewright apiserver --controllers=all --nodes 3`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(numbers("1.95.0") >= numbers("1.95"));
        assert!(numbers("1.100.0-nightly") > numbers("1.95.3"));
        assert!(numbers("1.9") < numbers("1.95"));
        assert!(numbers("") < numbers("1.95"));
    }
}

//! The Makefile does what its targets say. Needs `make`; without it nothing is tested, and the tests say so.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Once;

use kubewright_scaffold::{Source, checkout_files, config};
use tempfile::TempDir;

use super::operators::cases;

/// A project with programs that only say what they were told.
struct Project {
    folder: TempDir,
}

impl Project {
    fn new() -> Option<Project> {
        static SAID: Once = Once::new();
        if Command::new("make").arg("--version").output().is_err() {
            SAID.call_once(|| {
                drop(writeln!(
                    std::io::stderr(),
                    "make is not installed: the Makefile is not tested"
                ));
            });
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let case = cases().into_iter().find(|case| case.name == "plain").unwrap();
        for file in config::files(&case.project) {
            let path = folder.path().join(file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file.content).unwrap();
        }
        fs::write(
            folder.path().join("Cargo.toml"),
            "[dependencies]\nkubewright = \"0.1\"\n",
        )
        .unwrap();
        let project = Project { folder };
        for program in [
            "cargo",
            "docker",
            "podman",
            "sudo",
            "kubewright",
            "minikube",
            "kind",
            "k3d",
            "ctr",
        ] {
            project.program(program, "echo \"$(basename $0) $*\"");
        }
        project.program("kubectl", "echo kind-harbour");
        // A toolchain without llvm-tools, whatever the machine has.
        project.program("rustc", "exit 1");
        Some(project)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn program(&self, name: &str, script: &str) {
        let bin = self.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn make(&self, arguments: &[&str]) -> Output {
        self.make_with(&[], arguments)
    }

    /// With variables of the environment.
    fn make_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        Command::new("make")
            .args(arguments)
            .arg("--no-print-directory")
            .current_dir(self.path())
            // Nothing of the machine's own but the shell's tools.
            .env("PATH", format!("{}/bin:/usr/bin:/bin", self.path().display()))
            .env_remove("MAKEFLAGS")
            .env_remove("MINIKUBE_ACTIVE_DOCKERD")
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    /// What the programs were told; commands that make prints do not count.
    fn does(&self, arguments: &[&str]) -> Vec<String> {
        self.does_with(&[], arguments)
    }

    fn does_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Vec<String> {
        let output = self.make_with(variables, &[arguments, &["-s"]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text.lines().map(str::to_owned).collect()
    }

    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.make(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

/// People read the examples and copy from them: a mistake that was mended in new projects is not to live on there.
#[test]
fn examples_have_the_makefile_and_the_dockerfile_of_a_new_project() {
    let case = cases().into_iter().find(|case| case.name == "plain").unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut compared = 0;
    for example in fs::read_dir(examples).unwrap() {
        let example = example.unwrap().path();
        if !example.join("PROJECT").exists() {
            continue;
        }
        let name = example.file_name().unwrap().to_str().unwrap();
        for file in config::files(&case.project) {
            if ["Makefile", "Dockerfile"].contains(&file.path.as_str()) {
                let (new, own) = (file.content.replace("shop", name), example.join(&file.path));
                let text = fs::read_to_string(&own).unwrap();
                assert!(text == new, "{} is not what `init` writes", own.display());
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 10);
}

#[test]
fn help_lists_every_target_that_kubebuilder_users_know() {
    let Some(project) = Project::new() else { return };
    let help = project.does(&["help"]).join("\n");
    for target in [
        "help",
        "manifests",
        "generate",
        "fmt",
        "vet",
        "lint",
        "lint-fix",
        "test",
        "run",
        "build",
        "docker-build",
        "docker-push",
        "docker-buildx",
        "image-load",
        "install",
        "uninstall",
        "deploy",
        "undeploy",
        "build-installer",
    ] {
        assert!(
            help.lines().any(|line| line.split_whitespace().next() == Some(target)),
            "{target}: {help}"
        );
    }
}

#[test]
fn each_target_runs_its_commands() {
    let Some(project) = Project::new() else { return };
    for (arguments, commands) in [
        (&["manifests"][..], &["kubewright manifests"][..]),
        (&["install"], &["kubewright install"]),
        (
            &["deploy", "IMG=shop:2"],
            &["kubewright manifests", "kubewright deploy --image shop:2"],
        ),
        (
            &["deploy"],
            &["kubewright manifests", "kubewright deploy --image controller:latest"],
        ),
        (&["undeploy"], &["kubewright undeploy"]),
        (
            &["undeploy", "FORCE=true", "ignore-not-found=true"],
            &["kubewright undeploy --force"],
        ),
        (&["uninstall", "FORCE=true"], &["kubewright uninstall --force"]),
        (
            &["deploy", "DEPLOY_FLAGS=--no-wait"],
            &[
                "kubewright manifests",
                "kubewright deploy --image controller:latest --no-wait",
            ],
        ),
        (&["run", "ARGS=--embedded"], &["kubewright run --embedded"]),
        (
            &["build-installer", "IMG=shop:2"],
            &["kubewright manifests", "kubewright build-installer --image shop:2"],
        ),
        (
            &["lint"],
            &["cargo fmt --check", "cargo clippy --all-targets -- -D warnings"],
        ),
        (&["docker-push", "IMG=shop:2"], &["docker push shop:2"]),
        (
            &[
                "docker-build",
                "IMG=shop:2",
                "CONTAINER_TOOL=sudo docker",
                "SKIP_TESTS=true",
            ],
            &["sudo docker build -t shop:2 --build-arg KUBEWRIGHT_SOURCE= ."],
        ),
        (
            &["docker-build", "CONTAINER_TOOL=podman", "SKIP_TESTS=true"],
            &["podman build -t controller:latest --build-arg KUBEWRIGHT_SOURCE= ."],
        ),
    ] {
        assert_eq!(project.does(arguments), commands, "{arguments:?}");
    }
}

/// What `make test` says where the toolchain cannot count.
const NO_COVERAGE: &str = "No cover.out: the toolchain has no llvm-tools ('rustup component add llvm-tools' adds them)";

#[test]
fn tests_are_counted_if_the_toolchain_can_and_say_how_to_get_it_else() {
    let Some(project) = Project::new() else { return };
    let told = project.does(&["test"]);
    assert_eq!(told[told.len() - 2..], ["cargo test", NO_COVERAGE]);

    // A toolchain with llvm-tools, and a test that leaves what the compiler's counters write.
    let tools = project.path().join("sysroot/lib/rustlib/some-machine/bin");
    fs::create_dir_all(&tools).unwrap();
    for tool in ["llvm-profdata", "llvm-cov"] {
        let script = format!("#!/bin/sh\necho \"{tool} $*\" >>tools\necho \"{tool} $1\"\necho \"TOTAL 90%\"\n");
        fs::write(tools.join(tool), script).unwrap();
        fs::set_permissions(tools.join(tool), fs::Permissions::from_mode(0o755)).unwrap();
    }
    project.program(
        "rustc",
        "case \"$*\" in '--print sysroot') echo \"$PWD/sysroot\" ;; esac",
    );
    project.program(
        "cargo",
        "case \"$*\" in *--message-format=json) echo '{\"executable\":\"/there/test-1\"}' ;; \
         test) \"$RUSTC_WORKSPACE_WRAPPER\" echo compiles; echo x >\"$(dirname \"$LLVM_PROFILE_FILE\")/1.profraw\" ;; esac",
    );
    let told = project.does(&["test"]);
    assert!(told.contains(&"compiles -C instrument-coverage".to_owned()), "{told:?}");
    assert_eq!(told.last().unwrap(), "cover.out has the coverage of every line");
    let lcov = fs::read_to_string(project.path().join("cover.out")).unwrap();
    assert!(lcov.starts_with("llvm-cov export\n"), "{lcov}");
    let tools = fs::read_to_string(project.path().join("tools")).unwrap();
    for words in [
        "llvm-profdata merge -sparse target/coverage/1.profraw -o target/coverage/tests.profdata\n",
        "llvm-cov export -format=lcov -instr-profile=target/coverage/tests.profdata -object /there/test-1\n",
        "llvm-cov report -instr-profile=target/coverage/tests.profdata -object /there/test-1\n",
    ] {
        assert!(tools.contains(words), "{words}: {tools}");
    }

    project.program("cargo", "case \"$1\" in fmt) exit 0 ;; *) exit 101 ;; esac");
    project.fails(&["test"]);
}

#[test]
fn an_image_is_built_only_if_the_tests_pass() {
    let Some(project) = Project::new() else { return };
    assert_eq!(
        project.does(&["docker-build", "IMG=shop:2"]),
        [
            "kubewright manifests",
            "cargo fmt",
            "cargo test",
            NO_COVERAGE,
            "docker build -t shop:2 --build-arg KUBEWRIGHT_SOURCE= ."
        ]
    );
    project.program("cargo", "case \"$1\" in fmt) exit 0 ;; *) exit 101 ;; esac");
    let output = project.make(&["docker-build"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success() && !told.contains("docker build -t"), "{told}");
    // What is missing is said before the tests are run, which takes long.
    let error = project.fails(&["docker-build", "CONTAINER_TOOL=nerdctl-of-nobody"]);
    assert!(error.contains("nerdctl-of-nobody is not installed"), "{error}");
}

/// Makes a context the current one, of a cluster whose API server is there.
fn with_context(project: &Project, name: &str, server: &str) {
    let script = format!(
        "case \"$*\" in *current-context*) echo '{name}' ;; *'view --minify --context {name} '*) echo '{server}' ;; esac"
    );
    project.program("kubectl", &script);
}

/// Lets `docker save` write an archive, and every loader say its command line and what is in the archive.
fn with_loaders(project: &Project) {
    let engine = "case \"$1\" in save) echo \"archive by $(basename $0) $*\" ;; *) echo \"$(basename $0) $*\" ;; esac";
    project.program("docker", engine);
    project.program("podman", engine);
    project.program("sudo", "echo \"sudo $*\" >>sudo-calls; exec \"$@\"");
    for loader in ["minikube", "kind", "k3d", "ctr"] {
        project.program(
            loader,
            "case \"$*\" in \
             'profile list -l -o json') echo '{\"invalid\":[],\"valid\":[{\"Name\":\"sandbox\",\"Status\":\"OK\"}]}'; exit ;; esac; \
             echo \"calls $(basename $0) $*\"; cat dist/image.tar",
        );
    }
}

/// What the loader was told, and what was in the archive that it was given.
fn loads(project: &Project, arguments: &[&str]) -> (String, String) {
    let told = project.does(&[&["image-load"], arguments].concat());
    let at = told
        .iter()
        .position(|line| line.starts_with("calls "))
        .unwrap_or_else(|| panic!("{told:?}"));
    assert!(
        !project.path().join("dist/image.tar").exists(),
        "the archive is left behind"
    );
    (told[at]["calls ".len()..].to_owned(), told[at + 1].clone())
}

#[test]
fn an_image_is_loaded_into_the_cluster_of_the_context() {
    let Some(project) = Project::new() else { return };
    with_loaders(&project);
    for (context, command) in [
        ("kind-harbour", "kind load image-archive dist/image.tar --name harbour"),
        ("k3d-harbour", "k3d image import -c harbour dist/image.tar"),
        ("minikube", "minikube -p minikube image load --overwrite dist/image.tar"),
        // A profile of minikube that is not the active one.
        ("sandbox", "minikube -p sandbox image load --overwrite dist/image.tar"),
    ] {
        project.program("kubectl", &format!("echo {context}"));
        let (told, archive) = loads(&project, &["IMG=shop:2"]);
        assert_eq!(
            (told.as_str(), archive.as_str()),
            (command, "archive by docker save shop:2"),
            "{context}"
        );
    }
}

#[test]
fn an_image_is_loaded_into_the_containerd_of_this_machine_only_if_it_is_a_node_of_the_cluster() {
    let Some(project) = Project::new() else { return };
    with_loaders(&project);
    project.program(
        "docker",
        "case \"$1\" in save) echo saved >>saved; echo archive ;; esac",
    );
    project.program(
        "hostname",
        "case \"$*\" in -I) echo '10.0.0.7 fd00::7 ' ;; *) echo pine ;; esac",
    );
    fs::create_dir(project.path().join("kubelet")).unwrap();
    let admin = "kubernetes-admin@kubernetes";
    for server in [
        "https://127.0.0.1:6443",
        "https://localhost:6443/",
        "https://[::1]:6443",
        "https://10.0.0.7:6443",
        "https://[fd00::7]:6443",
        "https://pine",
    ] {
        with_context(&project, admin, server);
        let (told, _) = loads(&project, &["KUBELET_FOLDER=kubelet"]);
        assert_eq!(told, "ctr -n k8s.io images import dist/image.tar", "{server}");
    }
    let sudo = fs::read_to_string(project.path().join("sudo-calls")).unwrap();
    assert!(
        sudo.starts_with("sudo ctr -n k8s.io images import dist/image.tar\n"),
        "{sudo}"
    );

    fs::remove_file(project.path().join("saved")).unwrap();
    let arn = "arn:aws:eks:eu-central-1:111122223333:cluster/harbour";
    for (context, server, kubelet) in [
        (arn, "https://0123.gr7.eu-central-1.eks.amazonaws.com", "kubelet"),
        ("gke_shop_europe-west1_harbour", "https://10.0.0.70", "kubelet"),
        ("colima", "https://127.0.0.1:6443", "no-kubelet"),
        (admin, "https://10.0.0.8:6443", "kubelet"),
        (admin, "", "kubelet"),
        ("", "https://127.0.0.1:6443", "kubelet"),
    ] {
        with_context(&project, context, server);
        let error = project.fails(&["image-load", &format!("KUBELET_FOLDER={kubelet}")]);
        assert!(
            error.contains("which cluster? say CLUSTER=") && error.contains("make docker-push IMG="),
            "{error}"
        );
        assert!(error.contains(&format!("the context is '{context}'")), "{error}");
    }
    assert!(!project.path().join("saved").exists());
}

#[test]
fn docker_desktop_has_the_images_of_its_engine() {
    let Some(project) = Project::new() else { return };
    with_loaders(&project);
    with_context(&project, "docker-desktop", "https://kubernetes.docker.internal:6443");
    let told = project.does(&["image-load", "IMG=shop:2"]);
    assert_eq!(
        told.last().unwrap(),
        "shop:2 is where the cluster looks for it already: its node uses the images of Docker Desktop"
    );
    let error = project.fails(&["image-load", "CONTAINER_TOOL=podman"]);
    assert!(error.contains("say CONTAINER_TOOL=docker"), "{error}");
}

#[test]
fn an_image_is_loaded_into_the_cluster_that_was_said() {
    let Some(project) = Project::new() else { return };
    with_loaders(&project);
    let command = |arguments: &[&str]| loads(&project, arguments).0;
    // The context is of kind: minikube's active profile is meant.
    assert_eq!(
        command(&["CLUSTER=minikube"]),
        "minikube image load --overwrite dist/image.tar"
    );
    assert_eq!(
        command(&["CLUSTER=minikube", "MINIKUBE_PROFILE=sandbox"]),
        "minikube -p sandbox image load --overwrite dist/image.tar"
    );
    assert_eq!(
        command(&["KIND_CLUSTER=port"]),
        "kind load image-archive dist/image.tar --name port"
    );
    assert_eq!(command(&["CLUSTER=k3d"]), "k3d image import dist/image.tar");
    assert_eq!(
        command(&["CLUSTER=containerd", "CTR=ctr"]),
        "ctr -n k8s.io images import dist/image.tar"
    );
    // The shell writes the archive: one that root's engine wrote could not be removed.
    let (_, archive) = loads(&project, &["CONTAINER_TOOL=sudo podman"]);
    assert_eq!(archive, "archive by podman save controller:latest");
    let sudo = fs::read_to_string(project.path().join("sudo-calls")).unwrap();
    assert!(sudo.ends_with("sudo podman save controller:latest\n"), "{sudo}");
}

#[test]
fn an_image_of_the_clusters_own_engine_is_there_already() {
    let Some(project) = Project::new() else { return };
    with_loaders(&project);
    project.program("kubectl", "echo minikube");
    let told = project.does_with(&[("MINIKUBE_ACTIVE_DOCKERD", "minikube")], &["image-load"]);
    assert!(
        told.last().unwrap().contains("the engine is the cluster's own"),
        "{told:?}"
    );
    assert!(
        project
            .does(&["image-load", "CLUSTER=docker-env"])
            .last()
            .unwrap()
            .contains("already")
    );
    // The engine of another profile is of no use.
    let told = project.does_with(&[("MINIKUBE_ACTIVE_DOCKERD", "other")], &["image-load"]);
    assert!(
        told.iter()
            .any(|line| line.starts_with("calls minikube -p minikube image load")),
        "{told:?}"
    );
}

#[test]
fn nothing_is_saved_for_a_cluster_that_is_not_known_and_nothing_is_left_behind() {
    let Some(project) = Project::new() else { return };
    with_loaders(&project);
    project.program("docker", "case \"$1\" in save) echo saved >saved; echo half ;; esac");
    let error = project.fails(&["image-load", "CLUSTER=moon"]);
    assert!(error.contains("CLUSTER=minikube"), "{error}");
    with_context(&project, "moon", "https://moon.example.com");
    let error = project.fails(&["image-load"]);
    assert!(error.contains("the context is 'moon'"), "{error}");
    let error = project.fails(&["image-load", "CLUSTER=k3d", "LOAD_INTO_k3d=k3d-of-nobody image import"]);
    assert!(error.contains("k3d-of-nobody is not installed"), "{error}");
    assert!(!project.path().join("saved").exists());

    // A loader that fails, and an engine that fails halfway.
    project.program("kind", "exit 3");
    project.fails(&["image-load", "CLUSTER=kind"]);
    assert!(!project.path().join("dist/image.tar").exists());
    project.program("docker", "case \"$1\" in save) echo half; exit 1 ;; esac");
    project.fails(&["image-load", "CLUSTER=kind"]);
    assert!(!project.path().join("dist/image.tar").exists());
}

#[test]
fn an_engine_that_is_missing_or_does_not_answer_is_told_with_its_fix() {
    let Some(project) = Project::new() else { return };
    fs::remove_file(project.path().join("bin/podman")).unwrap();
    let missing = |tool: &str| project.fails(&["docker-build", &format!("CONTAINER_TOOL={tool}")]);
    let error = missing("podman");
    assert!(
        error.contains("podman is not installed: say CONTAINER_TOOL=docker, which is, or install it"),
        "{error}"
    );
    project.program("docker", "exit 1");
    let error = project.fails(&["docker-build"]);
    assert!(
        error.contains("CONTAINER_TOOL=\"sudo docker\"") && error.contains("systemctl start docker"),
        "{error}"
    );
    project.program("podman", "exit 1");
    let error = missing("podman");
    assert!(
        error.contains("'podman info' fails") && !error.contains("docker info"),
        "{error}"
    );
    for engine in ["docker", "podman"] {
        fs::remove_file(project.path().join("bin").join(engine)).unwrap();
    }
    // On a machine that has one of its own, that is what is advised.
    let error = missing("engine-of-nobody");
    assert!(error.contains("engine-of-nobody is not installed"), "{error}");
    let error = project.fails(&["deploy", "KUBEWRIGHT=kubewright-of-nobody"]);
    assert!(
        error.contains("make install-kubewright") && error.contains("'cargo install kubewright-cli@0.1.0 --locked'"),
        "{error}"
    );
}

#[test]
fn a_checkout_named_by_its_path_goes_into_the_image_that_builds() {
    let Some(project) = Project::new() else { return };
    let checkout = tempfile::tempdir().unwrap();
    fs::create_dir_all(checkout.path().join("crates/kubewright")).unwrap();
    fs::create_dir_all(checkout.path().join("target")).unwrap();
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs::write(checkout.path().join(file), "").unwrap();
    }
    let source = checkout.path().display().to_string();
    let installed = project.does(&["install-kubewright"]);
    assert_eq!(installed, ["cargo install kubewright-cli@0.1.0 --locked"]);
    fs::write(checkout.path().join("crates/kubewright/Cargo.toml"), "").unwrap();
    project.does(&["use-checkout", &format!("CHECKOUT={source}")]);
    let ours = checkout_files(&Source::Path(format!("{source}/crates/kubewright")), None);
    for file in ours {
        let written = fs::read_to_string(project.path().join(&file.path)).unwrap();
        assert_eq!(
            written, file.content,
            "the Makefile writes what `kubewright init` writes"
        );
    }
    let installed = project.does(&["install-kubewright"]);
    assert_eq!(
        installed,
        [format!("cargo install --path {source}/crates/cli --locked")]
    );
    let told = project.does(&["docker-build", "SKIP_TESTS=true"]);
    assert_eq!(
        told,
        [format!(
            "docker build -t controller:latest --build-arg KUBEWRIGHT_SOURCE={source} ."
        )]
    );
    assert!(project.path().join(".kubewright/crates/kubewright").is_dir());
    assert!(!project.path().join(".kubewright/target").exists());
}

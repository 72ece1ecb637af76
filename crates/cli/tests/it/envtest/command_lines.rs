//! Command lines that kube-apiserver refuses, as it was recorded (`conformance/upstream/command-lines`).

use std::process::Command;

use super::folder::made_folder;

#[test]
fn command_lines_are_refused_in_the_words_of_the_real_one() {
    let folder = made_folder();
    let mut differ = Vec::new();
    for line in include_str!("command_lines.recorded").lines() {
        let mut fields = line.splitn(3, '\t');
        let mut next = || fields.next().unwrap();
        let (arguments, code, message) = (next(), next(), next());
        let output = Command::new(folder.path().join("kube-apiserver"))
            .args(arguments.split(' '))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let said = said.trim_end();
        if output.status.code() != code.parse().ok() || said.strip_prefix("Error: ") != Some(message) {
            differ.push(format!(
                "{arguments}\n  the real one: {message}\n  ours:         {said}"
            ));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn what_is_not_possible_here_is_refused_by_name() {
    let folder = made_folder();
    for (arguments, words) in [
        (
            "--oidc-issuer-url=https://x",
            "--oidc-issuer-url is not possible here: ",
        ),
        (
            "--authorization-policy-file=x",
            "--authorization-policy-file is not possible here: ",
        ),
        (
            "--etcd-servers=http://x --authorization-mode=ABAC,RBAC",
            "--authorization-mode=ABAC is not possible here: ",
        ),
        (
            "--enable-admission-plugins=AlwaysDeny",
            "--enable-admission-plugins=AlwaysDeny is not possible here: ",
        ),
        (
            "--feature-gates=AllAlpha=true",
            "--feature-gates=AllAlpha=true is not possible here: ",
        ),
        (
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-cluster-ip-range=10.96.0.0/16 is not possible here: ",
        ),
    ] {
        let mut program = Command::new(folder.path().join("kube-apiserver"));
        let output = program.args(arguments.split(' ')).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn versions_and_help_are_printed() {
    let folder = made_folder();
    let said = |program: &str, argument: &str| {
        let output = Command::new(folder.path().join(program))
            .arg(argument)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(said("kube-apiserver", "--version"), "Kubernetes v1.36.3\n");
    assert!(said("etcd", "--version").starts_with("etcd Version: 3."));
    // By these, envtest finds out what it may set.
    assert!(said("etcd", "--help").contains("\n  --unsafe-no-fsync "));
    assert!(said("kube-apiserver", "-h").contains("\n      --secure-port int"));
    assert!(!said("kube-apiserver", "--help").contains("--insecure-port"));
}

#[test]
fn etcd_refuses_as_the_real_one() {
    let folder = made_folder();
    for (argument, code, words) in [
        ("--nosuch", 2, "flag provided but not defined: -nosuch\n"),
        (
            "--unsafe-no-fsync=x",
            2,
            "invalid boolean value \"x\" for -unsafe-no-fsync: parse error\n",
        ),
        ("extra", 1, "\"extra\" is not a valid flag\n"),
        ("--cert-file=x", 1, "--cert-file is not possible here: "),
        ("--listen-client-urls=https://127.0.0.1:0", 1, "serves plain HTTP"),
    ] {
        let output = Command::new(folder.path().join("etcd")).arg(argument).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

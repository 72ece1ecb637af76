//! Bad words on the command line, help, completion and version.

use super::folder::Folder;

#[test]
fn every_flag_refuses_what_it_cannot_be() {
    let folder = Folder::new("shop");
    for (words, message) in [
        (
            "init --domain Example_Com",
            "the domain \"Example_Com\" must consist of lower case letters",
        ),
        (
            "init --project-name My-Shop",
            "the project name \"My-Shop\" must consist of lower case letters",
        ),
        ("init --repo a\"b", "--repo \"a\\\"b\" is not a repository"),
        ("init --license gpl", "'gpl' for '--license"),
        ("init --namespaced=maybe", "'maybe' for '--namespaced"),
        ("init --multigroup=maybe", "'maybe' for '--multigroup"),
        (
            "init --kubewright-source nowhere",
            "--kubewright-source \"nowhere\" is no version",
        ),
        ("init --domian example.com", "did you mean '--domain'?"),
        ("create", "Usage: kubewright create"),
        ("create apis", "did you mean 'api'?"),
    ] {
        let said = folder.refused(words);
        assert!(said.contains(message), "{words}: {said}");
    }
    folder.ok("init --domain example.com");
    let order = "create api --group shop --version v1 --kind Order";
    for (words, message) in [
        (
            "create api --group Shop --version v1 --kind Order",
            "the group \"Shop\"",
        ),
        ("create api --group shop --version 1 --kind Order", "the version \"1\""),
        (
            "create api --group shop --version v1 --kind order",
            "(for example \"Order\")",
        ),
        (&format!("{order} --plural Orders"), "the plural \"Orders\""),
        (&format!("{order} --namespaced=maybe"), "'maybe' for '--namespaced"),
        (&format!("{order} --resource=maybe"), "'maybe' for '--resource"),
        (&format!("{order} --controller=maybe"), "'maybe' for '--controller"),
        (
            &format!("{order} --resource=false --controller=false"),
            "there is nothing to create",
        ),
        (
            &format!("{order} --image :latest"),
            "--image \":latest\" is not a container image",
        ),
        (
            &format!("{order} --image a:1 --image-container-port 70000"),
            "'70000' for '--image-container-port",
        ),
        (
            &format!("{order} --image a:1 --run-as-user root"),
            "'root' for '--run-as-user",
        ),
        (&format!("{order} --image-container-port 80"), "--image"),
        (
            &format!("{order} --resource=false --external-api-path a-b"),
            "is not the path of a Rust module",
        ),
        (&format!("{order} --external-api-domain io"), "--external-api-path"),
        (&format!("{order} --forse"), "did you mean '--force'?"),
        (
            "create webhook --group shop --version v1 --kind Order --defaulting",
            "there is no Order shop/v1 in this project",
        ),
        (
            "delete api --group shop --version v1 --kind Order",
            "there is no API of Order shop/v1",
        ),
        (
            "delete webhook --group shop --version v1 --kind Order",
            "there is no webhook of Order shop/v1",
        ),
        ("edit", "say what to change"),
        ("edit --multigroup=maybe", "'maybe' for '--multigroup"),
        (
            "edit --max-description-length long",
            "'long' for '--max-description-length",
        ),
        ("edit --license gpl", "'gpl' for '--license"),
    ] {
        let said = folder.refused(words);
        assert!(said.contains(message), "{words}: {said}");
    }
    folder.ok(order);
    for (words, message) in [
        (
            "create webhook --group shop --version v1 --kind Order",
            "choose a webhook",
        ),
        (
            "create webhook --group shop --version v1 --kind Order --conversion",
            "--conversion needs --spoke",
        ),
        (
            "create webhook --group shop --version v1 --kind Order --conversion --spoke v2",
            "there is no version v2",
        ),
        (
            "create webhook --group shop --version v1 --kind Order --defaulting --spoke v2",
            "--spoke goes with --conversion",
        ),
        (
            "create api --group other --version v1 --kind Order",
            "kubewright edit --multigroup",
        ),
    ] {
        let said = folder.refused(words);
        assert!(said.contains(message), "{words}: {said}");
    }
}

#[test]
fn help_has_examples() {
    let folder = Folder::new("shop");
    for command in [
        "init",
        "create api",
        "create webhook",
        "delete api",
        "delete webhook",
        "edit",
        "doctor",
        "completion",
        "version",
    ] {
        let said = folder.ok(&format!("{command} --help"));
        assert!(
            said.contains("Examples:") && said.contains(&format!("kubewright {command}")),
            "{said}"
        );
    }
}

#[test]
fn shells_are_told_how_to_complete() {
    let folder = Folder::new("shop");
    for (shell, word) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef kubewright"),
        ("fish", "complete -c kubewright"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let said = folder.ok(&format!("completion {shell}"));
        assert!(
            said.contains(word) && said.contains("programmatic-validation"),
            "{shell}"
        );
    }
    assert!(folder.refused("completion tcsh").contains("tcsh"));
}

#[test]
fn the_version_is_told_to_people_and_machines() {
    let folder = Folder::new("shop");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        folder
            .ok("version")
            .starts_with(&format!("kubewright {version} (Kubernetes 1.36, "))
    );
    let json: serde_json::Value = serde_json::from_str(&folder.ok("version -o json")).unwrap();
    assert_eq!(
        (&json["kubewright"], &json["kubernetes"]),
        (&version.into(), &"1.36".into())
    );
    assert!(
        folder
            .ok("version --output yaml")
            .contains(&format!("kubewright: {version}\n"))
    );
    assert!(folder.refused("version -o toml").contains("toml"));
}

#[test]
fn a_command_line_that_says_nothing_is_told_how_to_begin() {
    let folder = Folder::new("shop");
    let begin = |words: &str| {
        let ended = folder.run(words);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        ended.stderr
    };
    let said = begin("");
    assert!(
        said.contains("Usage: kubewright")
            && said.contains("Start here:\n  kubewright demo ")
            && !said.contains("Next:"),
        "{said}"
    );
    folder.ok("init --kubewright-source 0.1.0");
    assert!(begin("").contains("\nNext:\n  kubewright create api"));
    assert!(!begin("create").contains("Next:"), "help of one command is enough");
}

//! The user's guide. Its chapters are the docs of these modules, so that every Rust block in them is compiled and run by
//! `cargo test`. A chapter is listed here and in `src/SUMMARY.md`; `tests/` sees to it.

// Chapters are prose for readers of a book, who know what a ConfigMap is.
#![allow(clippy::doc_markdown)]

/// What `#[kubewright::test]` makes of a function, for examples: those have no test harness, so they call it in their `main`.
/// Chapters hide the lines around the tests they show: `# kubewright_book::tests! {`, `# }` and `# fn main() { … }`.
#[macro_export]
#[doc(hidden)]
macro_rules! tests {
    ($( #[kubewright::test $( ($option:ident) )?] async fn $name:ident() $( -> $output:ty )? $body:block )+) => {
        $(
            fn $name() $( -> $output )? {
                kubewright::testing::TestRuntime::new()$( .$option() )?.run(async move $body)
            }
        )+
    };
}

#[doc = include_str!("src/introduction.md")]
mod introduction {}
#[doc = include_str!("src/getting-started.md")]
mod getting_started {}
// These chapters show whole files with their tests, which run in `examples/cronjob`.
#[allow(clippy::test_attr_in_doctest)]
#[doc = include_str!("src/cronjob.md")]
mod cronjob {}
#[allow(clippy::test_attr_in_doctest)]
#[doc = include_str!("src/cronjob-versions.md")]
mod cronjob_versions {}
#[doc = include_str!("src/how-a-controller-works.md")]
mod how_a_controller_works {}
#[doc = include_str!("src/reading-and-writing.md")]
mod reading_and_writing {}
#[doc = include_str!("src/owners.md")]
mod owners {}
#[doc = include_str!("src/finalizers.md")]
mod finalizers {}
#[doc = include_str!("src/status.md")]
mod status {}
#[doc = include_str!("src/events.md")]
mod events {}
#[doc = include_str!("src/how-often.md")]
mod how_often {}
#[doc = include_str!("src/extending-the-api.md")]
mod extending_the_api {}
#[doc = include_str!("src/webhooks.md")]
mod webhooks {}
#[doc = include_str!("src/admission-policies.md")]
mod admission_policies {}
#[doc = include_str!("src/versions.md")]
mod versions {}
#[doc = include_str!("src/dev.md")]
mod dev {}
#[doc = include_str!("src/rbac.md")]
mod rbac {}
#[doc = include_str!("src/leader-election.md")]
mod leader_election {}
#[doc = include_str!("src/observing.md")]
mod observing {}
#[doc = include_str!("src/running.md")]
mod running {}
#[doc = include_str!("src/testing.md")]
mod testing {}
#[doc = include_str!("src/explore.md")]
mod explore {}
#[doc = include_str!("src/standard-controllers.md")]
mod standard_controllers {}
#[doc = include_str!("src/quotas-and-pod-security.md")]
mod quotas_and_pod_security {}
#[doc = include_str!("src/envtest.md")]
mod envtest {}
#[doc = include_str!("src/other-languages.md")]
mod other_languages {}
#[doc = include_str!("src/coming-from-kubebuilder.md")]
mod coming_from_kubebuilder {}
#[doc = include_str!("src/coming-from-operator-sdk.md")]
mod coming_from_operator_sdk {}
#[doc = include_str!("src/coming-from-client-go.md")]
mod coming_from_client_go {}
#[doc = include_str!("src/coming-from-kube-rs.md")]
mod coming_from_kube_rs {}
#[doc = include_str!("src/troubleshooting.md")]
mod troubleshooting {}
#[doc = include_str!("src/glossary.md")]
mod glossary {}
#[doc = include_str!("src/ja/introduction.md")]
mod ja_introduction {}
#[doc = include_str!("src/ja/getting-started.md")]
mod ja_getting_started {}
#[doc = include_str!("src/ja/how-a-controller-works.md")]
mod ja_how_a_controller_works {}
#[doc = include_str!("src/ja/testing.md")]
mod ja_testing {}
#[doc = include_str!("src/ja/coming-from-kubebuilder.md")]
mod ja_coming_from_kubebuilder {}
#[doc = include_str!("src/ja/troubleshooting.md")]
mod ja_troubleshooting {}

/// The examples in the documentation of the macros. They need crates that need the macros, for which Cargo would compile all of these once
/// more if they were tests of the macros' own package.
mod macros {
    #[doc = include_str!("../crates/macros/src/lib.md")]
    mod all {}
    #[doc = include_str!("../crates/macros/src/convert/derive.md")]
    mod convert {}
    #[doc = include_str!("../crates/macros/src/rbac/attribute.md")]
    mod rbac {}
    #[doc = include_str!("../crates/macros/src/resource/attribute.md")]
    mod resource {}
    #[doc = include_str!("../crates/macros/src/schema/attribute.md")]
    mod schema {}
}

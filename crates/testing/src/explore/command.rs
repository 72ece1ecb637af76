//! What `kubewright explore` says to the test that it runs, by variables of the environment; `REPEATS` is for who looks for nondeterminism.

use std::path::PathBuf;
use std::time::Duration;

use super::class::Class;
use crate::Error;

/// Where the command expects the outcome.
const REPORT: &str = "KUBEWRIGHT_EXPLORE_REPORT";
const CLASSES: &str = "KUBEWRIGHT_EXPLORE_CLASSES";
const SEED: &str = "KUBEWRIGHT_EXPLORE_SEED";
const JOBS: &str = "KUBEWRIGHT_EXPLORE_JOBS";
const TIME: &str = "KUBEWRIGHT_EXPLORE_TIME";
const REPLAY: &str = "KUBEWRIGHT_EXPLORE_REPLAY";
const REPEATS: &str = "KUBEWRIGHT_EXPLORE_REPEATS";

/// What the command wants. It wins over what the test says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) report: Option<PathBuf>,
    pub(super) classes: Option<Vec<Class>>,
    pub(super) seed: Option<u64>,
    pub(super) jobs: Option<usize>,
    pub(super) time: Option<Duration>,
    pub(super) replay: Option<String>,
    pub(super) repeats: Option<usize>,
}

impl Wanted {
    pub(super) fn from_environment() -> Result<Self, Error> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let said = |name: &str| variable(name).filter(|text| !text.is_empty());
        let number = |name: &str| -> Result<Option<u64>, Error> {
            let read = said(name).map(|text| text.parse().map_err(|_| wrong(name, &text, "a number")));
            read.transpose()
        };
        let report = said(REPORT).map(PathBuf::from);
        let classes = said(CLASSES).map(|text| {
            let classes = text.split(',').map(|name| {
                let known = Class::ALL.into_iter().find(|class| class.to_string() == name.trim());
                known.ok_or_else(|| wrong(CLASSES, name, &format!("one of {}", names())))
            });
            classes.collect()
        });
        // The command tries everything unless it is told otherwise, however short the test is.
        let all = report.is_some().then(|| Class::ALL.to_vec());
        Ok(Wanted {
            classes: classes.transpose()?.or(all),
            report,
            seed: number(SEED)?,
            jobs: number(JOBS)?.map(|jobs| usize::try_from(jobs).unwrap_or(usize::MAX)),
            time: number(TIME)?.map(Duration::from_secs),
            replay: said(REPLAY),
            repeats: number(REPEATS)?.map(|repeats| usize::try_from(repeats).unwrap_or(usize::MAX)),
        })
    }
}

/// The classes, as they are written.
fn names() -> String {
    Class::ALL.map(|class| class.to_string()).join(", ")
}

fn wrong(variable: &str, text: &str, expected: &str) -> Error {
    Error::Unmet(format!("{variable} is {text:?}, and should be {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Wanted, String> {
        let variables = variables.to_vec();
        Wanted::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned())
        })
        .map_err(|error| error.text())
    }

    #[test]
    fn without_the_command_nothing_is_wanted() {
        assert_eq!(of(&[]).unwrap(), Wanted::default());
    }

    #[test]
    fn the_command_tries_all_classes_unless_it_names_some() {
        let all = of(&[(REPORT, "/reports")]).unwrap();
        assert_eq!(all.classes.unwrap(), Class::ALL);
        let some = of(&[
            (REPORT, "/reports"),
            (CLASSES, "crash, edits"),
            (TIME, "7"),
            (JOBS, "3"),
            (REPEATS, "100"),
        ])
        .unwrap();
        assert_eq!(some.classes.unwrap(), [Class::Crash, Class::Edits]);
        assert_eq!((some.time, some.jobs), (Some(Duration::from_secs(7)), Some(3)));
        assert_eq!(some.repeats, Some(100));
    }

    #[test]
    fn what_is_no_class_and_no_number_is_told() {
        let error = of(&[(CLASSES, "weather")]).unwrap_err();
        assert!(error.contains("restart, crash"), "{error}");
        let error = of(&[(SEED, "seven")]).unwrap_err();
        assert!(error.contains("KUBEWRIGHT_EXPLORE_SEED is \"seven\""), "{error}");
    }
}

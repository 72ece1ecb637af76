//! A run: cases until enough requests were sent, their tally, and a small case for each difference.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};

use super::classes::generate;
use super::corpora::{self, Project};
use super::generated::GeneratedCase;
use super::pair::{Pair, Verdict};
use super::shrink::shrink;
use super::signature::Signature;
use super::tally::Tally;
use super::weights::Class;
use crate::diff::Difference;
use crate::target::Target;

/// After how many pairs the run says how far it is.
const PROGRESS: usize = 1000;

/// How often both servers are asked to make one case smaller.
const TRIES: usize = 150;

/// What to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The seed: equal seeds send equal requests.
    pub seed: u64,
    /// After how many requests the run ends.
    pub requests: usize,
    /// The only class that takes part, if not all.
    pub class: Option<Class>,
    /// How many cases are played at once.
    pub at_once: usize,
    /// How many different differences are made small and written.
    pub shrunk: usize,
    /// The folder that they are written to.
    pub out: PathBuf,
}

/// Runs the generators until enough requests are sent.
pub async fn run(real: Arc<dyn Target>, settings: &Settings) -> io::Result<Tally> {
    let projects = projects(settings);
    if settings.class == Some(Class::Corpus) {
        let played = generated(settings, Arc::clone(&projects)).count();
        eprint!("{}", corpora::coverage(&projects, played as u64));
    }
    play_all(real, generated(settings, projects), settings).await
}

/// The cases of a run, made one by one.
pub fn cases(settings: &Settings) -> impl Iterator<Item = GeneratedCase> + use<> {
    generated(settings, projects(settings))
}

/// The projects that take part.
fn projects(settings: &Settings) -> Arc<[Project]> {
    match settings.class {
        Some(Class::Corpus) => corpora::load(settings.seed).into(),
        _ => Arc::default(),
    }
}

fn generated(settings: &Settings, projects: Arc<[Project]>) -> impl Iterator<Item = GeneratedCase> + use<> {
    let (seed, class, limit) = (settings.seed, settings.class, settings.requests);
    let (mut requests, mut index) = (0, 0);
    std::iter::from_fn(move || {
        if requests >= limit || class == Some(Class::Corpus) && projects.is_empty() {
            return None;
        }
        let case = match class {
            Some(Class::Corpus) => corpora::case(&projects, seed, index),
            _ => generate(seed, index, class),
        };
        index += 1;
        requests += case.steps.len();
        Some(case)
    })
}

/// Plays cases, counts, and writes a small case for each of the most frequent differences.
pub async fn play_all(
    real: Arc<dyn Target>,
    cases: impl Iterator<Item = GeneratedCase>,
    settings: &Settings,
) -> io::Result<Tally> {
    // A real server forgets its history every five minutes, an embedded one has none from before its start: old versions are gone from
    // the first case to the last.
    real.compact().await.map_err(io::Error::other)?;
    let pair = Pair::new(real)?;
    let mut tally = Tally::default();
    let mut examples: BTreeMap<Signature, (GeneratedCase, Vec<Difference>)> = BTreeMap::new();
    let mut varying: BTreeMap<Signature, (GeneratedCase, Vec<Difference>)> = BTreeMap::new();
    let pair = &pair;
    let played = |case: GeneratedCase| async move {
        let verdict = match case.file() {
            Ok(file) => pair.settled(&Arc::new(file)).await,
            Err(error) => panic!("a generated case cannot be read: {error}"),
        };
        (case, verdict)
    };
    let mut verdicts = stream::iter(cases.map(played)).buffer_unordered(settings.at_once.max(1));
    let mut told = 0;
    while let Some((case, verdict)) = verdicts.next().await {
        match verdict {
            Verdict::Equal(pairs) => tally.equal(case.class, pairs),
            Verdict::Unstable(equal, differences) => {
                let signature = Signature::of(&case, &differences);
                tally.unstable(case.class, equal, signature.clone());
                varying.entry(signature).or_insert((case, differences));
            }
            Verdict::Different(equal, differences) => {
                let signature = Signature::of(&case, &differences);
                tally.different(case.class, equal, signature.clone());
                // The smallest one, and of these the first, whichever was answered first.
                let size = |case: &GeneratedCase| (case.steps.len() + case.given.len(), case.index);
                match examples.get(&signature) {
                    Some((known, _)) if size(known) <= size(&case) => {}
                    _ => drop(examples.insert(signature, (case, differences))),
                }
            }
        }
        let total = tally.total();
        if total.pairs / PROGRESS > told {
            told = total.pairs / PROGRESS;
            eprintln!(
                "{} cases, {} pairs, {} different, {} unstable",
                total.cases, total.pairs, total.different, total.unstable
            );
        }
    }
    drop(verdicts);
    eprintln!("{tally}");
    fs::create_dir_all(&settings.out)?;
    let wanted: Vec<Signature> = tally
        .by_frequency()
        .into_iter()
        .take(settings.shrunk)
        .map(|(signature, _)| signature.clone())
        .collect();
    let found = wanted
        .iter()
        .filter_map(|signature| examples.remove(signature).map(|example| (signature, example)));
    let written = found.map(|(signature, (case, differences))| small(pair, signature, case, differences));
    let mut written = stream::iter(written).buffered(settings.at_once.max(1));
    while let Some((case, differences)) = written.next().await {
        write(settings, &case.name(), &case, &differences)?;
    }
    // What the real server does not answer the same twice is not made smaller: its difference may not show.
    for (case, differences) in varying.values() {
        write(settings, &format!("unstable-{}", case.name()), case, differences)?;
    }
    Ok(tally)
}

/// Writes a case and what differs into the folder of the run.
fn write(settings: &Settings, name: &str, case: &GeneratedCase, differences: &[Difference]) -> io::Result<()> {
    let path = settings.out.join(format!("{name}.yaml"));
    fs::write(&path, case.text())?;
    let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
    fs::write(path.with_extension("txt"), shown.join("\n") + "\n")
}

/// The case made as small as its difference allows, and the difference.
async fn small(
    pair: &Pair,
    signature: &Signature,
    mut case: GeneratedCase,
    differences: Vec<Difference>,
) -> (GeneratedCase, Vec<Difference>) {
    case.steps.truncate(
        differences
            .first()
            .map_or(case.steps.len(), |difference| difference.step),
    );
    let keeps = |case: GeneratedCase| async move {
        let Ok(file) = case.file() else { return false };
        match pair.once(&Arc::new(file)).await {
            Verdict::Different(_, differences) => Signature::of(&case, &differences).is_like(signature),
            Verdict::Equal(_) | Verdict::Unstable(..) => false,
        }
    };
    let small = shrink(case, TRIES, keeps).await;
    let differences = match small.file() {
        Ok(file) => match pair.settled(&Arc::new(file)).await {
            Verdict::Different(_, differences) => differences,
            Verdict::Equal(_) | Verdict::Unstable(..) => differences,
        },
        Err(_) => differences,
    };
    (small, differences)
}

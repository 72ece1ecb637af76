//! `kubewright demo`: a cluster in this process, an operator on it, and the life of an object, told as it happens.
//! [`story`] says what is done, [`eyes`] and [`world`] see what comes of it, [`stage`] tells it as [`text`] or [`json`], and
//! [`serve`] has the pages that the operator's viewers would show.
//!
//! ```
//! use clap::Parser as _;
//!
//! #[derive(clap::Parser)]
//! struct Command {
//!     #[command(flatten)]
//!     demo: kubewright_demo::Arguments,
//! }
//!
//! let command = Command::parse_from(["demo", "--fast", "--json"]);
//! # if false {
//! kubewright_demo::run(&command.demo).unwrap();
//! # }
//! ```

mod eyes;
mod json;
mod paint;
mod reconciles;
mod scene;
mod serve;
mod stage;
mod story;
mod text;
mod told;
mod world;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use kubewright_cluster as cluster;
use kubewright_cluster::bundle::Bundle;
use kubewright_cluster::quoted;
use kubewright_runtime::operator::Description;
use kubewright_runtime::stop::Stopper;
use kubewright_system::signals::Signals;

use self::eyes::Eyes;
use self::json::Json;
use self::paint::{Paint, When};
use self::scene::Scene;
use self::serve::Pages;
use self::stage::{Pace, Stage, StageError, Teller};
use self::text::Text;
use self::told::What;

/// The exit code of what Ctrl-C ended, as shells have it.
const INTERRUPTED: u8 = 130;

const EXAMPLES: &str = "\
Examples:
  # Watch it
  kubewright demo

  # Keep the cluster, play with it with kubectl and read the pages in a browser
  kubewright demo --serve

  # What happened, for a script
  kubewright demo --json --fast | jq 'select(.type == \"reconcile\")'";

/// Watch an operator at work, in a cluster in this process.
///
/// Nothing has to be installed, and nothing is left behind: an API server with its controllers and simulated nodes starts in this
/// process, and on it the markdown-view example, with its definition, its role and its webhooks. Then somebody creates a
/// MarkdownView, tries an invalid edit, scales it, changes its image and deletes it, and what comes of it is told as it happens.
///
/// Times are real. Only the telling has pauses, so that people can follow; --fast leaves them out.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::doc_markdown, reason = "help is read as it is")]
pub struct Arguments {
    /// Do not pause for people who read along.
    #[arg(long)]
    fast: bool,

    /// One JSON object a line, for scripts.
    #[arg(long)]
    json: bool,

    /// Stay until Ctrl-C: for kubectl, and with the rendered pages of each MarkdownView on a port of this machine.
    #[arg(long)]
    serve: bool,

    /// Port of the pages on 127.0.0.1; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "serve")]
    port: u16,

    /// Port of the API server on 127.0.0.1; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    secure_port: u16,

    /// Whether there are colours: on a terminal unless NO_COLOR is set, always or never.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: When,
}

/// What the operator of the demo says of itself, and what is installed of it.
pub fn installation() -> Result<(Description, Bundle), Box<dyn Error>> {
    let operator = markdown_view::operator();
    Ok((operator.describe(), scene::rendered(&operator)?))
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let runtime = cluster::runtime()?;
    let done = runtime.block_on(play(arguments));
    runtime.shutdown_background();
    match done {
        // Whoever read it has seen enough.
        Err(error) if matches!(error.downcast_ref(), Some(StageError::Closed)) => Ok(ExitCode::SUCCESS),
        done => done,
    }
}

async fn play(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    // From here on a signal ends it in order.
    let mut signals = Signals::listen_with_hangup()?;
    // Before the first word: who waits for the end of the story does not want to learn then that the port is taken.
    let pages = if arguments.serve {
        Some(Pages::bind(arguments.port).await?)
    } else {
        None
    };
    let pace = if arguments.fast { Pace::fast() } else { Pace::human() };
    let teller: Box<dyn Teller + Send> = if arguments.json {
        Box::new(Json)
    } else {
        Box::new(Text::new(Paint::of_stdout(arguments.color)))
    };
    let (mut eyes, sights) = Eyes::new();
    let mut stage = Stage::new(sights, teller, pace);
    let mut scene = None;
    let done = tokio::select! {
        biased;
        _ = signals.more_than(0) => Ok(ExitCode::from(INTERRUPTED)),
        done = tell(arguments.secure_port, pages, &mut stage, &mut eyes, &mut scene) => done.map(|()| ExitCode::SUCCESS),
    };
    let times = signals.count();
    if let Some(scene) = scene {
        tokio::select! {
            biased;
            () = scene.end() => {}
            // Who asks twice is in a hurry.
            _ = signals.more_than(times) => {}
        }
    }
    if matches!(done, Ok(code) if code == ExitCode::SUCCESS) {
        let again = said_again();
        stage.say(What::End { again })?;
    }
    done
}

async fn tell(
    secure_port: u16,
    pages: Option<Pages>,
    stage: &mut Stage,
    eyes: &mut Eyes,
    place: &mut Option<Scene>,
) -> Result<(), Box<dyn Error>> {
    let start_up = story::prologue(stage, eyes, place, secure_port).await?;
    let Some(scene) = place else {
        return Err("there is no cluster".into());
    };
    story::life_of_a_view(stage, scene).await?;
    let Some(pages) = pages else {
        return Ok(stage.say(What::Summary(story::summary(stage, scene, start_up)))?);
    };
    story::welcome(stage, scene).await?;
    stage.say(What::Summary(story::summary(stage, scene, start_up)))?;
    stay(pages, stage, eyes, scene).await
}

/// Serves pages and tells what is seen, for ever.
async fn stay(pages: Pages, stage: &mut Stage, eyes: &Eyes, scene: &Scene) -> Result<(), Box<dyn Error>> {
    let cache = eyes.cache().cloned().unwrap_or_default();
    stage.say(What::Serving {
        pages: format!("http://{}/", pages.address()),
        kubeconfig: scene.embedded.kubeconfig().display().to_string(),
        export: scene.embedded.export(),
    })?;
    let (_stopper, stop) = Stopper::new();
    tokio::select! {
        () = pages.serve(cache, stop) => Ok(()),
        ended = stage.follow() => Ok(ended?),
    }
}

/// How this command is called to stay, from where it was called now.
fn said_again() -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let is_cargos = std::env::var_os("CARGO").is_some();
    format!("{} demo --serve", called(&program.to_string_lossy(), is_cargos))
}

/// What to type to have this program started as it was.
fn called(program: &str, is_cargos: bool) -> String {
    let path = Path::new(program);
    let has = |name: &str| path.components().any(|part| part.as_os_str() == name);
    // Whoever runs it with cargo may not have it anywhere else.
    if is_cargos && has("release") {
        "cargo run --release --".to_owned()
    } else if is_cargos && has("debug") {
        "cargo run --".to_owned()
    } else if path.components().count() > 1 {
        quoted(program)
    } else {
        "kubewright".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_is_a_command_that_works_where_this_one_did() {
        assert_eq!(called("kubewright", false), "kubewright");
        assert_eq!(called("kubewright", true), "kubewright");
        assert_eq!(called("", false), "kubewright");
        assert_eq!(called("target/release/kubewright", true), "cargo run --release --");
        assert_eq!(called("/src/target/debug/kubewright", true), "cargo run --");
        assert_eq!(called("target/release/kubewright", false), "target/release/kubewright");
        assert_eq!(called("/my tools/kubewright", true), "'/my tools/kubewright'");
        assert_eq!(called("./kubewright", false), "./kubewright");
    }
}

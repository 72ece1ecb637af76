//! `kubewright demo`: a cluster in this process, an operator on it, and the life of an object, printed as it happens.
//! `environment` starts the cluster and the operator, `chapters` says what is done, `watcher` and `state` follow what comes of
//! it, `presenter` prints it as `text` or `json`, `serve` has the pages that the operator's viewers would show, and `inside` the page
//! of what happens inside.
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

mod chapters;
mod environment;
mod inside;
mod json;
mod line;
mod presenter;
mod reconciles;
mod serve;
mod state;
mod terminal;
mod text;
mod watcher;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use kubewright_cluster as cluster;
use kubewright_cluster::bundle::Bundle;
use kubewright_cluster::quoted;
use kubewright_runtime::operator::Description;
use kubewright_runtime::stop::Stopper;
use kubewright_system::signals::Signals;
use kubewright_view::SharedModel;

use self::environment::DemoEnvironment;
use self::json::Json;
use self::line::Content;
use self::presenter::{Format, Pauses, PresentError, Presenter};
use self::serve::Pages;
use self::terminal::{ColourChoice, Terminal};
use self::text::Text;
use self::watcher::Watcher;

/// The exit code of a program that Ctrl-C ended, as shells have it.
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

    /// Stay until Ctrl-C: for kubectl, with a page that shows what happens inside, as `kubewright dev` has it, with the story beside it, and with
    /// the rendered pages of each MarkdownView on a port of this machine.
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
    color: ColourChoice,
}

/// The description of the demo's operator, and the objects that the demo installs for it.
pub fn installation() -> Result<(Description, Bundle), Box<dyn Error>> {
    let operator = markdown_view::operator();
    Ok((operator.describe(), environment::rendered(&operator)?))
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let runtime = cluster::runtime()?;
    let done = runtime.block_on(run_demo(arguments));
    runtime.shutdown_background();
    match done {
        // The reader of standard output has closed it.
        Err(error) if matches!(error.downcast_ref(), Some(PresentError::Closed)) => Ok(ExitCode::SUCCESS),
        done => done,
    }
}

async fn run_demo(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    // From here on a signal ends the demo in order.
    let mut signals = Signals::listen_with_hangup()?;
    // Bound before the first chapter, so that a port in use is reported at once and not after all chapters.
    let pages = if arguments.serve {
        Some(Pages::bind(arguments.port).await?)
    } else {
        None
    };
    let pace = if arguments.fast {
        Pauses::fast()
    } else {
        Pauses::human()
    };
    let format: Box<dyn Format + Send> = if arguments.json {
        Box::new(Json)
    } else {
        Box::new(Text::new(Terminal::of_stdout(arguments.color)))
    };
    let (mut watcher, notices) = Watcher::new();
    let shown = pages.is_some().then(inside::model);
    let mut presenter = Presenter::new(notices, format, pace, shown.clone());
    let mut environment = None;
    let done = tokio::select! {
        biased;
        _ = signals.more_than(0) => Ok(ExitCode::from(INTERRUPTED)),
        done = run_chapters(arguments.secure_port, pages.zip(shown), &mut presenter, &mut watcher, &mut environment) => {
            done.map(|()| ExitCode::SUCCESS)
        }
    };
    let times = signals.count();
    if let Some(environment) = environment {
        tokio::select! {
            biased;
            () = environment.end() => {}
            // A second signal ends it at once.
            _ = signals.more_than(times) => {}
        }
    }
    if matches!(done, Ok(code) if code == ExitCode::SUCCESS) {
        let again = serve_command();
        presenter.print(Content::End { again })?;
    }
    done
}

async fn run_chapters(
    secure_port: u16,
    pages: Option<(Pages, SharedModel)>,
    presenter: &mut Presenter,
    watcher: &mut Watcher,
    started: &mut Option<DemoEnvironment>,
) -> Result<(), Box<dyn Error>> {
    let start_up = chapters::start(presenter, watcher, started, secure_port).await?;
    let Some(environment) = started else {
        return Err("there is no cluster".into());
    };
    if let Some((_, model)) = &pages {
        let link = environment.show_inside(model.clone()).await?;
        presenter.print(Content::Inside { link })?;
    }
    chapters::create_change_and_delete_a_view(presenter, environment).await?;
    let Some((pages, _)) = pages else {
        return Ok(presenter.print(Content::Summary(chapters::summary(presenter, environment, start_up)))?);
    };
    chapters::welcome(presenter, environment).await?;
    presenter.print(Content::Summary(chapters::summary(presenter, environment, start_up)))?;
    serve_until_stopped(pages, presenter, watcher, environment).await
}

/// Serves pages and prints what happens, for ever.
async fn serve_until_stopped(
    pages: Pages,
    presenter: &mut Presenter,
    watcher: &Watcher,
    environment: &DemoEnvironment,
) -> Result<(), Box<dyn Error>> {
    let cache = watcher.cache().cloned().unwrap_or_default();
    presenter.print(Content::Serving {
        pages: format!("http://{}/", pages.address()),
        kubeconfig: environment.embedded.kubeconfig().display().to_string(),
        export: environment.embedded.export(),
    })?;
    let (_stopper, stop) = Stopper::new();
    tokio::select! {
        () = pages.serve(cache, stop) => Ok(()),
        ended = presenter.follow() => Ok(ended?),
    }
}

/// The command line for `--serve`, as it works in the folder in which this program was called.
fn serve_command() -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let is_cargos = std::env::var_os("CARGO").is_some();
    format!("{} demo --serve", invocation(&program.to_string_lossy(), is_cargos))
}

/// How to call this program again.
fn invocation(program: &str, is_cargos: bool) -> String {
    let path = Path::new(program);
    let has = |name: &str| path.components().any(|part| part.as_os_str() == name);
    // A program that cargo runs may not be installed.
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
        assert_eq!(invocation("kubewright", false), "kubewright");
        assert_eq!(invocation("kubewright", true), "kubewright");
        assert_eq!(invocation("", false), "kubewright");
        assert_eq!(invocation("target/release/kubewright", true), "cargo run --release --");
        assert_eq!(invocation("/src/target/debug/kubewright", true), "cargo run --");
        assert_eq!(
            invocation("target/release/kubewright", false),
            "target/release/kubewright"
        );
        assert_eq!(invocation("/my tools/kubewright", true), "'/my tools/kubewright'");
        assert_eq!(invocation("./kubewright", false), "./kubewright");
    }
}

//! `kubewright policy test`: runs admission policies over sample objects, on an API server in this process.

mod case;
mod difference;
mod folder;
mod report;
mod trial;

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use self::folder::Folder;
use self::trial::Base;
use crate::colours::Colours;
use crate::output;

/// The exit code for policies and tests that cannot be used.
const UNUSABLE: u8 = 2;

/// Test admission policies.
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Test(TestArguments),
}

const FORMAT: &str = "\
A file of tests, as in policies/replicas.test.yaml:

  cases:
  - name: too many replicas
    object: samples/web.yaml           # a file beside this one, or the object itself
    oldObject: {...}                   # what is there before; the operation is then UPDATE
    operation: CREATE                  # or UPDATE or DELETE
    subresource: status                # if it is about one
    namespace: {name: shop, labels: {tier: prod}}
    user: jane                         # default: an administrator
    groups: [developers]
    params: [{...}]                    # objects that are there in this case only
    expect:
      verdict: deny                    # or allow; `expect: deny` says the same
      message: at most 5               # a part of what the client is told
      warnings: [is old]               # a part of each warning; [] for none
      auditAnnotations: {replicas/n: '7'}
      object: {metadata: {labels: {tier: prod}}}   # fields that the stored object has

Examples:
  kubewright policy test policies
  kubewright policy test config/policy -o json";

/// Run admission policies over sample objects.
///
/// The folder has policies and their bindings, the CRDs of the kinds they are about, their params, and files of tests, *.test.yaml.
/// Each case is a request to an API server in this process, which is that of Kubernetes 1.36: match constraints, selectors, params,
/// defaults and validation are the server's own. Of a folder's other objects, Namespaces and roles with their bindings are installed,
/// too. With roles, users may do what these say, and `authorizer` sees it; without, everybody may do everything. Webhook
/// configurations are passed over.
///
/// A policy without a binding in the folder is warned of: no request is subject to it.
///
/// The exit code is 1 if a case fails, and 2 if the policies or the tests cannot be used.
#[derive(clap::Args)]
#[command(after_help = FORMAT)]
struct TestArguments {
    /// Folder with policies and tests; folders in it are searched, too.
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The output format.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

/// How results are written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A table, for people.
    Text,
    /// JSON.
    Json,
}

/// Runs the command; how it ends says whether all cases passed.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let Command::Test(arguments) = &arguments.command;
    test(arguments).unwrap_or_else(|error| {
        output::complain(&format!("error: {}", kubewright_cluster::with_sources(&*error)));
        ExitCode::from(UNUSABLE)
    })
}

fn test(arguments: &TestArguments) -> Result<ExitCode, Box<dyn Error>> {
    let folder = Folder::read(&arguments.folder)?;
    for warning in folder.unbound() {
        output::complain(&format!("warning: {warning}"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let results = runtime.block_on(async {
        let base = Base::install(&folder).await?;
        let mut results = Vec::new();
        for case in &folder.cases {
            results.push(base.run(case).await);
        }
        Ok::<_, trial::InstallError>(results)
    })?;
    let text = match arguments.output {
        Format::Text => report::text(&results, Colours::of(&io::stdout())),
        Format::Json => report::json(&results),
    };
    output::write(&text)?;
    let passed = results.iter().all(trial::CaseResult::is_passed);
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

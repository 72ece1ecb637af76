//! How a command shows what happens, as its user says.

/// The arguments of commands that show what happens.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct ViewArguments {
    /// Port of the page that shows what happens, on this machine only; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,

    /// Open the page in the browser, as the desktop does it (on Linux `xdg-open`, which minds $BROWSER).
    #[arg(long)]
    pub(crate) open: bool,

    /// Show it in this terminal, too: for who has no browser here, or likes k9s. ? lists the keys.
    #[arg(long)]
    pub(crate) tui: bool,

    /// Let the page and the terminal edit, scale and delete objects in a cluster that is not in this process. In one that is, they always may.
    #[arg(long)]
    pub(crate) allow_writes: bool,
}

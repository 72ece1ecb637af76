//! The page in the browser of this machine.

use std::io;
use std::process::{Command, Stdio};
use std::thread;

use kubewright_cluster::kubeconfig::{self, TemporaryFolder};

/// A page that was opened, as long as it may be opened.
///
/// Everybody on a machine can read the arguments of its programs, and the link has a token. So the browser is given a file that only its owner
/// can read, and that leads to the link.
pub(super) struct Opened {
    _folder: TemporaryFolder,
}

impl Opened {
    /// Opens a link, as the desktop does it. Returns at once: what is opened is the user's, and ends when the user ends it.
    pub(super) fn open(link: &str) -> io::Result<Self> {
        let folder = kubeconfig::temporary_folder()?;
        let file = folder.path().join("kubewright.html");
        let text = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>kubewright</title>\n\
             <meta http-equiv=\"refresh\" content=\"0; url={link}\">\n"
        );
        kubeconfig::write(&file, &text)?;
        let mut command = Command::new(opener());
        command
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            // Ctrl-C is for this command, not for a browser that it started.
            command.process_group(0);
        }
        let mut child = command
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", opener())))?;
        // Somebody has to ask how it ended, or it stays a zombie.
        thread::spawn(move || child.wait());
        Ok(Opened { _folder: folder })
    }
}

/// The program that opens files as the desktop does.
fn opener() -> &'static str {
    if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    }
}

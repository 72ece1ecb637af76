//! The serving certificate: of files, or of the folder `--cert-dir`, where one is made if there is none.

use std::fs;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use kubewright_system::certificates::{self, Leaf, Signer};

use super::super::flags::Given;
use super::settings::read;

/// The names of Service `kubernetes`, and its address.
const NAMES: [&str; 3] = ["kubernetes.default.svc", "kubernetes.default", "kubernetes"];
const SERVICE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// The certificate and its key as PEM; `None` if the listener shall make one that nobody keeps.
pub(super) fn certificate(
    given: &Given,
    bind: IpAddr,
    advertised: Option<IpAddr>,
) -> Result<Option<(String, String)>, String> {
    match (given.text("tls-cert-file"), given.text("tls-private-key-file")) {
        (Some(certificate), Some(key)) => {
            let certificate = read("tls-cert-file", certificate)?;
            return Ok(Some((certificate, read("tls-private-key-file", key)?)));
        }
        (None, None) => {}
        (Some(_), None) => return Err("--tls-cert-file needs --tls-private-key-file".to_owned()),
        (None, Some(_)) => return Err("--tls-private-key-file needs --tls-cert-file".to_owned()),
    }
    let Some(folder) = given.text("cert-dir").map(Path::new) else {
        return Ok(None);
    };
    let pair = [folder.join("apiserver.crt"), folder.join("apiserver.key")];
    let [certificate, key] = [&pair[0], &pair[1]].map(fs::read_to_string);
    match (certificate, key) {
        (Ok(certificate), Ok(key)) => Ok(Some((certificate, key))),
        (Err(certificate), Err(_)) if certificate.kind() == io::ErrorKind::NotFound => {
            let made =
                make(bind, advertised).map_err(|error| format!("--cert-dir: cannot make a certificate: {error}"))?;
            let told = |path: &Path, error: io::Error| format!("--cert-dir: cannot write {}: {error}", path.display());
            fs::create_dir_all(folder).map_err(|error| told(folder, error))?;
            for (path, text, mode) in [(&pair[0], &made.0, 0o644), (&pair[1], &made.1, 0o600)] {
                write(path, text, mode).map_err(|error| told(path, error))?;
            }
            Ok(Some(made))
        }
        (Err(error), _) => Err(unreadable(&pair[0], &error)),
        (_, Err(error)) => Err(unreadable(&pair[1], &error)),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    format!("error reading {path}, certificate and key must be supplied as a pair: {error}")
}

/// A certificate of an authority that nobody keeps, whose own certificate stands behind it.
fn make(bind: IpAddr, advertised: Option<IpAddr>) -> Result<(String, String), certificates::Error> {
    let mut names: Vec<String> = NAMES.iter().map(|&name| name.to_owned()).collect();
    names.extend([
        SERVICE.to_string(),
        "localhost".to_owned(),
        Ipv4Addr::LOCALHOST.to_string(),
    ]);
    let addresses = [Some(bind), advertised].into_iter().flatten();
    for address in addresses
        .filter(|address| !address.is_unspecified())
        .map(|address| address.to_string())
    {
        if !names.contains(&address) {
            names.push(address);
        }
    }
    let authority = certificates::authority("kube-apiserver-ca", None)?;
    let signer = Signer::new("kube-apiserver-ca", &authority.key_pem())?;
    let made = signer.sign(&Leaf::server("kube-apiserver", &names))?;
    Ok((made.certificate_pem() + &authority.certificate_pem(), made.key_pem()))
}

/// Writes a file whole, with a mode that it has from the beginning.
fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)?.write_all(text.as_bytes())
}

//! `--cert-dir`: the certificate authority and the key for tokens, which stay from one start of the server to the next.

use std::path::{Path, PathBuf};
use std::{fs, io};

use kubewright_apiserver::{ListenOptions, Listener, ServiceAccountTokens, TokenKeyError};
use kubewright_cluster::kubeconfig;
use kubewright_system::certificates;

/// What goes wrong with the folder.
#[derive(Debug, thiserror::Error)]
pub(super) enum CertificateFolderError {
    #[error("cannot read {} of --cert-dir", .0.display())]
    Read(PathBuf, #[source] io::Error),
    #[error("cannot write {} of --cert-dir", .0.display())]
    Write(PathBuf, #[source] io::Error),
    #[error("the folder of --cert-dir has {} without {}: put it back, or remove both to have new ones made", .0.display(), .1.display())]
    Alone(PathBuf, PathBuf),
    #[error("cannot make a key for tokens")]
    Generate(#[source] certificates::Error),
    #[error("cannot use {} of --cert-dir", .0.display())]
    Key(PathBuf, #[source] TokenKeyError),
}

/// A folder whose files are read when the server starts, and made if they are not there.
pub(super) struct CertificateFolder {
    authority: [PathBuf; 2],
    kept: Option<[String; 2]>,
    token_key: String,
    token_key_file: PathBuf,
}

impl CertificateFolder {
    pub(super) fn open(folder: &Path) -> Result<Self, CertificateFolderError> {
        fs::create_dir_all(folder).map_err(|error| CertificateFolderError::Write(folder.to_owned(), error))?;
        let authority = [folder.join("ca.crt"), folder.join("ca.key")];
        let kept = match (read(&authority[0])?, read(&authority[1])?) {
            (Some(certificate), Some(key)) => Some([certificate, key]),
            (None, None) => None,
            (Some(_), None) => return Err(alone(&authority[0], &authority[1])),
            (None, Some(_)) => return Err(alone(&authority[1], &authority[0])),
        };
        let token_key_file = folder.join("sa.key");
        let token_key = if let Some(key) = read(&token_key_file)? {
            key
        } else {
            let (_, key) = certificates::key_pair().map_err(CertificateFolderError::Generate)?;
            write(&token_key_file, &key)?;
            key
        };
        Ok(CertificateFolder {
            authority,
            kept,
            token_key,
            token_key_file,
        })
    }

    /// Tokens that are good after the next start, too.
    pub(super) fn tokens(&self) -> Result<ServiceAccountTokens, CertificateFolderError> {
        let tokens = ServiceAccountTokens::new().signing_key(&self.token_key);
        tokens.map_err(|error| CertificateFolderError::Key(self.token_key_file.clone(), error))
    }

    /// Lets a listener have the authority of the last start.
    pub(super) fn listening(&self, options: ListenOptions) -> ListenOptions {
        match &self.kept {
            Some([certificate, key]) => options.authority(certificate, key),
            None => options,
        }
    }

    /// Keeps the authority that a listener made.
    pub(super) fn keep(&self, listener: &Listener) -> Result<(), CertificateFolderError> {
        if self.kept.is_some() {
            return Ok(());
        }
        let (certificate, key) = listener.authority_pem();
        // Its key first: a certificate without a key could not be used again.
        write(&self.authority[1], key)?;
        write(&self.authority[0], certificate)
    }
}

fn alone(present: &Path, missing: &Path) -> CertificateFolderError {
    CertificateFolderError::Alone(present.to_owned(), missing.to_owned())
}

/// The text of a file, if it is there.
fn read(path: &Path) -> Result<Option<String>, CertificateFolderError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CertificateFolderError::Read(path.to_owned(), error)),
    }
}

/// Writes a file that only its owner reads.
fn write(path: &Path, text: &str) -> Result<(), CertificateFolderError> {
    kubeconfig::write(path, text).map_err(|error| CertificateFolderError::Write(path.to_owned(), error))
}

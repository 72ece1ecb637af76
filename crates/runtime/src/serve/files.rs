//! A certificate and its key in two files, which may be replaced at any time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::certificates::{CertificateError, certified};

/// How often a pair of files is read until it did not change meanwhile: a mounted Secret is replaced by changing a symbolic link.
const TRIES: usize = 3;

/// The files of a certificate and its key, and what was last read from them.
pub(super) struct Files {
    pub(super) certificate: PathBuf,
    key: PathBuf,
    last: Mutex<LastRead>,
    /// Held by the task that follows the files, of which there is one at a time.
    pub(super) follower: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct LastRead {
    /// The texts that were usable.
    texts: Vec<u8>,
    /// The error of the last read.
    trouble: Option<String>,
}

/// The result of reading the files again.
pub(super) enum FileCheck {
    /// The same as before.
    Same,
    /// Another pair.
    Changed(Arc<CertifiedKey>),
    /// They cannot be used. `is_news` means that the error is not that of the last time.
    Unusable { error: CertificateError, is_news: bool },
}

impl Files {
    pub(super) fn new(certificate: PathBuf, key: PathBuf) -> Self {
        Files {
            certificate,
            key,
            last: Mutex::default(),
            follower: tokio::sync::Mutex::default(),
        }
    }

    /// Reads the files again.
    pub(super) fn look(&self) -> FileCheck {
        let read = self.read();
        let mut last = self.last.lock();
        match read {
            Ok((texts, _)) if texts == last.texts => {
                last.trouble = None;
                FileCheck::Same
            }
            Ok((texts, pair)) => {
                *last = LastRead { texts, trouble: None };
                FileCheck::Changed(pair)
            }
            Err(error) => {
                let trouble = Some(format!("{error}: {:?}", std::error::Error::source(&error)));
                let is_news = last.trouble != trouble;
                last.trouble = trouble;
                FileCheck::Unusable { error, is_news }
            }
        }
    }

    /// The texts, to see whether they changed, and what they mean.
    fn read(&self) -> Result<(Vec<u8>, Arc<CertifiedKey>), CertificateError> {
        let mut result = self.read_once();
        for _ in 1..TRIES {
            // Files of two versions of the folder, or of one that is gone.
            if !matches!(&result, Ok((_, false)) | Err(CertificateError::Read { .. })) {
                break;
            }
            result = self.read_once();
        }
        let ((certificate, key), _) = result?;
        let pem = |path: &Path| {
            let path = path.to_owned();
            move |source| CertificateError::Pem { path, source }
        };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificate).collect();
        let chain = chain.map_err(pem(&self.certificate))?;
        let private = PrivateKeyDer::from_pem_slice(&key).map_err(pem(&self.key))?;
        let pair = certified(chain, private)?;
        Ok(([certificate, key].concat(), pair))
    }

    /// Both texts, and whether they belong together as far as the folders tell.
    #[allow(clippy::type_complexity)]
    fn read_once(&self) -> Result<((Vec<u8>, Vec<u8>), bool), CertificateError> {
        let places = self.places()?;
        let texts = (read(&self.certificate)?, read(&self.key)?);
        Ok((texts, self.places()? == places))
    }

    /// Where the files really are.
    fn places(&self) -> Result<[PathBuf; 2], CertificateError> {
        let place = |path: &Path| fs::canonicalize(path).map_err(|source| cannot_read(path, source));
        Ok([place(&self.certificate)?, place(&self.key)?])
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    fs::read(path).map_err(|source| cannot_read(path, source))
}

pub(super) fn cannot_read(path: &Path, source: io::Error) -> CertificateError {
    CertificateError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_news_once_and_again_after_it_was_over() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
        let made = [(); 2].map(|()| rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap());
        let write = |certificate_of: usize, key_of: usize| {
            fs::write(&certificate, made[certificate_of].cert.pem()).unwrap();
            fs::write(&key, made[key_of].signing_key.serialize_pem()).unwrap();
        };
        let files = Files::new(certificate.clone(), key.clone());
        let look = || match files.look() {
            FileCheck::Same => "same",
            FileCheck::Changed(_) => "changed",
            FileCheck::Unusable { is_news: true, .. } => "trouble",
            FileCheck::Unusable { is_news: false, .. } => "same trouble",
        };
        assert_eq!((look(), look()), ("trouble", "same trouble"));
        write(0, 0);
        assert_eq!((look(), look()), ("changed", "same"));
        write(1, 0);
        assert_eq!((look(), look(), look()), ("trouble", "same trouble", "same trouble"));
        fs::write(&key, "-----BEGIN PRIVATE KEY-----\nhalf").unwrap();
        assert_eq!((look(), look()), ("trouble", "same trouble"));
        write(1, 1);
        assert_eq!((look(), look()), ("changed", "same"));
        write(1, 0);
        assert_eq!(look(), "trouble");
        write(1, 1);
        assert_eq!((look(), look()), ("same", "same"));
    }
}

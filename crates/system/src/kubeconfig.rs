//! Writing kubeconfigs: one cluster, one user, one context.

use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A kubeconfig. Its text is YAML.
///
/// ```
/// use kubewright_system::kubeconfig::{Authority, Credentials, Kubeconfig};
///
/// let text = Kubeconfig {
///     context: "dev",
///     cluster: "dev",
///     user: "jane",
///     namespace: Some("default"),
///     server: "https://127.0.0.1:6443",
///     authority: Authority::File("/etc/ca.crt"),
///     credentials: Credentials::Token("secret"),
/// }
/// .to_string();
/// assert!(text.contains("    server: https://127.0.0.1:6443\n"));
/// ```
#[derive(Clone, Copy)]
pub struct Kubeconfig<'a> {
    /// The name of its one context, which is the current one.
    pub context: &'a str,
    /// The name of its one cluster.
    pub cluster: &'a str,
    /// The name of its one user.
    pub user: &'a str,
    /// The namespace of the context.
    pub namespace: Option<&'a str>,
    /// The URL of the API server.
    pub server: &'a str,
    /// The CA of the API server's certificate.
    pub authority: Authority<'a>,
    /// How the user proves to be who they are.
    pub credentials: Credentials<'a>,
}

/// How the certificate of an API server is verified.
#[derive(Clone, Copy)]
pub enum Authority<'a> {
    /// By a certificate authority, as PEM.
    Pem(&'a str),
    /// By a certificate authority in a file.
    File(&'a str),
    /// Not at all.
    Unverified,
}

/// How a user proves to be who they are.
#[derive(Clone, Copy)]
pub enum Credentials<'a> {
    /// By a certificate and its key, both as PEM.
    Certificate {
        /// The certificate.
        certificate: &'a str,
        /// Its private key.
        key: &'a str,
    },
    /// By a bearer token.
    Token(&'a str),
    /// By a bearer token in a file.
    TokenFile(&'a str),
}

impl fmt::Display for Kubeconfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [context, cluster, user] = [self.context, self.cluster, self.user].map(scalar);
        writeln!(
            f,
            "apiVersion: v1\nkind: Config\nclusters:\n- name: {cluster}\n  cluster:"
        )?;
        writeln!(f, "    server: {}", scalar(self.server))?;
        match self.authority {
            Authority::Pem(pem) => writeln!(f, "    certificate-authority-data: {}", STANDARD.encode(pem))?,
            Authority::File(path) => writeln!(f, "    certificate-authority: {}", scalar(path))?,
            Authority::Unverified => writeln!(f, "    insecure-skip-tls-verify: true")?,
        }
        writeln!(f, "users:\n- name: {user}\n  user:")?;
        match self.credentials {
            Credentials::Certificate { certificate, key } => {
                writeln!(f, "    client-certificate-data: {}", STANDARD.encode(certificate))?;
                writeln!(f, "    client-key-data: {}", STANDARD.encode(key))?;
            }
            Credentials::Token(token) => writeln!(f, "    token: {}", scalar(token))?,
            Credentials::TokenFile(path) => writeln!(f, "    tokenFile: {}", scalar(path))?,
        }
        writeln!(
            f,
            "contexts:\n- name: {context}\n  context:\n    cluster: {cluster}\n    user: {user}"
        )?;
        if let Some(namespace) = self.namespace {
            writeln!(f, "    namespace: {}", scalar(namespace))?;
        }
        writeln!(f, "current-context: {context}")
    }
}

/// Keys and tokens stay out of logs.
impl fmt::Debug for Kubeconfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubeconfig")
            .field("context", &self.context)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// A text as YAML: plain where no parser could take it for another type, otherwise in double quotes.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-._:/".contains(letter))
        && !text.ends_with(':')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word));
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_is_written_as_people_know_it() {
        let written = Kubeconfig {
            context: "kubewright",
            cluster: "kubewright",
            user: "admin",
            namespace: Some("default"),
            server: "https://[::1]:6443",
            authority: Authority::Pem("ca"),
            credentials: Credentials::Certificate {
                certificate: "certificate",
                key: "key",
            },
        };
        assert_eq!(
            written.to_string(),
            "\
apiVersion: v1
kind: Config
clusters:
- name: kubewright
  cluster:
    server: \"https://[::1]:6443\"
    certificate-authority-data: Y2E=
users:
- name: admin
  user:
    client-certificate-data: Y2VydGlmaWNhdGU=
    client-key-data: a2V5
contexts:
- name: kubewright
  context:
    cluster: kubewright
    user: admin
    namespace: default
current-context: kubewright
"
        );
        assert!(!format!("{written:?}").contains("key"));
    }

    #[test]
    fn texts_that_yaml_would_take_for_something_else_are_quoted() {
        for plain in ["https://127.0.0.1:6443", "/tmp/a/ca.crt", "kubewright"] {
            assert_eq!(scalar(plain), plain);
        }
        for (text, quoted) in [
            ("", "\"\""),
            ("1", "\"1\""),
            ("true", "\"true\""),
            ("a b", "\"a b\""),
            ("a:", "\"a:\""),
            ("a\"\\\n", "\"a\\\"\\\\\\u000a\""),
            ("/tmp/ä #1", "\"/tmp/ä #1\""),
        ] {
            assert_eq!(scalar(text), quoted);
        }
    }
}

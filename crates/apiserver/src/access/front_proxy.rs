//! Headers by which a front proxy says whom a request is of.

use http::HeaderMap;

use super::User;

/// Which headers of a front proxy say what.
///
/// ```
/// use kubewright_apiserver::FrontProxyHeaders;
///
/// let mut headers = http::HeaderMap::new();
/// headers.insert("x-remote-user", "jane".parse().unwrap());
/// assert_eq!(FrontProxyHeaders::usual().user(&headers).unwrap().name, "jane");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontProxyHeaders {
    /// The name of the user: the first header that is there counts.
    pub users: Vec<String>,
    /// The uid, likewise.
    pub uids: Vec<String>,
    /// Groups: all values of all of them.
    pub groups: Vec<String>,
    /// What headers with extra fields begin with; the rest of their name is the key.
    pub extra_prefixes: Vec<String>,
}

/// The proxies whose headers count.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrontProxies {
    /// Their authorities, as PEM.
    pub(crate) authorities: String,
    /// Their common names; any, if empty.
    pub(crate) allowed: Vec<String>,
    pub(crate) headers: FrontProxyHeaders,
}

impl FrontProxyHeaders {
    /// Those that a kube-apiserver is usually told to write.
    pub fn usual() -> FrontProxyHeaders {
        let list = |name: &str| vec![name.to_owned()];
        FrontProxyHeaders {
            users: list("X-Remote-User"),
            uids: list("X-Remote-Uid"),
            groups: list("X-Remote-Group"),
            extra_prefixes: list("X-Remote-Extra-"),
        }
    }

    /// The user that the headers name, if they name one.
    pub fn user(&self, headers: &HeaderMap) -> Option<User> {
        let first = |names: &[String]| {
            let values = names.iter().filter_map(|name| headers.get(name.as_str()));
            values.map(text).find(|value| !value.is_empty())
        };
        let name = first(&self.users)?;
        let groups = self
            .groups
            .iter()
            .flat_map(|name| headers.get_all(name.as_str()))
            .map(text)
            .filter(|group| !group.is_empty());
        let mut user = User::new(name, groups).with_uid(first(&self.uids).unwrap_or_default());
        for prefix in &self.extra_prefixes {
            let prefix = prefix.to_ascii_lowercase();
            for (name, value) in headers {
                if let Some(key) = name.as_str().strip_prefix(&prefix) {
                    let values = user.extra.entry(unescaped(key)).or_default();
                    values.push(text(value));
                }
            }
        }
        Some(user)
    }
}

fn text(value: &http::HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// A key of an extra field, which is escaped where a header cannot have a character; one with a wrong escape stays as it is.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let [first, further @ ..] = rest {
        rest = further;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let escaped = further
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) => bytes.push(byte),
            None => return key.to_owned(),
        }
        rest = &further[2..];
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_what_the_headers_say() {
        let mut headers = HeaderMap::new();
        headers.insert("x-remote-user", "jane".parse().unwrap());
        headers.insert("x-remote-uid", "7".parse().unwrap());
        headers.append("x-remote-group", "staff".parse().unwrap());
        headers.append("x-remote-group", "system:authenticated".parse().unwrap());
        headers.insert("x-remote-extra-example.com%2fpod", "web-0".parse().unwrap());
        let user = FrontProxyHeaders::usual().user(&headers).unwrap();
        let wanted = User::new("jane", ["staff"])
            .with_uid("7")
            .with_extra("example.com/pod", ["web-0"]);
        assert_eq!(user, wanted);
    }

    #[test]
    fn without_a_name_there_is_no_user() {
        let mut headers = HeaderMap::new();
        headers.insert("x-remote-group", "system:masters".parse().unwrap());
        headers.insert("x-remote-user", "".parse().unwrap());
        assert_eq!(FrontProxyHeaders::usual().user(&headers), None);
        assert_eq!(FrontProxyHeaders::default().user(&headers), None);
    }

    #[test]
    fn a_wrong_escape_stays_as_it_is() {
        for (key, wanted) in [
            ("a%2fb", "a/b"),
            ("a%2", "a%2"),
            ("%zz", "%zz"),
            ("%ff", "%ff"),
            ("plain", "plain"),
        ] {
            assert_eq!(unescaped(key), wanted);
        }
    }
}

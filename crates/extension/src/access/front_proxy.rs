//! Headers by which a front proxy says whom a request is of.

use http::HeaderMap;
use kubewright_apiserver::User;

/// Which headers say what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderNames {
    pub(super) users: Vec<String>,
    pub(super) uids: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) extra_prefixes: Vec<String>,
}

impl HeaderNames {
    /// Those that a kube-apiserver is usually told to write.
    pub(super) fn usual() -> HeaderNames {
        let list = |name: &str| vec![name.to_owned()];
        HeaderNames {
            users: list("X-Remote-User"),
            uids: list("X-Remote-Uid"),
            groups: list("X-Remote-Group"),
            extra_prefixes: list("X-Remote-Extra-"),
        }
    }

    /// The user that the headers name, if they name one.
    pub(super) fn user(&self, headers: &HeaderMap) -> Option<User> {
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
        let user = HeaderNames::usual().user(&headers).unwrap();
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
        assert_eq!(HeaderNames::usual().user(&headers), None);
        assert_eq!(HeaderNames::default().user(&headers), None);
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

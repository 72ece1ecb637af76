//! Links that lead through the proxy: an address on the same host gets the proxy's path before its own, or the address of its server.

use kubewright_apimachinery::url::{Url, escape_path};

/// What links are rewritten with.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    /// The address of the port, as a URL has it.
    pub(crate) source: String,
    /// The host that the client asked for.
    pub(crate) requested: String,
    /// The path of the proxy, up to what is asked for behind it.
    pub(crate) prefix: String,
    /// Scheme and host of every link that is rewritten. Without one, links have neither, but for those to the host that the client asked for.
    pub(crate) origin: Option<String>,
}

impl Links {
    /// Where a link leads through the proxy; `None` if it stays as it is. The error is Go's.
    pub(crate) fn rewrite(&self, link: &str) -> Result<Option<String>, String> {
        let url = Url::parse(link)?;
        let is_elsewhere = !url.host.is_empty() && url.host != self.source && url.host != self.requested;
        if is_elsewhere || !url.path.starts_with('/') {
            return Ok(None);
        }
        let mut rewritten = self.origin.clone().unwrap_or_default();
        if self.origin.is_none() && !url.host.is_empty() && url.host == self.requested {
            if !url.scheme.is_empty() {
                rewritten = format!("{}:", url.scheme);
            }
            rewritten = format!("{rewritten}//{}", url.host);
        }
        if url.path.starts_with(&self.prefix) {
            rewritten.push_str(&url.escaped_path);
        } else {
            rewritten.push_str(&escape_path(&joined(&self.prefix, &url.path)));
        }
        if !url.query.is_empty() || url.has_empty_query {
            rewritten.push('?');
            rewritten.push_str(&url.query);
        }
        if let Some((_, fragment)) = link.split_once('#') {
            rewritten.push('#');
            rewritten.push_str(fragment);
        }
        Ok(Some(rewritten))
    }
}

/// Two paths as Go's `path.Join` joins them, with the last slash of the second.
pub(crate) fn joined(first: &str, second: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in first.split('/').chain(second.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let slash = if second.ends_with('/') && !parts.is_empty() {
        "/"
    } else {
        ""
    };
    format!("/{}{slash}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_on_the_same_host_lead_through_the_proxy() {
        let links = Links {
            source: "10.244.0.1:80".to_owned(),
            requested: "127.0.0.1:6443".to_owned(),
            prefix: "/api/v1/namespaces/n/pods/web/proxy".to_owned(),
            origin: None,
        };
        let rewrite = |link: &str| links.rewrite(link).unwrap().unwrap_or_else(|| link.to_owned());
        let proxied = |path: &str| format!("/api/v1/namespaces/n/pods/web/proxy{path}");
        assert_eq!(rewrite("/"), proxied("/"));
        assert_eq!(rewrite("/a/../b/?q=1#top"), proxied("/b/?q=1#top"));
        assert_eq!(rewrite("/a%20b"), proxied("/a%20b"));
        assert_eq!(rewrite("http://10.244.0.1:80/a"), proxied("/a"));
        assert_eq!(
            rewrite("https://127.0.0.1:6443/a"),
            format!("https://127.0.0.1:6443{}", proxied("/a"))
        );
        for same in [
            "a/b",
            "",
            "#top",
            "?q",
            "mailto:a@b",
            "https://example.com/a",
            &proxied("/a"),
        ] {
            assert_eq!(rewrite(same), same);
        }
        assert!(links.rewrite("http://[").is_err());
    }
    #[test]
    fn links_may_get_the_address_of_the_server() {
        let links = Links {
            source: "10.0.0.1:443".to_owned(),
            requested: "10.0.0.1:443".to_owned(),
            prefix: String::new(),
            origin: Some("https://10.0.0.1:443".to_owned()),
        };
        let rewrite = |link: &str| links.rewrite(link).unwrap().unwrap_or_else(|| link.to_owned());
        assert_eq!(rewrite("/a/?q=1#top"), "https://10.0.0.1:443/a/?q=1#top");
        assert_eq!(rewrite("http://10.0.0.1:443/a"), "https://10.0.0.1:443/a");
        assert_eq!(rewrite("a"), "a");
        assert_eq!(rewrite("https://example.com/a"), "https://example.com/a");
    }
}

//! Who may look: a browser of this machine that was given the link.
//!
//! The token is in the link's fragment, which is sent nowhere; the page exchanges it for a cookie that no script reads and that other
//! sites' requests do not carry. A name of somebody else's that leads here is refused by its `Host`, a page of another site by its
//! `Origin`. The files of the page hold nothing, and are for everybody who gets that far.

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use kubewright_runtime::random::Random;
use kubewright_runtime::serve::HttpResponse;

use super::respond::{refused, typed};

pub(super) struct Access {
    port: u16,
    token: String,
    /// What the cookie holds.
    session: String,
}

impl Access {
    pub(super) fn new(port: u16) -> Self {
        let random = Random::from_entropy();
        let secret = || format!("{}{}", random.uuid(), random.uuid()).replace('-', "");
        Access {
            port,
            token: secret(),
            session: secret(),
        }
    }

    /// The address with the token.
    pub(super) fn link(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.port, self.token)
    }

    /// Cookies are shared by all ports of a host, so that the port is in the name.
    fn cookie(&self) -> String {
        format!("kubewright-dev-{}", self.port)
    }

    /// The refusal of a request that comes under another name or from another site.
    pub(super) fn refuse_source(&self, method: &Method, headers: &HeaderMap) -> Option<HttpResponse> {
        let value = |name| {
            headers
                .get(name)
                .map(|value: &HeaderValue| value.to_str().unwrap_or("?"))
        };
        let names = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let host = value(header::HOST).unwrap_or_default();
        if !names.iter().any(|name| name == host) {
            return Some(refused(
                StatusCode::MISDIRECTED_REQUEST,
                "this page is only for a browser of this machine",
            ));
        }
        let is_own = match value(header::ORIGIN) {
            Some(origin) => origin.strip_prefix("http://") == Some(host),
            // Browsers send it with everything but a plain GET.
            None => method == Method::GET,
        };
        (!is_own).then(|| refused(StatusCode::FORBIDDEN, "another site's page may not ask here"))
    }

    /// The refusal of a request without the cookie.
    pub(super) fn refuse_stranger(&self, headers: &HeaderMap) -> Option<HttpResponse> {
        let name = self.cookie();
        let cookies = headers.get_all(header::COOKIE).iter();
        let is_known = cookies
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .any(|(key, value)| key == name && is_same(value.as_bytes(), self.session.as_bytes()));
        (!is_known).then(|| {
            refused(
                StatusCode::UNAUTHORIZED,
                "open the link that `kubewright dev` printed: it has a token",
            )
        })
    }

    /// Exchanges the token for the cookie.
    pub(super) fn login(&self, token: &[u8]) -> HttpResponse {
        if !is_same(token, self.token.as_bytes()) {
            return refused(StatusCode::UNAUTHORIZED, "that is not the token of this page");
        }
        let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie(), self.session);
        let mut answer = typed(StatusCode::NO_CONTENT, "text/plain; charset=utf-8", "");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            answer.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        answer
    }
}

/// Compares in a time that does not depend on where the two differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap()));
        pairs.collect()
    }

    #[test]
    fn only_this_machine_under_its_own_name_and_port_is_answered() {
        let access = Access::new(7000);
        let code = |method: Method, pairs: &[(&'static str, &str)]| {
            access
                .refuse_source(&method, &headers(pairs))
                .map(|answer| answer.status().as_u16())
        };
        assert_eq!(code(Method::GET, &[("host", "127.0.0.1:7000")]), None);
        assert_eq!(
            code(
                Method::GET,
                &[("host", "localhost:7000"), ("origin", "http://localhost:7000")]
            ),
            None
        );
        for host in [
            "evil.example:7000",
            "127.0.0.1",
            "127.0.0.1:7001",
            "localhost.evil.example:7000",
            "",
        ] {
            assert_eq!(code(Method::GET, &[("host", host)]), Some(421), "{host}");
        }
        assert_eq!(code(Method::GET, &[]), Some(421));
        for origin in [
            "http://evil.example",
            "null",
            "https://localhost:7000",
            "http://127.0.0.1:7000",
        ] {
            let pairs = [("host", "localhost:7000"), ("origin", origin)];
            assert_eq!(code(Method::GET, &pairs), Some(403), "{origin}");
        }
        assert_eq!(code(Method::POST, &[("host", "localhost:7000")]), Some(403));
    }

    #[test]
    fn the_token_is_exchanged_for_a_cookie_that_is_not_the_token() {
        let access = Access::new(7000);
        assert_eq!(access.login(b"").status(), 401);
        assert_eq!(access.login(access.session.as_bytes()).status(), 401);
        let answer = access.login(access.token.as_bytes());
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        assert!(
            cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict") && !cookie.contains(&access.token),
            "{cookie}"
        );
        let pair = cookie.split(';').next().unwrap();
        assert!(
            access
                .refuse_stranger(&headers(&[("cookie", &format!("a=b; {pair}"))]))
                .is_none()
        );
        for stranger in [
            "",
            "kubewright-dev-7000=",
            "kubewright-dev-7001=x",
            &pair[..pair.len() - 1],
        ] {
            assert_eq!(
                access
                    .refuse_stranger(&headers(&[("cookie", stranger)]))
                    .unwrap()
                    .status(),
                401,
                "{stranger}"
            );
        }
        assert_eq!(access.refuse_stranger(&HeaderMap::new()).unwrap().status(), 401);
        assert_ne!(access.token, Access::new(7000).token);
    }
}

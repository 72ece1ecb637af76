//! The dictionary that both sides of SPDY/3 begin to compress headers with, from section 2.6.10.1 of its specification: words with their
//! length before them, and one long text.

const WORDS: [&str; 65] = [
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
];

/// What follows the words, without its length.
const REST: &str = concat!(
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505",
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized",
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable",
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT",
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,",
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
);

/// The text of the dictionary. Its words are in the order of the specification, which compression depends on.
pub(super) fn text() -> Vec<u8> {
    let mut text = Vec::with_capacity(1423);
    for word in WORDS {
        // No word comes near the limit.
        text.extend_from_slice(&(word.len() as u32).to_be_bytes());
        text.extend_from_slice(word.as_bytes());
    }
    text.extend_from_slice(REST.as_bytes());
    text
}

#[cfg(test)]
mod tests {
    /// A compressed stream names its dictionary by this checksum, so that a wrong byte is a dictionary that no peer has.
    #[test]
    fn the_dictionary_is_the_one_that_peers_name() {
        let text = super::text();
        assert_eq!(text.len(), 1423);
        let (low, high) = text.iter().fold((1_u32, 0_u32), |(low, high), byte| {
            let low = (low + u32::from(*byte)) % 65_521;
            (low, (high + low) % 65_521)
        });
        assert_eq!(high << 16 | low, 0xe3c6_a7c2);
    }
}

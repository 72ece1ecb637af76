//! The options of a request for a log, and their validation with upstream's messages.

use jiff::Timestamp;
use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;

use crate::wire::query::Query;
use crate::wire::status::{Result, Status};

/// Which part of a log is read, and how it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogOptions {
    pub(crate) follow: bool,
    pub(crate) previous: bool,
    pub(crate) timestamps: bool,
    pub(crate) tail: Option<usize>,
    pub(crate) limit: Option<usize>,
    pub(crate) since: Option<Timestamp>,
}

impl LogOptions {
    /// Reads the options of a request about this Pod.
    pub(crate) fn parse(query: &Query, pod: &str, now: Timestamp) -> Result<Self> {
        let flag = |name| query.flag(name).unwrap_or(false);
        let (tail, limit) = (query.integer("tailLines")?, query.integer("limitBytes")?);
        let seconds = query.integer("sinceSeconds")?;
        let since = query.get("sinceTime").filter(|text| !text.is_empty());
        let since = since.map(time).transpose()?;
        check(query, pod, tail, limit, seconds, since)?;
        let ago = seconds.map(|seconds| {
            let ago = jiff::SignedDuration::from_secs(seconds);
            now.checked_sub(ago).unwrap_or(Timestamp::MIN)
        });
        // A number that does not fit is larger than any log.
        let size = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(LogOptions {
            follow: flag("follow"),
            previous: flag("previous"),
            timestamps: flag("timestamps"),
            tail: tail.map(size),
            limit: limit.map(size),
            since: ago.or(since),
        })
    }
}

fn time(text: &str) -> Result<Timestamp> {
    text.parse().map_err(|_| {
        let layout = quote("2006-01-02T15:04:05Z07:00");
        let text = quote(text);
        Status::bad_request(format!(
            "parsing time {text} as {layout}: cannot parse {text} as \"2006\""
        ))
    })
}

fn check(
    query: &Query,
    pod: &str,
    tail: Option<i64>,
    limit: Option<i64>,
    seconds: Option<i64>,
    since: Option<Timestamp>,
) -> Result<()> {
    let mut errors = Errors::new();
    if let Some(tail) = tail.filter(|tail| *tail < 0) {
        let words = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(&PathRef::root("tailLines"), tail, words));
    }
    let mut require_positive = |field: &str, value: i64| {
        if value < 1 {
            errors.push(FieldError::invalid(
                &PathRef::root(field),
                value,
                "must be greater than 0",
            ));
        }
    };
    if let Some(limit) = limit {
        require_positive("limitBytes", limit);
    }
    match (seconds, since) {
        (Some(_), Some(_)) => {
            let words = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            errors.push(FieldError::forbidden(&PathRef::root("[]"), words));
        }
        (Some(seconds), None) => require_positive("sinceSeconds", seconds),
        (None, _) => {}
    }
    if query.get("stream").is_some() {
        errors.push(FieldError::forbidden(&PathRef::root("stream"), "may not be specified"));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid("", "PodLogOptions", pod, &errors))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<LogOptions> {
        LogOptions::parse(&Query::parse(Some(query)), "p", Timestamp::from_second(1000).unwrap())
    }

    #[test]
    fn options_are_read_as_kubectl_sends_them() {
        let options =
            parse("follow=true&tailLines=5&sinceSeconds=10&timestamps=true&limitBytes=9&container=c").unwrap();
        assert!(options.follow && options.timestamps && !options.previous);
        assert_eq!((options.tail, options.limit), (Some(5), Some(9)));
        assert_eq!(options.since, Timestamp::from_second(990).ok());
        let since = parse("sinceTime=1970-01-01T00:00:07Z").unwrap().since;
        assert_eq!(since, Timestamp::from_second(7).ok());
        assert_eq!(
            parse("sinceSeconds=9223372036854775807").unwrap().since,
            Some(Timestamp::MIN)
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_field() {
        for (query, code) in [
            ("tailLines=-1", 422),
            ("limitBytes=0", 422),
            ("sinceSeconds=0", 422),
            ("sinceSeconds=1&sinceTime=1970-01-01T00:00:07Z", 422),
            ("sinceTime=yesterday", 400),
            ("tailLines=many", 400),
        ] {
            assert_eq!(parse(query).unwrap_err().code.as_u16(), code, "{query}");
        }
    }
}

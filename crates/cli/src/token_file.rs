//! The file of `--token-auth-file`: lines of `token,user,uid,"group1,group2"`, as kube-apiserver reads it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use kubewright_apiserver::User;

/// What is wrong with a token file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read the token file {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the token file {}, line {line}: {why}", path.display())]
    Line {
        path: PathBuf,
        line: usize,
        why: &'static str,
    },
}

/// The tokens of a file and whose they are.
pub(crate) fn read(path: &Path) -> Result<Vec<(String, User)>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(&text).map_err(|(line, why)| Error::Line {
        path: path.to_owned(),
        line,
        why,
    })
}

/// The error is a line's number and what is wrong with it.
fn parse(text: &str) -> Result<Vec<(String, User)>, (usize, &'static str)> {
    let mut tokens = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.is_empty() {
            continue;
        }
        let fields = fields(line).map_err(|why| (at + 1, why))?;
        let [token, name, uid, rest @ ..] = fields.as_slice() else {
            return Err((
                at + 1,
                "at least token, user name and uid must be there, parted by commas",
            ));
        };
        // As upstream, a line without a token is ignored.
        if token.is_empty() {
            continue;
        }
        let groups = rest.first().map(|groups| groups.split(',')).into_iter().flatten();
        tokens.push((token.clone(), User::new(name, groups).with_uid(uid)));
    }
    Ok(tokens)
}

/// The fields of a line of comma-separated values, quoted or not.
fn fields(line: &str) -> Result<Vec<String>, &'static str> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted_field(quoted)?
        } else {
            let (field, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
            if field.contains('"') {
                return Err("a quote stands inside of an unquoted field");
            }
            (field.to_owned(), after)
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(fields),
            None => return Err("something follows a quoted field"),
        }
    }
}

/// A field up to its closing quote, in which two quotes are one; and what follows.
fn quoted_field(text: &str) -> Result<(String, &str), &'static str> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"').ok_or("a quote is not closed")?;
        field.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                field.push('"');
                rest = after;
            }
            None => return Ok((field, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_token_and_its_user() {
        let tokens = parse("t1,jane,u1,\"staff,night \"\"shift\"\"\"\n\nt2,robot,u2\n").unwrap();
        assert_eq!(tokens.len(), 2);
        let (token, jane) = &tokens[0];
        assert_eq!((token.as_str(), &*jane.name, &*jane.uid), ("t1", "jane", "u1"));
        assert_eq!(jane.groups, ["staff", "night \"shift\"", "system:authenticated"]);
        assert_eq!(tokens[1].1.groups, ["system:authenticated"]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line) in [("a,b", 1), ("a,b,c\nx,\"y,z", 2), ("a,\"b\"c,d", 1), ("a,b\"c,d", 1)] {
            assert_eq!(parse(text).unwrap_err().0, line, "{text}");
        }
    }
}

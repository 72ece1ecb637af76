//! Image names, as far as the default pull policy needs to read them.

/// Whether an image is the moving `latest`: named so, or without tag and digest. A name that cannot be read is not.
pub(crate) fn is_latest(image: &str) -> bool {
    let (rest, digest) = match image.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (image, None),
    };
    let (repository, tag) = match rest.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
        _ => (rest, None),
    };
    if !is_repository(repository) || tag.is_some_and(|tag| !is_tag(tag)) || digest.is_some_and(|it| !is_digest(it)) {
        return false;
    }
    match tag {
        Some(tag) => tag == "latest",
        None => digest.is_none(),
    }
}

fn is_tag(tag: &str) -> bool {
    tag.len() <= 128
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
        && !tag.is_empty()
        && !tag.starts_with(['.', '-'])
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else {
        return false;
    };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == length && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// `[domain/]path`, where a first part with a dot, a port or a capital letter, or `localhost`, is a domain.
fn is_repository(repository: &str) -> bool {
    const LENGTH_MAX: usize = 255;
    let (domain, path) = match repository.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first => {
            (Some(first), rest)
        }
        _ => (None, repository),
    };
    // A bare 64-digit hexadecimal name would be taken for an image id and is refused.
    let is_id = repository.len() == 64 && repository.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    // A name without a slash is looked up among the official images.
    let implied = if domain.is_none() && !path.contains('/') {
        "library/".len()
    } else {
        0
    };
    !is_id && implied + path.len() <= LENGTH_MAX && domain.is_none_or(is_domain) && path.split('/').all(is_component)
}

fn is_domain(domain: &str) -> bool {
    let (host, port) = match domain.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (domain, None),
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .is_some_and(|host| !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':'));
    let port_is_fine = port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    port_is_fine && (is_address || host.split('.').all(is_label))
}

/// Lowercase letters and digits, with one dot, one or two underscores, or dashes between them.
fn is_component(component: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    component.starts_with(alphanumeric)
        && component.ends_with(alphanumeric)
        && component
            .split(alphanumeric)
            .all(|separator| matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::is_latest;

    #[test]
    fn an_image_without_tag_and_digest_is_latest() {
        for image in [
            "nginx",
            "nginx:latest",
            "docker.io/library/nginx",
            "localhost:5000/a/b",
            "quay.io/a:latest",
        ] {
            assert!(is_latest(image), "{image}");
        }
    }

    #[test]
    fn tagged_pinned_and_unreadable_images_are_not() {
        let digest = format!("nginx@sha256:{}", "a".repeat(64));
        for image in [
            "nginx:1.27",
            "localhost:5000/a:v1",
            digest.as_str(),
            "Nginx",
            "",
            " nginx ",
            "a//b",
            "nginx:",
        ] {
            assert!(!is_latest(image), "{image}");
        }
    }

    #[test]
    fn a_digest_does_not_hide_the_latest_tag() {
        assert!(is_latest(&format!("nginx:latest@sha256:{}", "a".repeat(64))));
    }
}

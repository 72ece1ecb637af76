//! Values of flags, checked before anything is done.

use std::time::Duration;

use kubewright_apimachinery::duration;
use kubewright_apimachinery::names::is_dns1123_label;

/// A duration as Go writes it: `90s`, `2m30s`, `1h`, `500ms`.
pub fn duration(text: &str) -> Result<Duration, String> {
    duration::parse_unsigned(text).ok_or_else(|| "write a duration such as 90s, 5m or 1m30s".to_owned())
}

/// The name of a namespace.
pub fn namespace(text: &str) -> Result<String, String> {
    if !is_dns1123_label(text) {
        return Err("a namespace has at most 63 lowercase letters, digits and dashes, and begins and ends with a letter or digit".to_owned());
    }
    Ok(text.to_owned())
}

/// What names begin with.
pub fn prefix(text: &str) -> Result<String, String> {
    if text.len() > 40 || !is_dns1123_label(&format!("{text}x")) {
        return Err(
            "a prefix has at most 40 lowercase letters, digits and dashes, and begins with a letter or digit"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// An image: neither empty nor with spaces in it.
pub fn image(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("write an image such as registry.example.com/shop:v1".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h"), Ok(Duration::from_hours(1)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        for wrong in [
            "",
            "5",
            "s",
            "5x",
            "-5s",
            "1m 30s",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_that_no_cluster_takes_are_refused() {
        assert!(namespace("shop-system").is_ok() && prefix("shop-").is_ok() && image("shop:dev").is_ok());
        for wrong in ["", "Shop", "shop_", "-shop", "shop-", &"s".repeat(64)] {
            assert!(namespace(wrong).is_err(), "{wrong}");
        }
        for wrong in ["-shop", "Shop-", "shop.", &"s".repeat(41)] {
            assert!(prefix(wrong).is_err(), "{wrong}");
        }
        assert!(image("").is_err() && image("a b").is_err());
    }
}

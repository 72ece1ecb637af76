//! The formats of strings that the server checks, each as upstream checks it. Other formats are ignored.

use kubewright_apimachinery::url::Url;

mod codes;
mod email;
mod hosts;
mod net;
mod time;

use kubewright_apimachinery::names::{is_dns1123_label, is_dns1123_subdomain};

/// A format of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    BsonObjectId,
    Uri,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
    Isbn,
    Isbn10,
    Isbn13,
    CreditCard,
    Ssn,
    HexColor,
    RgbColor,
    Byte,
    Password,
    Date,
    Duration,
    DateTime,
    ShortName,
    LongName,
}

impl Format {
    /// The format of that name. Dashes in names do not count: `date-time` and `datetime` are one.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Format::BsonObjectId,
            "uri" => Format::Uri,
            "email" => Format::Email,
            "hostname" => Format::Hostname,
            "ipv4" => Format::Ipv4,
            "ipv6" => Format::Ipv6,
            "cidr" => Format::Cidr,
            "mac" => Format::Mac,
            "uuid" => Format::Uuid,
            "uuid3" => Format::Uuid3,
            "uuid4" => Format::Uuid4,
            "uuid5" => Format::Uuid5,
            "isbn" => Format::Isbn,
            "isbn10" => Format::Isbn10,
            "isbn13" => Format::Isbn13,
            "creditcard" => Format::CreditCard,
            "ssn" => Format::Ssn,
            "hexcolor" => Format::HexColor,
            "rgbcolor" => Format::RgbColor,
            "byte" => Format::Byte,
            "password" => Format::Password,
            "date" => Format::Date,
            "duration" => Format::Duration,
            "datetime" => Format::DateTime,
            "k8sshortname" => Format::ShortName,
            "k8slongname" => Format::LongName,
            _ => return None,
        })
    }

    /// Whether a text has the format.
    pub(crate) fn matches(self, text: &str) -> bool {
        match self {
            Format::BsonObjectId => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
            Format::Uri => Url::parse_request(text).is_ok(),
            Format::Email => email::is_address(text),
            Format::Hostname => hosts::is_hostname(text),
            Format::Ipv4 => net::is_ipv4(text),
            Format::Ipv6 => net::is_ipv6(text),
            Format::Cidr => net::is_cidr(text),
            Format::Mac => net::is_mac(text),
            Format::Uuid => codes::is_uuid(text, None),
            Format::Uuid3 => codes::is_uuid(text, Some(b'3')),
            Format::Uuid4 => codes::is_uuid(text, Some(b'4')),
            Format::Uuid5 => codes::is_uuid(text, Some(b'5')),
            Format::Isbn => codes::is_isbn10(text) || codes::is_isbn13(text),
            Format::Isbn10 => codes::is_isbn10(text),
            Format::Isbn13 => codes::is_isbn13(text),
            Format::CreditCard => codes::is_credit_card(text),
            Format::Ssn => codes::is_ssn(text),
            Format::HexColor => codes::is_hex_color(text),
            Format::RgbColor => codes::is_rgb_color(text),
            Format::Byte => codes::is_base64(text),
            Format::Password => true,
            Format::Date => time::is_date(text),
            Format::Duration => time::is_duration(text),
            Format::DateTime => time::is_date_time(text),
            Format::ShortName => is_dns1123_label(text),
            Format::LongName => is_dns1123_subdomain(text),
        }
    }
}

//! The documents of version 3: gnostic's `openapi.v3.Document` (O3).

use serde_json::Value;

use super::{FieldEncoding, Message, document};

static DOCUMENT: Message = Message {
    fields: &[
        (1, "openapi", FieldEncoding::Text),
        (2, "info", FieldEncoding::One(&INFO)),
        (4, "paths", FieldEncoding::Entries(1, &FieldEncoding::One(&PATH))),
        (5, "components", FieldEncoding::One(&COMPONENTS)),
        (
            6,
            "security",
            FieldEncoding::Each(&FieldEncoding::Entries(1, &FieldEncoding::In(1, &FieldEncoding::Texts))),
        ),
    ],
    extensions: 9,
};
static INFO: Message = Message {
    fields: &[
        (1, "title", FieldEncoding::Text),
        (2, "description", FieldEncoding::Text),
        (6, "version", FieldEncoding::Text),
    ],
    extensions: 7,
};
static COMPONENTS: Message = Message {
    fields: &[
        (1, "schemas", FieldEncoding::Entries(1, &SCHEMA_OR_REFERENCE)),
        (
            7,
            "securitySchemes",
            FieldEncoding::Entries(1, &FieldEncoding::OrReference(&FieldEncoding::One(&SECURITY_SCHEME))),
        ),
    ],
    extensions: 10,
};
static SECURITY_SCHEME: Message = Message {
    fields: &[
        (1, "type", FieldEncoding::Text),
        (2, "description", FieldEncoding::Text),
        (3, "name", FieldEncoding::Text),
        (4, "in", FieldEncoding::Text),
        (5, "scheme", FieldEncoding::Text),
        (6, "bearerFormat", FieldEncoding::Text),
        (8, "openIdConnectUrl", FieldEncoding::Text),
    ],
    extensions: 9,
};
static PATH: Message = Message {
    fields: &[
        (2, "summary", FieldEncoding::Text),
        (3, "description", FieldEncoding::Text),
        (4, "get", FieldEncoding::One(&OPERATION)),
        (5, "put", FieldEncoding::One(&OPERATION)),
        (6, "post", FieldEncoding::One(&OPERATION)),
        (7, "delete", FieldEncoding::One(&OPERATION)),
        (8, "options", FieldEncoding::One(&OPERATION)),
        (9, "head", FieldEncoding::One(&OPERATION)),
        (10, "patch", FieldEncoding::One(&OPERATION)),
        (13, "parameters", FieldEncoding::Each(&PARAMETER)),
    ],
    extensions: 14,
};
static OPERATION: Message = Message {
    fields: &[
        (1, "tags", FieldEncoding::Texts),
        (2, "summary", FieldEncoding::Text),
        (3, "description", FieldEncoding::Text),
        (5, "operationId", FieldEncoding::Text),
        (6, "parameters", FieldEncoding::Each(&PARAMETER)),
        (
            7,
            "requestBody",
            FieldEncoding::OrReference(&FieldEncoding::One(&REQUEST_BODY)),
        ),
        (8, "responses", FieldEncoding::DefaultAndEntries(&RESPONSE)),
        (10, "deprecated", FieldEncoding::Flag),
        (13, "x-kubernetes-group-version-kind", FieldEncoding::Kind(|_| true)),
    ],
    extensions: 13,
};
static PARAMETER: FieldEncoding = FieldEncoding::OrReference(&FieldEncoding::One(&Message {
    fields: &[
        (1, "name", FieldEncoding::Text),
        (2, "in", FieldEncoding::Text),
        (3, "description", FieldEncoding::Text),
        (4, "required", FieldEncoding::Flag),
        (5, "deprecated", FieldEncoding::Flag),
        (6, "allowEmptyValue", FieldEncoding::Flag),
        (7, "style", FieldEncoding::Text),
        (8, "explode", FieldEncoding::Flag),
        (9, "allowReserved", FieldEncoding::Flag),
        (10, "schema", FieldEncoding::OrReference(&FieldEncoding::One(&SCHEMA))),
        (11, "example", FieldEncoding::Any),
        (13, "content", CONTENT),
    ],
    extensions: 14,
}));
static REQUEST_BODY: Message = Message {
    fields: &[
        (1, "description", FieldEncoding::Text),
        (2, "content", CONTENT),
        (3, "required", FieldEncoding::Flag),
    ],
    extensions: 4,
};
static RESPONSE: FieldEncoding = FieldEncoding::OrReference(&FieldEncoding::One(&Message {
    fields: &[(1, "description", FieldEncoding::Text), (3, "content", CONTENT)],
    extensions: 5,
}));
/// A body in each of its media types.
const CONTENT: FieldEncoding = FieldEncoding::Entries(
    1,
    &FieldEncoding::One(&Message {
        fields: &[
            (1, "schema", FieldEncoding::OrReference(&FieldEncoding::One(&SCHEMA))),
            (2, "example", FieldEncoding::Any),
        ],
        extensions: 5,
    }),
);
static DOCS: Message = Message {
    fields: &[(1, "description", FieldEncoding::Text), (2, "url", FieldEncoding::Text)],
    extensions: 3,
};
static SCHEMA_OR_REFERENCE: FieldEncoding = FieldEncoding::OrReference(&FieldEncoding::One(&SCHEMA));
static SCHEMA: Message = Message {
    fields: &[
        (1, "nullable", FieldEncoding::Flag),
        (3, "readOnly", FieldEncoding::Flag),
        (4, "writeOnly", FieldEncoding::Flag),
        (6, "externalDocs", FieldEncoding::One(&DOCS)),
        (7, "example", FieldEncoding::Any),
        (8, "deprecated", FieldEncoding::Flag),
        (9, "title", FieldEncoding::Text),
        (10, "multipleOf", FieldEncoding::Double),
        (11, "maximum", FieldEncoding::Double),
        (12, "exclusiveMaximum", FieldEncoding::Flag),
        (13, "minimum", FieldEncoding::Double),
        (14, "exclusiveMinimum", FieldEncoding::Flag),
        (15, "maxLength", FieldEncoding::Integer),
        (16, "minLength", FieldEncoding::Integer),
        (17, "pattern", FieldEncoding::Text),
        (18, "maxItems", FieldEncoding::Integer),
        (19, "minItems", FieldEncoding::Integer),
        (20, "uniqueItems", FieldEncoding::Flag),
        (21, "maxProperties", FieldEncoding::Integer),
        (22, "minProperties", FieldEncoding::Integer),
        (23, "required", FieldEncoding::Texts),
        (24, "enum", FieldEncoding::Each(&FieldEncoding::Any)),
        (25, "type", FieldEncoding::Text),
        (26, "allOf", FieldEncoding::Each(&SCHEMA_OR_REFERENCE)),
        (27, "oneOf", FieldEncoding::Each(&SCHEMA_OR_REFERENCE)),
        (28, "anyOf", FieldEncoding::Each(&SCHEMA_OR_REFERENCE)),
        (29, "not", FieldEncoding::One(&SCHEMA)),
        (30, "items", FieldEncoding::In(1, &SCHEMA_OR_REFERENCE)),
        (31, "properties", FieldEncoding::Entries(1, &SCHEMA_OR_REFERENCE)),
        (32, "additionalProperties", FieldEncoding::OrFlag(&SCHEMA_OR_REFERENCE)),
        (33, "default", FieldEncoding::Scalar),
        (34, "description", FieldEncoding::Text),
        (35, "format", FieldEncoding::Text),
    ],
    extensions: 36,
};

/// A document of `/openapi/v3` as clients ask for it with
/// `application/com.github.proto-openapi.spec.v3.v1.0+protobuf`.
pub fn document_protobuf(openapi: &Value) -> Vec<u8> {
    document(&DOCUMENT, openapi)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document with one of everything, in which the order of members is that of the protobuf below.
    const DOCUMENT: &str = include_str!("testdata/document.json");
    /// What Go's gnostic package makes of it, in hexadecimal.
    const REAL: &str = include_str!("testdata/document.hex");

    #[test]
    fn a_document_is_the_message_that_go_makes_of_it() {
        let ours = document_protobuf(&serde_json::from_str(DOCUMENT).unwrap());
        let real = REAL.trim().replace('\n', "");
        let hex = |text: &str| u8::from_str_radix(text, 16).unwrap();
        let real: Vec<u8> = (0..real.len()).step_by(2).map(|at| hex(&real[at..at + 2])).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&ours), text(&real));
        assert_eq!(ours, real);
    }
}

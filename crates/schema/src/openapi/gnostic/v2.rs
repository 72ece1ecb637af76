//! The document of version 2: gnostic's `openapi.v2.Document` (O3).

use serde_json::Value;

use super::{FieldEncoding, Message, document};

static DOCUMENT: Message = Message {
    fields: &[
        (1, "swagger", FieldEncoding::Text),
        (2, "info", FieldEncoding::One(&INFO)),
        (8, "paths", FieldEncoding::Entries(2, &FieldEncoding::One(&PATH))),
        (
            9,
            "definitions",
            FieldEncoding::Entries(1, &FieldEncoding::One(&SCHEMA)),
        ),
        (10, "parameters", FieldEncoding::Entries(1, &PARAMETER)),
        (
            12,
            "security",
            FieldEncoding::Each(&FieldEncoding::Entries(1, &FieldEncoding::In(1, &FieldEncoding::Texts))),
        ),
        (
            13,
            "securityDefinitions",
            FieldEncoding::Entries(1, &FieldEncoding::In(2, &FieldEncoding::One(&API_KEY))),
        ),
    ],
    extensions: 16,
};
static INFO: Message = Message {
    fields: &[(1, "title", FieldEncoding::Text), (2, "version", FieldEncoding::Text)],
    extensions: 7,
};
static API_KEY: Message = Message {
    fields: &[
        (1, "type", FieldEncoding::Text),
        (2, "name", FieldEncoding::Text),
        (3, "in", FieldEncoding::Text),
        (4, "description", FieldEncoding::Text),
    ],
    extensions: 5,
};
static PATH: Message = Message {
    fields: &[
        (2, "get", FieldEncoding::One(&OPERATION)),
        (3, "put", FieldEncoding::One(&OPERATION)),
        (4, "post", FieldEncoding::One(&OPERATION)),
        (5, "delete", FieldEncoding::One(&OPERATION)),
        (6, "options", FieldEncoding::One(&OPERATION)),
        (7, "head", FieldEncoding::One(&OPERATION)),
        (8, "patch", FieldEncoding::One(&OPERATION)),
        (
            9,
            "parameters",
            FieldEncoding::Each(&FieldEncoding::OrReference(&PARAMETER)),
        ),
    ],
    extensions: 10,
};
static OPERATION: Message = Message {
    fields: &[
        (1, "tags", FieldEncoding::Texts),
        (3, "description", FieldEncoding::Text),
        (5, "operationId", FieldEncoding::Text),
        (6, "produces", FieldEncoding::Texts),
        (7, "consumes", FieldEncoding::Texts),
        (
            8,
            "parameters",
            FieldEncoding::Each(&FieldEncoding::OrReference(&PARAMETER)),
        ),
        (
            9,
            "responses",
            FieldEncoding::Entries(1, &FieldEncoding::In(1, &FieldEncoding::One(&RESPONSE))),
        ),
        (10, "schemes", FieldEncoding::Texts),
        // The aggregator reads the documents of others, which leaves their extensions sorted, and makes its own.
        (
            13,
            "x-kubernetes-group-version-kind",
            FieldEncoding::Kind(|group| group == "apiregistration.k8s.io"),
        ),
    ],
    extensions: 13,
};
static RESPONSE: Message = Message {
    fields: &[
        (1, "description", FieldEncoding::Text),
        (2, "schema", FieldEncoding::In(1, &FieldEncoding::One(&SCHEMA))),
    ],
    extensions: 5,
};
static BODY: Message = Message {
    fields: &[
        (1, "description", FieldEncoding::Text),
        (2, "name", FieldEncoding::Text),
        (3, "in", FieldEncoding::Text),
        (4, "required", FieldEncoding::Flag),
        (5, "schema", FieldEncoding::One(&SCHEMA)),
    ],
    extensions: 6,
};
static IN_QUERY: Message = Message {
    fields: &[
        (1, "required", FieldEncoding::Flag),
        (2, "in", FieldEncoding::Text),
        (3, "description", FieldEncoding::Text),
        (4, "name", FieldEncoding::Text),
        (6, "type", FieldEncoding::Text),
        (20, "uniqueItems", FieldEncoding::Flag),
    ],
    extensions: 23,
};
static IN_PATH: Message = Message {
    fields: &[
        (1, "required", FieldEncoding::Flag),
        (2, "in", FieldEncoding::Text),
        (3, "description", FieldEncoding::Text),
        (4, "name", FieldEncoding::Text),
        (5, "type", FieldEncoding::Text),
        (19, "uniqueItems", FieldEncoding::Flag),
    ],
    extensions: 22,
};
/// A parameter is one of several messages, by where it is.
static PARAMETER: FieldEncoding = FieldEncoding::ByPlace(&[
    ("body", &[1], &BODY),
    ("path", &[2, 4], &IN_PATH),
    ("query", &[2, 3], &IN_QUERY),
]);
static DOCS: Message = Message {
    fields: &[(1, "description", FieldEncoding::Text), (2, "url", FieldEncoding::Text)],
    extensions: 3,
};
static SCHEMA: Message = Message {
    fields: &[
        (1, "$ref", FieldEncoding::Text),
        (2, "format", FieldEncoding::Text),
        (3, "title", FieldEncoding::Text),
        (4, "description", FieldEncoding::Text),
        (5, "default", FieldEncoding::Any),
        (6, "multipleOf", FieldEncoding::Double),
        (7, "maximum", FieldEncoding::Double),
        (8, "exclusiveMaximum", FieldEncoding::Flag),
        (9, "minimum", FieldEncoding::Double),
        (10, "exclusiveMinimum", FieldEncoding::Flag),
        (11, "maxLength", FieldEncoding::Integer),
        (12, "minLength", FieldEncoding::Integer),
        (13, "pattern", FieldEncoding::Text),
        (14, "maxItems", FieldEncoding::Integer),
        (15, "minItems", FieldEncoding::Integer),
        (16, "uniqueItems", FieldEncoding::Flag),
        (17, "maxProperties", FieldEncoding::Integer),
        (18, "minProperties", FieldEncoding::Integer),
        (19, "required", FieldEncoding::Texts),
        (20, "enum", FieldEncoding::Each(&FieldEncoding::Any)),
        (
            21,
            "additionalProperties",
            FieldEncoding::OrFlag(&FieldEncoding::One(&SCHEMA)),
        ),
        (22, "type", FieldEncoding::In(1, &FieldEncoding::Text)),
        (23, "items", FieldEncoding::In(1, &FieldEncoding::One(&SCHEMA))),
        (24, "allOf", FieldEncoding::Each(&FieldEncoding::One(&SCHEMA))),
        (
            25,
            "properties",
            FieldEncoding::Entries(1, &FieldEncoding::One(&SCHEMA)),
        ),
        (29, "externalDocs", FieldEncoding::One(&DOCS)),
        (30, "example", FieldEncoding::Any),
    ],
    extensions: 31,
};

/// The document of `/openapi/v2` as clients ask for it with
/// `application/com.github.proto-openapi.spec.v2@v1.0+protobuf`.
pub fn swagger_protobuf(swagger: &Value) -> Vec<u8> {
    document(&DOCUMENT, swagger)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::put;
    use super::*;

    /// What Go's gnostic package makes of the document below.
    const REAL: &str = "\
        0a03322e3012060a015412013142f00112ed010a092f612f7b6e616d657d12df0112b8010a01741a04726561642a017232106170706c\
        69636174696f6e2f6a736f6e3a032a2f2a421212100a0e232f706172616d65746572732f7042250a230a211204626f64791a04626f64\
        7920012a110a0f232f646566696e6974696f6e732f44421c0a1a12181a16120571756572792201713207626f6f6c65616ea001014a33\
        0a220a03323030121b0a190a024f4b12130a110a0f232f646566696e6974696f6e732f440a0d0a0334303112060a040a026e6f520568\
        747470734a220a20121e221c08011204706174681a016422046e616d652a06737472696e679801014a99010a96010a01441290019a01\
        0161b201080a066f626a656374ca017e0a220a0161121d70ac02b201070a056172726179ba010d0a0bb201080a06737472696e670a15\
        0a01621210aa01021001b201080a066f626a6563740a2b0a01631226aa01180a1639000000000000f83f4001b201080a066e756d6265\
        72b201080a066f626a6563740a140a0164120f1201661a01746a0170ea0103120175521e0a1c0a0170121712151a1312057175657279\
        2201703207696e746567657262110a0f0a0b426561726572546f6b656e12006a350a330a0b426561726572546f6b656e122412220a06\
        6170694b6579120d617574686f72697a6174696f6e1a06686561646572220178\
    ";

    #[test]
    fn a_document_is_the_message_that_go_makes_of_it() {
        let document = json!({
            "swagger": "2.0",
            "info": {
                "title": "T",
                "version": "1"
            },
            "paths": {
                "/a/{name}": {
                    "get": {
                        "description": "read",
                        "operationId": "r",
                        "parameters": [
                            {
                                "$ref": "#/parameters/p"
                            },
                            {
                                "name": "body",
                                "in": "body",
                                "required": true,
                                "schema": {
                                    "$ref": "#/definitions/D"
                                }
                            },
                            {
                                "name": "q",
                                "in": "query",
                                "type": "boolean",
                                "uniqueItems": true
                            }
                        ],
                        "produces": [
                            "application/json"
                        ],
                        "consumes": [
                            "*/*"
                        ],
                        "schemes": [
                            "https"
                        ],
                        "tags": [
                            "t"
                        ],
                        "responses": {
                            "200": {
                                "description": "OK",
                                "schema": {
                                    "$ref": "#/definitions/D"
                                }
                            },
                            "401": {
                                "description": "no"
                            }
                        }
                    },
                    "parameters": [
                        {
                            "name": "name",
                            "in": "path",
                            "required": true,
                            "type": "string",
                            "uniqueItems": true,
                            "description": "d"
                        }
                    ]
                }
            },
            "definitions": {
                "D": {
                    "type": "object",
                    "required": [
                        "a"
                    ],
                    "properties": {
                        "a": {
                            "type": "array",
                            "items": {
                                "type": "string"
                            },
                            "maxItems": 300,
                            "minItems": 0
                        },
                        "b": {
                            "type": "object",
                            "additionalProperties": true
                        },
                        "c": {
                            "type": "object",
                            "additionalProperties": {
                                "type": "number",
                                "maximum": 1.5,
                                "exclusiveMaximum": true
                            }
                        },
                        "d": {
                            "externalDocs": {
                                "url": "u"
                            },
                            "title": "t",
                            "pattern": "p",
                            "format": "f"
                        }
                    }
                }
            },
            "parameters": {
                "p": {
                    "name": "p",
                    "in": "query",
                    "type": "integer"
                }
            },
            "security": [
                {
                    "BearerToken": []
                }
            ],
            "securityDefinitions": {
                "BearerToken": {
                    "type": "apiKey",
                    "name": "authorization",
                    "in": "header",
                    "description": "x"
                }
            }
        });
        let ours = swagger_protobuf(&document);
        let hex = |text: &str| u8::from_str_radix(text, 16).unwrap();
        let real: Vec<u8> = (0..REAL.len()).step_by(2).map(|at| hex(&REAL[at..at + 2])).collect();
        assert_eq!(ours, real);
    }

    #[test]
    fn extensions_and_enumerations_are_text() {
        let mut out = Vec::new();
        let schema = json!({"enum": ["a"], "x-kubernetes-list-type": "set", "unknown": 1});
        put(&mut out, 1, &FieldEncoding::One(&SCHEMA), &schema);
        let text = String::from_utf8_lossy(&out);
        assert!(text.contains("a\n") && text.contains("x-kubernetes-list-type") && text.contains("set\n"));
        assert!(!text.contains("unknown"), "{text}");
    }
}

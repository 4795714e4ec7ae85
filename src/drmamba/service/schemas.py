"""The requests and answers of the API, for its OpenAPI description."""

from __future__ import annotations

from typing import Any, Literal

Format = Literal["png", "tiff", "pdf"]
ENDINGS = {"png": ".png", "tiff": ".tif", "pdf": ".pdf"}
MEDIA = {"png": "image/png", "tiff": "image/tiff", "pdf": "application/pdf"}
BINARY = {"schema": {"type": "string", "format": "binary"}}
FILES: dict[str, Any] = dict.fromkeys(MEDIA.values(), BINARY)
PAGE: dict[str, Any] = {
    "type": "object",
    "required": ["page", "link", "flags", "notes"],
    "properties": {
        "page": {"type": "integer"},
        "megapixels": {"type": "number"},
        "link": {
            "type": "string",
            "description": "where the result can be fetched until the time in `expires`",
        },
        "soft": {"type": ["string", "null"]},
        "ink": {"type": "number", "description": "share of the pixels that are ink"},
        "uncertain": {"type": "number", "description": "share of the pixels that are uncertain"},
        "stroke_width": {"type": ["number", "null"]},
        "scale": {"type": "number"},
        "doubt": {"type": "number", "description": "how likely something is missing, to sort pages by"},
        "flags": {"type": "array", "items": {"type": "string"}},
        "notes": {"type": "array", "items": {"type": "string"}, "description": "the flags in words"},
        "boxes": {
            "type": "object",
            "description": "the places that a flag is about, in pixels: left, top, right, bottom",
            "additionalProperties": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer"}},
            },
        },
    },
}
ANSWER: dict[str, Any] = {
    "type": "object",
    "required": ["model", "settings", "expires", "files"],
    "properties": {
        "model": {"type": "object"},
        "settings": {"type": "object"},
        "expires": {"type": "string", "format": "date-time"},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "status", "problem", "pages"],
                "properties": {
                    "name": {"type": "string"},
                    "status": {"enum": ["done", "failed"]},
                    "problem": {"type": ["object", "null"]},
                    "pages": {"type": "array", "items": PAGE},
                },
            },
        },
    },
}
ANSWERS: dict[str, Any] = FILES | {"application/json": {"schema": ANSWER}}
FORM: dict[str, Any] = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}},
    },
}
BODY: dict[str, Any] = {
    "required": True,
    "content": {"multipart/form-data": {"schema": FORM}, "image/*": BINARY, "application/pdf": BINARY},
}

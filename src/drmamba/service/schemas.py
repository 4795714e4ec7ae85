"""The requests and answers of the API, for its OpenAPI description."""

from __future__ import annotations

from typing import Any

MEDIA = {".png": "image/png", ".tif": "image/tiff", ".tiff": "image/tiff", ".pdf": "application/pdf"}
BINARY = {"schema": {"type": "string", "format": "binary"}}
FILES: dict[str, Any] = dict.fromkeys([*MEDIA.values(), "application/zip"], BINARY)
PAGE: dict[str, Any] = {
    "type": "object",
    "required": ["page", "status", "flags", "notes", "warnings"],
    "properties": {
        "page": {"type": "integer"},
        "pages": {"type": "integer", "description": "pages of the file"},
        "status": {"enum": ["done", "failed"]},
        "problem": {"type": ["object", "null"], "description": "what is wrong with this page alone"},
        "width": {"type": "integer", "description": "pixels"},
        "height": {"type": "integer", "description": "pixels"},
        "megapixels": {"type": "number"},
        "link": {
            "type": ["string", "null"],
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
        "warnings": {
            "type": "array",
            "items": {"type": "string"},
            "description": "those of the notes that are a reason to look at the page",
        },
        "boxes": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4},
            },
            "description": "the places that a flag is about, each as left, top, right and bottom in pixels",
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
JOB_PAGE: dict[str, Any] = PAGE | {
    "required": [*PAGE["required"], "address"],
    "properties": {name: value for name, value in PAGE["properties"].items() if name not in ("link", "soft")}
    | {"address": {"type": "string", "description": "`scan`, `result` and the other pictures are below it"}},
}
PROGRESS_FIELDS: dict[str, Any] = {
    "id": {"type": "string"},
    "run": {"type": "integer", "description": "grows when the settings change"},
    "status": {"enum": ["waiting", "working", "done", "cancelled", "failed"]},
    "problem": {"type": ["object", "null"]},
    "finished": {"type": "integer", "description": "grows when pages and files are done"},
    "progress": {
        "type": "object",
        "required": ["file", "page", "pages", "windows", "windows_done", "seconds", "seconds_left"],
    },
    "exploration": {"type": ["object", "null"], "description": "the same for a page that is being explained"},
}
PROGRESS: dict[str, Any] = {
    "application/json": {
        "schema": {"type": "object", "required": list(PROGRESS_FIELDS), "properties": PROGRESS_FIELDS}
    }
}
JOB_FIELDS: dict[str, Any] = PROGRESS_FIELDS | {
    "expires": {"type": "string", "format": "date-time", "description": "if nobody asks about the job"},
    "settings": {"type": "object"},
    "files": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name", "status", "problem", "pages"],
            "properties": {
                "name": {"type": "string"},
                "status": {"enum": ["working", "done", "failed"]},
                "problem": {"type": ["object", "null"]},
                "pages": {"type": "array", "items": JOB_PAGE},
            },
        },
    },
}
JOB: dict[str, Any] = {
    "application/json": {"schema": {"type": "object", "required": list(JOB_FIELDS), "properties": JOB_FIELDS}}
}
PICTURES: dict[str, Any] = {"image/png": BINARY}
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

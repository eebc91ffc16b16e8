"""`templates/session.schema.json` says what `session.json` holds. It is derived from `Facts`.

Made anew with `python tests/core/test_session_schema.py`.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import types
import typing
from pathlib import Path

from jsonschema import Draft202012Validator

from colony.core.codec import camel
from colony.core.session import VERSION, Facts

FILE = Path(__file__).resolve().parents[2] / "templates" / "session.schema.json"
SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema_of(kind: typing.Any, defs: dict[str, typing.Any]) -> dict[str, typing.Any]:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        kinds = [schema_of(each, defs) for each in args if each is not type(None)]
        return {"anyOf": [*kinds, {"type": "null"}]}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin is tuple:
        if args[-1] is Ellipsis:
            return {"type": "array", "items": schema_of(args[0], defs)}
        return {
            "type": "array",
            "prefixItems": [schema_of(each, defs) for each in args],
            "items": False,
            "minItems": len(args),
        }
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [each.value for each in kind]}
    if dataclasses.is_dataclass(kind):
        name = kind.__name__
        if name not in defs:
            defs[name] = {}
            hints = typing.get_type_hints(kind)
            fields = dataclasses.fields(kind)
            missing = dataclasses.MISSING
            defs[name] = {
                "type": "object",
                "additionalProperties": False,
                "required": [camel(each.name) for each in fields if each.default is missing],
                "properties": {camel(f.name): schema_of(hints[f.name], defs) for f in fields},
            }
        return {"$ref": f"#/$defs/{name}"}
    return {"type": SCALARS[kind]}


def whole() -> dict[str, typing.Any]:
    defs: dict[str, typing.Any] = {}
    schema_of(Facts, defs)
    facts = defs.pop("Facts")
    facts["properties"]["version"] = {"const": VERSION}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "session.json: the facts of one session",
        **facts,
        "$defs": dict(sorted(defs.items())),
    }


def test_the_file_says_what_the_program_writes() -> None:
    Draft202012Validator.check_schema(whole())
    assert json.loads(FILE.read_text(encoding="utf-8")) == whole()


if __name__ == "__main__":
    FILE.write_text(json.dumps(whole(), indent=1) + "\n", encoding="utf-8")

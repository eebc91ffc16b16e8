"""Bodies: read up to a limit, and as strict JSON, before anything looks at their shape."""

from __future__ import annotations

from typing import Any, Final

from fastapi import Request

from colony.core.strict_json import WHOLE, Problems, load_json
from colony.serve.errors import Refusal

BODY_MAX: Final = 1024 * 1024
"""Bytes of a body."""
DISCARDED_MAX: Final = 8 * BODY_MAX
"""Bytes read and thrown away behind the limit, so that a client that is still sending hears why."""


class StrictRequest(Request):
    """FastAPI asks its request for body and JSON; this one gives neither what is too large nor what
    two programs could read in two ways."""

    _body: bytes

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            self._body = await self._read()
            if self._body and not _is_json(self.headers.get("content-type", "")):
                raise Refusal(415, "not_json", "Content-Type: must be application/json")
        return self._body

    async def json(self) -> Any:
        try:
            text = (await self.body()).decode("utf-8")
        except UnicodeDecodeError as error:
            raise _not_json(f"the body: is not UTF-8 (byte {error.start})") from None
        value = load_json(text, BODY_MAX)
        if isinstance(value, Problems):
            raise _not_json(value.lines[0].replace(WHOLE, "the body", 1))
        return value

    async def _read(self) -> bytes:
        """Chunked bodies name no length: what counts is what came."""
        parts, size = [], 0
        async for part in self.stream():
            size += len(part)
            if size <= BODY_MAX:
                parts.append(part)
            elif size > DISCARDED_MAX:
                break
        if size > BODY_MAX:
            # Whoever sends without end is not listened to any longer.
            line, headers = f"the body: more than {BODY_MAX} bytes", {"Connection": "close"}
            raise Refusal(413, "too_large", line, headers)
        return b"".join(parts)


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json"


def _not_json(line: str) -> Refusal:
    return Refusal(400, "not_json", line)

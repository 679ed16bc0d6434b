"""What can go wrong: one class for who has to act, with the fields of attnd's problem documents (RFC 9457)."""
from __future__ import annotations

import json
from typing import Any, Dict, Optional


class AttndError(Exception):
    """The base of all errors of this package."""


class ConnectionFailed(AttndError, ConnectionError):
    """Nothing answered at the daemon's address, or the connection broke off before the reply was complete."""


class _ReplyError(AttndError):
    """The daemon replied with an error.

    status      of HTTP
    type        "invalid", "too-large", "busy", ...: the last part of the problem's type
    detail      a sentence that says what was found and what was expected
    pointer     a JSON Pointer to the place in the request, as "/mask/3"; None where there is none
    limit       {"name": .., "value": ..} of the limit that the request exceeds; None where it does not
    request_id  the daemon's log has it"""

    def __init__(self, status: int, problem: Dict[str, Any], request_id: Optional[str] = None) -> None:
        self.status = status
        self.type: str = str(problem.get("type", "")).rpartition(":")[2]
        self.detail: str = problem.get("detail") or f"status {status}"
        self.pointer: Optional[str] = problem.get("pointer")
        self.limit: Optional[Dict[str, Any]] = problem.get("limit")
        self.request_id = request_id
        self._problem = problem
        super().__init__(f"{self.detail} (at {self.pointer})" if self.pointer else self.detail)

    def __reduce__(self) -> Any:  # an error may come from another process
        return type(self), (self.status, self._problem, self.request_id)


class RequestError(_ReplyError, ValueError):
    """The request is wrong, and would be again (4xx)."""


class ServerError(_ReplyError):
    """The daemon cannot serve the request (5xx), not now where the status is 503, also after `retries`."""


def error_of(status: int, body: bytes, request_id: Optional[str]) -> _ReplyError:
    """The error that a reply stands for; its body may come from something between here and the daemon."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": f"status {status}: {body[:200].decode(errors='replace')}"}
    return (RequestError if 400 <= status < 500 else ServerError)(status, problem, request_id)

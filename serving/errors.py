"""The one shape of every error that leaves the server: RFC 9457, with a stable ``code`` and a sentence that says what to do.

Takes what was raised, gives a problem. What nobody foresaw becomes a 500 that tells nothing of its inside. Knows nothing
about routes.
"""

from __future__ import annotations

from typing import Any

from seem.errors import ConfigError, InputError, ModelError, NotFoundError, SeemError, StoreError

MEDIA_TYPE = "application/problem+json"
TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    410: "Gone",
    413: "Too large",
    422: "Unusable",
    429: "Too many requests",
    500: "Internal error",
    502: "Bad gateway",
    503: "Unavailable",
}
_KINDS: tuple[tuple[type[SeemError], int, str], ...] = (
    (NotFoundError, 404, "not_found"),
    (InputError, 422, "invalid_input"),
    (ModelError, 503, "model_unavailable"),
    (StoreError, 503, "store_unavailable"),
    (ConfigError, 500, "misconfigured"),
)


class ApiError(SeemError):
    """A refusal with a status of its own. ``retry_after`` seconds go into the header; ``more`` into the body."""

    def __init__(self, status: int, code: str, detail: str, *, retry_after: int | None = None, **more: Any) -> None:
        """Say what happened, with which value, and what to do."""
        super().__init__(detail)
        self.status = status
        self.code = code
        self.retry_after = retry_after
        self.more = more


def api_error(error: Exception) -> ApiError:
    """Give the refusal that an exception amounts to."""
    if isinstance(error, ApiError):
        return error
    for kind, status, code in _KINDS:
        if isinstance(error, kind):
            return ApiError(status, code, str(error), retry_after=5 if status == 503 else None)
    return ApiError(
        500, "internal", "the server failed in a way that nobody foresaw; give the operator the request id above"
    )


def problem(error: ApiError, request_id: str) -> dict[str, Any]:
    """Give the body."""
    return {
        "type": f"urn:seem:problem:{error.code}",
        "title": TITLES.get(error.status, "Error"),
        "status": error.status,
        "detail": str(error),
        "code": error.code,
        "request_id": request_id,
        **error.more,
    }


def headers(error: ApiError) -> dict[str, str]:
    """Give the headers that belong to a refusal."""
    told = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return told | ({"WWW-Authenticate": "Bearer"} if error.status == 401 else {})

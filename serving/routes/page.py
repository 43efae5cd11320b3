"""The page to look at a memory: the files of ``serving/page``, with headers that let nothing else run.

It holds no data and asks the public routes for everything, with the key that its reader types in. Knows nothing about
memories.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

router = APIRouter(include_in_schema=False)
FOLDER = Path(__file__).parents[1] / "page"
INDEX = "index.html"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
HEADERS = {
    # Trusted types without a policy: a script that would turn a text into markup fails.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Asked for again each time, answered with 304 where it is the same.
    "Cache-Control": "no-cache",
}


def _files() -> dict[str, tuple[bytes, str, str]]:
    found = {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in _TYPES:
            body = path.read_bytes()
            found[path.name] = (body, _TYPES[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:24]}"')
    return found


# Read once: what is served was there when the server started, and no name from outside becomes a path.
_FILES = _files()


@router.get("/")
async def home() -> Response:
    """Lead to the page; relative, so that a proxy may put the server below a path."""
    return RedirectResponse("ui/", 307)


@router.get("/ui")
async def without_slash() -> Response:
    """Lead to where the page's own addresses fit."""
    return RedirectResponse("ui/", 307)


@router.get("/ui/")
async def index(request: Request) -> Response:
    """Give the page."""
    return _file(request, INDEX)


@router.get("/ui/{name}")
async def file(request: Request, name: str) -> Response:
    """Give a file of the page."""
    if name not in _FILES:
        raise HTTPException(404)
    return _file(request, name)


def _file(request: Request, name: str) -> Response:
    body, media_type, etag = _FILES[name]
    headers = {**HEADERS, "ETag": etag}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)

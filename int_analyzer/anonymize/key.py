"""The key that decides which address becomes which."""

from __future__ import annotations

import hashlib
from pathlib import Path

from int_analyzer.errors import SourceError

KEY_BYTES = 32


def read_key(path: Path) -> bytes:
    """The key in a file: any bytes, at least one. Raises SourceError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SourceError(path, error.strerror or str(error)) from error
    if not content:
        raise SourceError(path, "the key is empty")
    return hashlib.blake2b(content, digest_size=KEY_BYTES, person=b"key file").digest()


def seeded_key(seed: int) -> bytes:
    """A key that everybody who knows the number can make again."""
    return hashlib.blake2b(str(seed).encode(), digest_size=KEY_BYTES, person=b"seed").digest()

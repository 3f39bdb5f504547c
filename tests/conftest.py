"""Settings of the test run: in CI hypothesis tries the same examples every time, on a developer's machine always new ones."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

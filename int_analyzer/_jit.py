"""The only place that knows numba. Kernels are plain Python functions; `compiled` turns one, and all it calls, into machine code.

A kernel is written once and has two lives. Uncompiled it is an ordinary function: nothing heavy is imported, a debugger steps
through it, and a capture of a few thousand packets is read faster than numba can be loaded. Compiled it runs without the GIL at
the speed of C. What differs between the two (reading bytes, wrapping arithmetic) is declared with `reader`, which names a
replacement for compiled code; tests hold the pair against each other.

The numba cache does not notice a change in a called function of another file, nor that indices are now to be checked, so its folder
is keyed by a hash of all sources of this package and by the mode. Where that folder can only be read, what is there is used; where there
is nothing, nothing is kept: numba's own fallback, __pycache__, is keyed by neither. A cache file that cannot be loaded is removed and made
anew.

Environment: NUMBA_DISABLE_JIT=1 makes `compiled` return its argument; NUMBA_BOUNDSCHECK=1 selects checked readings;
INT_ANALYZER_CACHE names the cache folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
BOUNDSCHECK = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")

_kernels: dict[types.FunctionType, dict[str, Any]] = {}
_replacements: dict[types.FunctionType, Callable[[], Any]] = {}
_entries: dict[types.FunctionType, Any] = {}
_callees: dict[types.FunctionType, Any] = {}


def kernel(function: F) -> F:
    """Mark `function` as compilable. It is returned unchanged."""
    assert isinstance(function, types.FunctionType)
    _kernels[function] = {}
    return function


def inlined(function: F) -> F:
    """Mark a kernel that is always compiled into its caller: small, or on the way that most packets take."""
    assert isinstance(function, types.FunctionType)
    _kernels[function] = {"forceinline": True}
    return function


def reader(replacement: Callable[[], Any]) -> Callable[[F], F]:
    """Mark a function whose compiled form is what `replacement()` returns (called once, when numba is loaded)."""

    def mark(function: F) -> F:
        assert isinstance(function, types.FunctionType)
        _replacements[function] = replacement
        return function

    return mark


def compiled(function: F) -> F:
    """The machine-code form of a kernel and of all kernels that it calls (through module globals)."""
    if DISABLED:
        return function
    assert isinstance(function, types.FunctionType)
    if function in _replacements:
        return _callee(function)  # type: ignore[no-any-return]
    if function not in _entries:
        # Only what Python calls is kept in the cache: its machine code holds that of everything it calls.
        _entries[function] = _compile(function, {"cache": True})
    result: F = _entries[function]
    return result


def run(kernel: Callable[..., int], fast: bool, *given: Any) -> int:
    """Run a kernel; uncompiled it takes memoryviews instead of arrays, which give Python ints instead of numpy scalars."""
    if fast:
        return int(compiled(kernel)(*given))
    return int(kernel(*(value if isinstance(value, int | dict) else memoryview(value) for value in given)))


def cache_folder() -> Path:
    """Where compiled kernels of exactly this source are kept, those with checked indices by themselves."""
    base = os.environ.get("INT_ANALYZER_CACHE") or os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "int_analyzer" / (_source_hash() + ("-checked" if BOUNDSCHECK else ""))


def cache_fault(folder: Path) -> str:
    """Why kernels cannot be kept in `folder`; "" if they can. It is created if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def cached_kernels() -> dict[str, bool]:
    """Kernels in the cache folder by name, and whether what is kept of them can be loaded."""
    found: dict[str, bool] = {}
    for index in cache_folder().rglob("*.nbi"):
        # numba names its files module.function-line.version
        stem = index.name.removesuffix(".nbi")
        kept = [path for path in index.parent.glob("*.nbc") if path.name.startswith(stem + ".")]
        found[stem.rsplit("-", 1)[0].rsplit(".", 1)[-1]] = bool(kept) and _loadable(index) and all(map(_loadable, kept))
    return found


def _loadable(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            pickle.load(file)
    except Exception:  # noqa: BLE001 - broken bytes raise anything
        return False
    return True


def _guard(cache: Any, folder: Path, complete: Callable[[], None]) -> None:
    """Make a numba cache one that never fails: what cannot be loaded is removed, what cannot be saved is not kept.

    `complete` is called before a kernel is compiled that is not in the cache.
    """
    if not Path(cache.cache_path).is_relative_to(folder):
        # numba found another place after all
        cache.disable()
    load, save = cache.load_overload, cache.save_overload

    def load_overload(*arguments: Any) -> Any:
        found = None
        try:
            found = load(*arguments)
        except Exception:  # noqa: BLE001 - broken bytes raise anything
            _remove(cache.cache_path)
        if found is None:
            complete()
        return found

    def save_overload(*arguments: Any) -> None:
        try:
            save(*arguments)
        except Exception:  # noqa: BLE001 - a full disk, or an index that broke meanwhile: the kernel runs all the same
            _remove(cache.cache_path)

    cache.load_overload, cache.save_overload = load_overload, save_overload


def _remove(folder: str) -> None:
    """Remove all kernels of a cache folder; a process that has loaded them keeps them."""
    for path in Path(folder).glob("*.nb[ic]"):
        with contextlib.suppress(OSError):
            path.unlink()


@functools.cache
def _source_hash() -> str:
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for source in sorted(package.rglob("*.py")):
        digest.update(str(source.relative_to(package)).encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _callee(function: types.FunctionType) -> Any:
    """What a kernel is for other kernels: not kept by itself, and without the wrappers for calls from Python and C."""
    if function not in _callees:
        if function in _replacements:
            _callees[function] = _replacements[function]()
        else:
            _callees[function] = _compile(function, {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_kernels[function]})
    return _callees[function]


def _compile(function: types.FunctionType, options: dict[str, Any]) -> Any:
    import numba

    namespace = dict(function.__globals__)

    def complete() -> None:
        for name in _names_of(function.__code__):
            called = function.__globals__.get(name)
            if isinstance(called, types.FunctionType) and (called in _kernels or called in _replacements):
                namespace[name] = _callee(called)

    clone = types.FunctionType(function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__)
    clone.__qualname__ = function.__qualname__
    clone.__module__ = function.__module__
    folder = cache_folder()
    closed = bool(options.get("cache") and cache_fault(folder))
    if closed and next(folder.rglob("*.nbi"), None) is None:
        options = {**options, "cache": False}
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        with _unwritten() if closed else contextlib.nullcontext():
            dispatcher = numba.njit(nogil=True, _nrt=False, boundscheck=BOUNDSCHECK, **options)(clone)
    finally:
        numba.config.CACHE_DIR = previous
    if options.get("cache"):
        # Machine code from the cache needs none of the hundreds of kernels that are called in it.
        _guard(dispatcher._cache, folder, complete)
    else:
        complete()
    dispatcher.get_call_template = _without_literals(dispatcher.get_call_template)
    return dispatcher


@contextlib.contextmanager
def _unwritten() -> Iterator[None]:
    """Let numba take a folder that can only be read, as in an image of a container; what it cannot save it does without (`_guard`)."""
    from numba.core import caching

    # it had an underscore before numba 0.62
    locator: Any = getattr(caching, "UserProvidedCacheLocator", None) or caching._UserProvidedCacheLocator
    before = locator.ensure_cache_path
    locator.ensure_cache_path = lambda self: None
    try:
        yield
    finally:
        locator.ensure_cache_path = before


def _without_literals(get_call_template: Callable[..., Any]) -> Callable[..., Any]:
    """A call with a constant is a call with an integer: else numba compiles a kernel anew for every constant it is called with."""
    from numba.core.types import unliteral

    def template(arguments: Any, keywords: Any) -> Any:
        return get_call_template(tuple(unliteral(argument) for argument in arguments), keywords)

    return template


def _names_of(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_of(constant)
    return names

"""warmup: compile the kernels before they are needed."""

from __future__ import annotations

EXAMPLES = """Examples:

\b
  int-analyzer warmup          in an image build or a service's start, once per installed version
"""


def warmup() -> None:
    """Compile all kernels into the cache, so that the first long capture does not wait for it.

    The cache folder follows INT_ANALYZER_CACHE, else XDG_CACHE_HOME, else ~/.cache.
    """
    import time

    from int_analyzer._jit import DISABLED, cache_fault, cache_folder
    from int_analyzer.errors import SourceError
    from int_analyzer.result import warm_up

    if DISABLED:
        print("nothing to compile: NUMBA_DISABLE_JIT is set")
        return
    fault = cache_fault(cache_folder())
    if fault:
        raise SourceError(cache_folder(), f"{fault}: kernels cannot be kept there; INT_ANALYZER_CACHE can name another folder")
    started = time.perf_counter()
    warm_up()
    print(f"kernels ready after {time.perf_counter() - started:.1f} s in {cache_folder()}")

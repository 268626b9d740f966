"""The forked child: takes its limits, runs one program with its tests, and reports each test as it finishes.

Never returns to the zygote. What decides a pass is held in local names before the program runs, so that replacing `exec` or
`os.write` changes nothing, and the builtins are put back before each test.
"""

import builtins
import errno
import gc
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

from . import cases, texts
from .isolation import Isolation
from .ledger import Result, line
from .limits import confine, unreserve

MODULE = "solution"
Send = Callable[[str, int, Result], None]


class OutOfTime(BaseException):
    """Raised into a program whose CPU time is used up, so that the call that was running can still be named."""


def serve(job: dict[str, Any], folder: Path, isolation: Isolation, token: str, results: int, output: int) -> NoReturn:
    """Run a job in this process, write its results, and end the process."""
    write, leave, whoami, me = os.write, os._exit, os.getpid, os.getpid()

    def send(kind: str, index: int, result: Result) -> None:
        if whoami() != me:  # a fork of the program that came back to here
            leave(1)
        write(results, line(token, kind, index, result))

    try:
        confine(job["limits"], folder, isolation, results, output)
        _start_clock(job["limits"]["cpu_seconds"])
        _examine(job, str(folder), send)
    except BaseException as error:
        send("fault", 0, Result("infra", message=f"the harness failed: {texts.message(error, str(folder))}"))
    finally:
        leave(0)


def _start_clock(cpu_seconds: float) -> None:
    def stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        raise OutOfTime

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)


def _examine(job: dict[str, Any], folder: str, send: Send) -> None:
    """Run prelude, program, setup and tests in one namespace."""
    namespace = _namespace()
    entry_point, source = job["entry_point"], job["source"]
    exec(compile(job["prelude"], "<prelude>", "exec", dont_inherit=True), namespace)
    namespace.pop(entry_point, None)  # a stub in the prelude is no answer
    tests = [cases.prepare(test, entry_point) for test in job["tests"]]
    setup = compile(job["setup"], "<setup>", "exec", dont_inherit=True)
    execute, standard, put_back = exec, dict(vars(builtins)), vars(builtins).update

    def fail(index: int, error: BaseException, test: cases.Test | None) -> None:
        put_back(standard)
        send("test" if test else "rest", index, _failure(error, test, source, folder, job["limits"]))

    try:
        execute(compile(source, texts.SOLUTION, "exec", dont_inherit=True), namespace)
        if entry_point in namespace:
            namespace[cases.CANDIDATE] = namespace[entry_point]
        execute(setup, namespace)
        if entry_point.isidentifier() and entry_point not in namespace:
            raise NameError(f"name {entry_point!r} is not defined")
    except BaseException as error:
        return fail(0, error, None)
    for index, test in enumerate(tests):
        try:
            put_back(standard)
            execute(test.code, namespace)
        except BaseException as error:
            fail(index, error, test)
            if isinstance(error, OutOfTime):
                return fail(index + 1, error, None)
        else:
            send("test", index, Result("passed"))
    return None


def _namespace() -> dict[str, Any]:
    """The program's module: importable as `solution`, and not `__main__`."""
    module = ModuleType(MODULE)
    module.__file__ = texts.SOLUTION
    sys.modules[MODULE] = module
    sys.argv = [texts.SOLUTION]
    for name in [name for name in sys.modules if name.split(".")[0] == __name__.split(".")[0]]:
        del sys.modules[name]
    random.seed(0)
    gc.enable()
    return vars(module)


def _failure(error: BaseException, test: cases.Test | None, source: str, folder: str, limits: dict[str, Any]) -> Result:
    """The result of a test that raised."""
    unreserve()
    outcome, message = _outcome(error, test, folder, limits)
    try:
        case, expected, got = cases.explain(error, test) if test else ("", "", "")
    except Exception:
        case, expected, got = "", "", ""
    return Result(outcome, case, expected, got, message, texts.traceback(error, source))


def _outcome(error: BaseException, test: cases.Test | None, folder: str, limits: dict[str, Any]) -> tuple[str, str]:
    if isinstance(error, OutOfTime):
        return "timeout", f"timed out after {limits['cpu_seconds']:g} s of CPU"
    if isinstance(error, MemoryError):
        return "killed", f"killed: memory limit of {limits['memory_bytes'] / 2**20:g} MiB"
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "killed", f"killed: file limit of {limits['file_bytes'] / 2**20:g} MiB"
    if isinstance(error, BlockingIOError) or (isinstance(error, RuntimeError) and "can't start new thread" in str(error)):
        return "killed", f"killed: limit of {limits['processes']} processes"
    if test is not None and cases.is_failed_assertion(error):
        return "wrong", texts.message(error, folder)
    return "error", texts.message(error, folder)

"""The forked child: takes its limits, runs one program with its tests, and reports each test as it finishes.

Never returns to the zygote. What decides a pass is held in local names before the program runs, so that replacing
`exec` or `os.write` changes nothing, and the builtins are put back before each test. Whatever fails from the
program's first line on is the program's failure; before that it is the sandbox's.
"""

import builtins
import errno
import os
import random
import signal
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, NoReturn

from . import cases, texts
from .job import Job
from .ledger import Result, line
from .limits import Confinement, confine, unreserve

MODULE = "solution"
Send = Callable[[str, int, Result], None]


class OutOfTimeError(BaseException):
    """Raised into a program whose CPU time is used up, so that the call that was running can still be named.

    No Exception, so that `except Exception` in the program does not swallow it.
    """


def serve(job: Job, confinement: Confinement, token: str) -> NoReturn:
    """Run a job in this process, write its results, and end the process."""
    write, leave, whoami, me = os.write, os._exit, os.getpid, os.getpid()
    num_sent, results = 0, confinement.results

    def send(kind: str, index: int, result: Result) -> None:
        nonlocal num_sent
        if whoami() != me:  # a fork of the program that came back to here
            leave(1)
        write(results, line(token, kind, index, result))
        num_sent = index + 1

    try:
        confine(confinement)
        namespace = _namespace(job)
    except BaseException as error:
        send("fault", 0, Result("infra", message=f"the harness failed: {texts.message(error, confinement.folder)}"))
        leave(0)
    try:
        _start_clock(job.limits["cpu_seconds"])
        _examine(job, namespace, confinement.folder, send)
    except BaseException as error:  # out of time between two tests, or the program broke what reports
        outcome, message = _outcome(error, None, confinement.folder, job.limits)
        send("rest", num_sent, Result(outcome, message=message))
    finally:
        leave(0)


def _start_clock(cpu_seconds: float) -> None:
    def stop(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise OutOfTimeError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)


def _namespace(job: Job) -> dict[str, Any]:
    """The program's module, importable as `solution` and not `__main__`, with the prelude run in it."""
    module = ModuleType(MODULE)
    module.__file__ = texts.SOLUTION
    sys.modules[MODULE] = module
    sys.argv = [texts.SOLUTION]
    random.seed(0)
    namespace = vars(module)
    exec(job.prelude, namespace)
    namespace.pop(job.entry_point, None)  # a stub in the prelude is no answer
    return namespace


def _examine(job: Job, namespace: dict[str, Any], folder: str, send: Send) -> None:
    """Run program, setup and tests in one namespace."""
    entry_point, source = job.entry_point, job.source
    execute, standard, put_back = exec, dict(vars(builtins)), vars(builtins).update

    def fail(index: int, error: BaseException, test: cases.Test | None) -> None:
        put_back(standard)
        send("test" if test else "rest", index, _failure(error, test, source, folder, job.limits))

    try:
        execute(compile(source, texts.SOLUTION, "exec", dont_inherit=True), namespace)
        if entry_point in namespace:
            namespace[cases.CANDIDATE] = namespace[entry_point]
        execute(job.setup, namespace)
        if entry_point.isidentifier() and entry_point not in namespace:
            raise NameError(f"name {entry_point!r} is not defined")
    except BaseException as error:
        return fail(0, error, None)
    for index, test in enumerate(job.tests):
        try:
            put_back(standard)
            execute(test.code, namespace)
        except BaseException as error:
            fail(index, error, test)
            if isinstance(error, OutOfTimeError):
                return fail(index + 1, error, None)
        else:
            send("test", index, Result("passed"))
    return None


def _failure(error: BaseException, test: cases.Test | None, source: str, folder: str, limits: dict[str, Any]) -> Result:
    """The result of a test that raised."""
    unreserve()
    outcome, message = _outcome(error, test, folder, limits)
    shown = ("", "", "")
    if test is not None:
        try:
            shown = cases.explain(error, test)
        except BaseException:  # the program's values may raise anything as they are shown
            shown = ("", "", "")
    case, expected, got = (text.replace(folder, ".") for text in shown)
    return Result(outcome, case, expected, got, message, texts.traceback(error, source))


def _outcome(error: BaseException, test: cases.Test | None, folder: str, limits: dict[str, Any]) -> tuple[str, str]:
    if isinstance(error, OutOfTimeError):
        return "timeout", f"timed out after {limits['cpu_seconds']:g} s of CPU"
    if isinstance(error, MemoryError):
        return "killed", f"killed: memory limit of {limits['memory_bytes'] / 2**20:g} MiB"
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "killed", f"killed: file limit of {limits['file_bytes'] / 2**20:g} MiB"
    no_thread = isinstance(error, RuntimeError) and "can't start new thread" in texts.message(error, folder)
    if no_thread or isinstance(error, BlockingIOError):
        return "killed", f"killed: limit of {limits['processes']} processes"
    if test is not None and cases.is_failed_assertion(error):
        return "wrong", texts.message(error, folder)
    return "error", texts.message(error, folder)

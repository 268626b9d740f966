"""The executor: runs untrusted programs against tests, and says of each test how it ended.

    with Sandbox(Limits()) as sandbox:
        verdicts = sandbox.run([Program(source="def f(x): ...", tests=("assert f(1) == 2",), entry_point="f")])

A sandbox keeps one warm interpreter, a zygote, for each worker. A zygote forks one child for each program, watches it
from outside, kills whatever it leaves behind and empties its directory before it takes the next. Nothing forks the
trainer.

Covered:
    - Limits on CPU time, wall clock, memory, file size, open files, processes and output. Verdicts given before a
      limit is met are kept; the tests after it fail.
    - Ending early by any way out (`os._exit`, a signal, `sys.exit`) is never a pass.
    - As root: every program runs as another user, without capabilities; where that cannot be had, nothing is run.
    - Where the kernel grants namespaces (to root, or through user namespaces): no network, and no way to signal
      other processes. `Sandbox.isolation` tells what holds here.
    - Every process of a program, daemons too, is dead before its verdict is given, and its directory is empty.
      Nothing outside that directory is removed, no link is followed, and nothing is ever mounted.
    - The trainer's environment, descriptors, terminal and modules are not there; one program leaves the next
      neither modules nor processes nor files in the directory.
    - A grader's own fault (a test that does not compile, a zygote that dies) is INFRA, after one retry; never a
      failure.

Not covered:
    - Forged verdicts. Tests run in the program's own process. A program that means to cheat can read the tests from
      memory or from its caller's frames, return a value that equals everything, patch a module that a test relies
      on, or write results, also INFRA, with the token that it finds in its parent frames. Replacing builtins or
      `os.write` is not enough. Fit for models that do not search for such holes; for those that do, judge and
      candidate must be split.
    - Reading. There is no list of allowed files: what everyone on the host may read, a program may read, data sets
      with hidden tests and the list of processes in /proc included. Nor is writing held to the directory: a file
      that a program leaves in /tmp stays there, and the next one finds it.
    - Without root and without user namespaces a program runs as the trainer's user: it can then write that user's
      files, use the network and signal that user's processes, the zygote too. Run it in a container.
    - Kernel bugs, side channels, and the sum of what several processes of a program use: each has the limits for
      itself.
    - Packages outside the standard library. And where a program's user cannot read the library, as when Python
      lives in root's home, modules outside `harness.library`: importing them raises ModuleNotFoundError in the
      program.
    - Tasks on standard input: it is empty.
    - Anything but Linux.
"""

from .pool import Sandbox, run
from .program import Limits, Program
from .verdict import Outcome, TestResult, Verdict

__all__ = ["Limits", "Outcome", "Program", "Sandbox", "TestResult", "Verdict", "run"]

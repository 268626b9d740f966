"""What the kernel takes away from a zygote and its children: namespaces and privileges.

Each step is tried, and what was achieved is reported by name. One is required: a program never runs as root. All of it
is Linux; elsewhere nothing is held.

    network namespace    no interface but a loopback that is down
    process namespace    the program can signal no process but its own, and they all die with the zygote
    own user             the program runs as a user that owns nothing but its directory
    no privileges        no capabilities, and set-user-id programs give none
"""

import ctypes
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

NETWORK, PROCESSES, USER, PRIVILEGES = "network namespace", "process namespace", "own user", "no privileges"

_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 1, 4, 36, 38
_CAPABILITY_VERSION = 0x20080522
_FIRST_USER = 1_000_000_000
_NOBODY = 65534


@dataclass(frozen=True)
class Isolation:
    """What was achieved.

    Attributes:
        held: the names of what holds.
        user: the user number for programs to take, None to keep the zygote's.
        counted: whether the kernel counts the processes of these programs alone, so that a limit on them can be set.
    """

    held: tuple[str, ...]
    user: int | None
    counted: bool


def enter(folder: Path, *, namespaces: bool) -> Isolation:
    """Isolate this process. With a process namespace the caller goes on as its first process, in a fork.

    Args:
        folder: where programs get their directory.
        namespaces: whether to try namespaces.

    Raises:
        PermissionError: this is root, and there is no other user to take.
    """
    if sys.platform != "linux":
        if os.geteuid() == 0:
            raise PermissionError("root runs no program itself: start as another user")
        return Isolation((), None, False)
    is_root = os.geteuid() == 0
    held = []
    number = _FIRST_USER + os.getpid()
    own_space = namespaces and not is_root and _own_user_namespace()
    if namespaces and _unshare(_NEWNET):
        held.append(NETWORK)
    if namespaces and _unshare(_NEWPID):
        held.append(PROCESSES)
        _continue_as_first_process()
    _control(_SET_CHILD_SUBREAPER, 1)
    _control(_SET_DUMPABLE, 0)
    if _control(_SET_NO_NEW_PRIVS, 1):
        held.append(PRIVILEGES)
    other = next((n for n in (number, _NOBODY) if is_root and _can_enter(n, folder)), None)
    if other is not None:
        held.append(USER)
    elif is_root:
        raise PermissionError(f"root runs no program itself, and no other user can reach {folder}: set TMPDIR")
    return Isolation(tuple(held), other, other == number or own_space)


def drop(isolation: Isolation) -> None:
    """Give up what a program must not have; cannot be undone by the calling process."""
    if isolation.user is not None:
        os.setgroups([])
        os.setresgid(isolation.user, isolation.user, isolation.user)
        os.setresuid(isolation.user, isolation.user, isolation.user)
    elif PRIVILEGES in isolation.held:
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
        _libc().capset(header, (ctypes.c_uint32 * 6)())
    if sys.platform == "linux" and PROCESSES not in isolation.held:
        _control(_SET_PDEATHSIG, signal.SIGKILL)  # else a program outlives a zygote that dies
    assert os.geteuid() != 0, "a program never runs as root"


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _control(option: int, value: int) -> bool:
    return bool(_libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0) == 0)


def _unshare(flags: int) -> bool:
    return bool(_libc().unshare(flags) == 0)


def _own_user_namespace() -> bool:
    """Become privileged over nothing but oneself, which makes the other namespaces possible."""
    user, group = os.geteuid(), os.getegid()
    if not _unshare(_NEWUSER):
        return False
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        return False
    return True


def _continue_as_first_process() -> None:
    """Fork into the new process namespace; the process outside only waits, and takes the inner one with it."""
    inside = os.fork()
    if inside == 0:
        _control(_SET_PDEATHSIG, signal.SIGKILL)
        return
    os.closerange(3, 256)
    os.waitpid(inside, 0)
    os._exit(0)


def _can_enter(user: int, folder: Path) -> bool:
    """Whether root can become that user, and that user reaches the folder."""
    try:
        os.seteuid(user)
        return os.access(folder, os.R_OK | os.X_OK, effective_ids=True)
    except OSError:
        return False
    finally:
        os.seteuid(0)

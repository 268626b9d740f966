"""The command line: `murphy train|sft|evaluate|report`, each with a configuration and dotted overrides.

A user's mistake is one line on standard error and exit code 2; a traceback is a bug of this program.
"""

import argparse
import errno
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from murphy_jax import config
from murphy_jax.errors import UserError

EPILOG = """\
examples:
  murphy train configs/quickstart.yaml
  murphy train configs/quickstart.yaml --training.seed 1 --training.directory runs/seed1
  murphy train configs/quickstart.yaml --resume
  murphy sft configs/warm_start.yaml
  murphy evaluate --benchmark humaneval --policy reference
  murphy evaluate configs/quickstart.yaml --model.folder runs/quickstart/model
  murphy report runs/quickstart

Any key of the configuration can be given as --section.key VALUE; murphy_jax/config.py lists them all.
"""

# Short names of `murphy evaluate`.
ALIASES = {
    "benchmark": "evaluation.tasks.benchmark",
    "policy": "evaluation.policy",
    "iterations": "evaluation.iterations",
    "samples": "evaluation.samples",
    "output": "evaluation.output",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        return _run(sys.argv[1:] if arguments is None else arguments, Console())
    except UserError as error:
        print(f"murphy: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("murphy: interrupted. What was saved before is intact.", file=sys.stderr)
        return 130
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        place = f" ({error.filename})" if error.filename else ""
        print(f"murphy: {error.strerror}{place}. Free room or choose another folder, then resume.", file=sys.stderr)
        return 2


def _run(arguments: Sequence[str], console: Console) -> int:
    rest, overrides = _split(arguments)
    options = _parser().parse_args(rest)
    if options.command == "report":
        from murphy_jax.observe.page import write_report

        folder = Path(options.run).expanduser()
        written = write_report(folder, Path(options.output) if options.output else folder / "report.html")
        console.print(f"Report: {written}")
        return 0
    for name, dotted in ALIASES.items():
        if (value := getattr(options, name, None)) is not None:
            overrides[dotted] = value
    settings = config.load(Path(options.config) if options.config else None, overrides)
    match options.command:
        case "train":
            from murphy_jax.training.fit import train

            return train(settings, resume=options.resume, console=console)
        case "sft":
            from murphy_jax.training.sft import sft

            return sft(settings, console=console)
        case _:
            from murphy_jax.evaluation.run import evaluate

            return evaluate(settings, console=console)


def _split(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Take `--section.key VALUE` and `--section.key=VALUE` out of the arguments."""
    rest: list[str] = []
    overrides: dict[str, str] = {}
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, value = argument.partition("=")
        if not (name.startswith("--") and "." in name):
            rest.append(argument)
            continue
        text = value if equals else next(remaining, None)
        if text is None:
            raise UserError(f"{name} needs a value: {name} VALUE.")
        overrides[name.removeprefix("--")] = text
    return rest, overrides


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message[0].upper()}{message[1:]}. See {self.prog} --help.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="murphy",
        description="Train code language models to repair their own programs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    train = commands.add_parser("train", help="train a policy on rollout trees", allow_abbrev=False)
    train.add_argument("config", help="YAML file; it holds what differs from the defaults")
    train.add_argument("--resume", action="store_true", help="go on with the run in training.directory")
    sft = commands.add_parser("sft", help="warm-start a policy on solved examples", allow_abbrev=False)
    sft.add_argument("config", help="YAML file with a section sft")
    evaluate = commands.add_parser("evaluate", help="pass@1 after at most k repairs", allow_abbrev=False)
    evaluate.add_argument("config", nargs="?", help="YAML file; without one the defaults hold")
    for name, dotted in ALIASES.items():
        evaluate.add_argument(f"--{name}", metavar="VALUE", help=f"short for --{dotted}")
    report = commands.add_parser("report", help="write one HTML page about a run", allow_abbrev=False)
    report.add_argument("run", help="the run folder")
    report.add_argument("-o", "--output", help="the page (default: report.html in the run folder)")
    return parser

"""The part of the standard library that is imported before any program runs.

A program finds these modules without touching the disk, which is quick, and works where its user may not read the
library, as when Python lives in root's home. Any other module of the standard library is imported as usual where it
can be read; where it cannot, `import` raises ModuleNotFoundError. Packages outside the standard library are never
there.
"""

import contextlib
import importlib

_MODULES = """
_strptime abc argparse array ast asyncio base64 binascii bisect builtins calendar cmath collections collections.abc
colorsys concurrent.futures concurrent.futures.thread contextlib contextvars copy csv ctypes dataclasses datetime
decimal difflib encodings.ascii encodings.base64_codec encodings.cp1252 encodings.cp437 encodings.hex_codec
encodings.idna encodings.iso8859_1 encodings.latin_1 encodings.punycode encodings.raw_unicode_escape encodings.rot_13
encodings.unicode_escape encodings.utf_16 encodings.utf_16_be encodings.utf_16_le encodings.utf_32 encodings.utf_32_be
encodings.utf_32_le encodings.utf_7 encodings.utf_8 encodings.utf_8_sig enum errno fnmatch fractions functools gc
getpass glob graphlib hashlib heapq hmac html inspect io ipaddress itertools json keyword linecache locale logging
math multiprocessing numbers operator os os.path pathlib pickle platform pprint queue random re secrets select shutil
signal socket stat statistics string struct subprocess sys tempfile textwrap threading time timeit token tokenize
traceback types typing unicodedata unittest unittest.mock urllib.parse uuid warnings weakref xml.etree.ElementTree
zlib zoneinfo
"""


def preload() -> None:
    """Import them; one that this interpreter was built without is left out."""
    for name in _MODULES.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)

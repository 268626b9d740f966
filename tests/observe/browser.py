"""A headless chromium driven over its debugging pipe, with the standard library alone."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any


class Browser:
    """A headless chromium driven over its debugging pipe; it opens files and evaluates expressions in them."""

    def __init__(self, executable: str, profile: Path) -> None:
        command_read, self._commands = os.pipe()
        self._answers, answer_write = os.pipe()
        flags = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}",
            "--window-size=1280,900", "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        redirected = f'exec "$@" 3<&{command_read} 4>&{answer_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", redirected, "bash", executable, *flags],
            pass_fds=(command_read, answer_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_read)
        os.close(answer_write)
        self._buffer, self._calls = b"", 0
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]

    def open(self, page: Path, fragment: str = "") -> None:
        """Load a report and wait for its script."""
        self._call("Page.navigate", {"url": "about:blank"}, self._session)
        self._call("Page.navigate", {"url": page.as_uri() + fragment}, self._session)
        deadline = time.monotonic() + 20
        while self.evaluate("document.documentElement?.dataset.ready ?? ''") != "yes":
            assert time.monotonic() < deadline, "the page's script did not finish"
            time.sleep(0.05)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self._call("Runtime.evaluate", {"expression": expression, "returnByValue": True}, self._session)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key press on whatever has the focus."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", {"type": kind, "key": key}, self._session)

    def resize(self, width: int, height: int) -> None:
        """The size of the window in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", size, self._session)

    def close(self) -> None:
        """End the browser."""
        self._call("Browser.close", {})
        self._process.wait(timeout=20)
        os.close(self._commands)
        os.close(self._answers)

    def _call(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._buffer:
                read = os.read(self._answers, 1 << 16)
                assert read, "the browser went away"
                self._buffer += read
            text, self._buffer = self._buffer.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self._calls:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

"""A headless Chromium, driven through its DevTools protocol over two pipes: nothing but the standard library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Not as root without the last two; the others keep it from asking the network for anything of its own.
FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions", "--hide-scrollbars"),
    *("--no-sandbox", "--disable-dev-shm-usage"),
)
PATIENCE = 60  # seconds for one answer, on a busy machine


def executable() -> str | None:
    """Return the Chromium of this machine, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """A browser with one page; what its console says is kept in `said`."""

    def __init__(self, program: str, profile: Path) -> None:
        read_theirs, self._write = os.pipe()
        self._read, write_theirs = os.pipe()
        self._number, self._rest, self._session = 0, b"", ""
        self.said: list[str] = []
        self._events: list[str] = []
        self._own: tuple[str, ...] = ("file:", "data:")

        def as_three_and_four() -> None:
            # First out of the way: one of them may be 3 or 4 itself.
            commands, answers = os.dup(read_theirs), os.dup(write_theirs)
            for number in (commands, answers):
                assert number > 4
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=as_three_and_four,
            close_fds=False,
        )
        os.close(read_theirs)
        os.close(write_theirs)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{part}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._write)
        os.close(self._read)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer.

        Raises:
            RuntimeError: the browser refuses it.
        """
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._write, json.dumps(command).encode() + b"\0")
        number = self._number
        answer = self._until(lambda message: message.get("id") == number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return dict(answer["result"])

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first message that is wanted; of the others what matters is noted."""
        while True:
            while b"\0" in self._rest:
                text, _, self._rest = self._rest.partition(b"\0")
                message = json.loads(text)
                self._note(message)
                if wanted(message):
                    return dict(message)
            if not select.select([self._read], [], [], PATIENCE)[0]:
                raise RuntimeError(f"Chromium has said nothing for {PATIENCE} s")
            found = os.read(self._read, 1 << 20)
            if not found:
                raise RuntimeError("Chromium has ended")
            self._rest += found

    def _note(self, message: dict[str, Any]) -> None:
        method, params = message.get("method", ""), message.get("params", {})
        self._events.append(method)
        if method == "Runtime.consoleAPICalled":
            self.said.append(" ".join(str(one.get("value", one.get("description"))) for one in params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.said.append(str(params["exceptionDetails"].get("exception", {}).get("description")))
        elif method == "Log.entryAdded":
            self.said.append(f"{params['entry']['text']} {params['entry'].get('url', '')}".strip())
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(self._own):
            self.said.append(f"asks for {params['request']['url']}")

    def open(self, page: Path | str, width: int = 1280, height: int = 900, *, dark: bool = False) -> None:
        """Show a file or an address, loaded wholly, in a window of this size.

        Requests other than to files, or to the server of that address, are noted in `said`.
        """
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media="", features=[scheme])
        self._events.clear()
        if isinstance(page, str):
            self._own = (page, "data:")
        self.ask("Page.navigate", url=page if isinstance(page, str) else page.absolute().as_uri())
        if "Page.loadEventFired" not in self._events:
            self._until(lambda message: message.get("method") == "Page.loadEventFired")

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression, promises awaited.

        Raises:
            RuntimeError: it throws.
        """
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]["exception"].get("description")))
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key: Tab, Enter, Space, End, an arrow."""
        codes = {"Tab": (9, ""), "Enter": (13, "\r"), "Space": (32, " "), "End": (35, "")}
        codes |= {"ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, "")}
        code, text = codes[key]
        named = {"key": " " if key == "Space" else key, "code": key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **named)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **named)

    def picture(self) -> bytes:
        """Return what is seen of the page as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def printed(self) -> bytes:
        """Return the page as PDF."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])

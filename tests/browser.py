"""A real Chromium for tests of the report page, driven over a pipe by its own debugging protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Every text with the contrast (WCAG 2.2) between its colour and what is behind it.
CONTRASTS = """
(() => {
  const channel = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const behind = e => {
    if (!e) return [255, 255, 255];
    const c = parse(getComputedStyle(e).backgroundColor), share = c.length === 3 ? 1 : c[3];
    if (share === 1) return c;
    const under = behind(e.parentElement);
    return [0, 1, 2].map(k => share * c[k] + (1 - share) * under[k]);
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const unseen = e => {
    for (let p = e; p; p = p.parentElement) {
      const s = getComputedStyle(p);
      if (s.visibility === 'hidden' || s.opacity === '0') return true;
    }
    return false;
  };
  const found = [];
  for (const e of document.body.querySelectorAll('*')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || ['title', 'desc'].includes(e.tagName.toLowerCase())) continue;
    const style = getComputedStyle(e), drawn = e.closest('svg') !== null;
    const colour = parse(drawn ? style.fill : style.color);
    const place = e.getBoundingClientRect();
    if (!place.width || place.right <= 0 || place.left >= innerWidth || unseen(e)) continue;
    let share = colour.length === 3 ? 1 : colour[3];
    for (let p = e; p; p = p.parentElement) share *= Number(getComputedStyle(p).opacity);
    const ground = behind(drawn ? e.closest('svg') : e);
    const seen = [0, 1, 2].map(k => share * colour[k] + (1 - share) * ground[k]);
    found.push([ratio(seen, ground), e.tagName + ' ' + e.textContent.slice(0, 40)]);
  }
  return found.sort((a, b) => a[0] - b[0]);
})()
"""

# Pairs of texts that cover one another by more than a pixel: two lines of one paragraph never do, nor does a text that
# cannot be seen or that stays in place while the page scrolls below it.
OVERLAPPING_TEXTS = """
(() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const boxes = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.textContent.trim() || parent.closest('title, desc, script, style, .skip, [hidden]')) continue;
    let hidden = false;
    for (let p = parent; p; p = p.parentElement) {
      const s = getComputedStyle(p);
      hidden ||= s.visibility === 'hidden' || s.opacity === '0' || s.position === 'fixed' || s.position === 'sticky';
    }
    if (hidden) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) {
      if (r.width > 2 && r.height > 2 && r.right > 0 && r.left < innerWidth) {
        boxes.push([r.left, r.top, r.right, r.bottom, node.textContent.trim(), parent]);
      }
    }
  }
  const clip = (a) => {  // what scrolling regions around a text show of it
    for (let p = a[5]; p; p = p.parentElement) {
      const overflow = getComputedStyle(p).overflowX;
      if (overflow !== 'visible' && p !== document.body && p !== document.documentElement) {
        const r = p.getBoundingClientRect();
        a[0] = Math.max(a[0], r.left); a[1] = Math.max(a[1], r.top);
        a[2] = Math.min(a[2], r.right); a[3] = Math.min(a[3], r.bottom);
      }
    }
    return a[2] - a[0] > 1 && a[3] - a[1] > 1;
  };
  const seen = boxes.filter(clip).sort((a, b) => a[1] - b[1]);
  for (let i = 0; i < seen.length; i++) {
    for (let j = i + 1; j < seen.length && seen[j][1] < seen[i][3] - 2; j++) {
      const a = seen[i], b = seen[j];
      const wide = Math.min(a[2], b[2]) - Math.max(a[0], b[0]), high = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
      // Boxes of lines are higher than their letters; where less than a third of a line is shared, no letter is.
      const lines = Math.min(a[3] - a[1], b[3] - b[1]);
      if (wide > 1.5 && high > lines / 3 && a[5] !== b[5]) found.push([a[4].slice(0, 40), b[4].slice(0, 40)]);
    }
  }
  return found;
})()
"""

# Texts of pictures that leave their picture, and texts of boxes that leave their box.
TEXTS_OUTSIDE_THEIR_BOXES = """
(() => {
  const found = [];
  for (const text of document.querySelectorAll('svg text')) {
    const r = text.getBoundingClientRect(), s = text.closest('svg').getBoundingClientRect();
    if (r.width && (r.left < s.left - 1 || r.right > s.right + 1 || r.top < s.top - 2 || r.bottom > s.bottom + 2)) {
      found.push(text.textContent);
    }
  }
  for (const box of document.querySelectorAll('.box, .badge, td, th, .bars li, button, .md-button')) {
    if (box.clientWidth && (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 2)) {
      found.push(box.textContent.slice(0, 60));
    }
  }
  return found;
})()
"""

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page of a headless browser, with everything that it said and asked for."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out, self._in = os.fdopen(to_browser, "wb", buffering=0), os.fdopen(from_browser, "rb", buffering=0)
        self._buffer, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, path: Path) -> None:
        """Load a file and wait until it is there."""
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def colour_scheme(self, scheme: str) -> None:
        """Show the page as a reader with this preference sees it."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def resize(self, width: int, height: int = 900) -> None:
        """Show the page on a screen of this size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def open_details(self) -> None:
        """Open everything that can be opened."""
        self.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")

    def press_tab(self) -> None:
        """Press the tabulator key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    def screenshot(self, path: Path, width: int = 1100, height: int | None = None, top_of: str = "body") -> None:
        """Write a picture of the page from the top of an element on, all of it unless a height is given."""
        size = {"deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height or 800, **size)
        content = self.call("Page.getLayoutMetrics")["cssContentSize"]
        top = self.evaluate(f"document.querySelector('{top_of}').getBoundingClientRect().top + scrollY")
        y = max(0, top - 12)
        clip = {"x": 0, "y": y, "width": width, "height": height or content["height"] - y, "scale": 1}
        picture = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(picture["data"]))

    def pdf(self) -> bytes:
        """Return the page as it would be printed."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def complaints(self) -> list[str]:
        """Return all errors and warnings of the console since the page was opened."""
        said = []
        for event in self.events:
            entry = event.get("params", {})
            if event["method"] == "Log.entryAdded" and entry["entry"]["level"] in ("error", "warning"):
                said.append(entry["entry"]["text"])
            elif event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                said.append(json.dumps(entry)[:300])
        return said

    def requests(self) -> list[str]:
        """Return all addresses that were asked for since the page was opened."""
        asked = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in asked]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            piece = self._in.read(1 << 20)
            assert piece, "the browser went away"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded


@contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium, and end it."""
    assert CHROMIUM is not None
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()

    def as_three_and_four() -> None:  # where Chromium expects its pipe
        held = os.dup(in_read), os.dup(out_write)
        os.dup2(held[0], 3)
        os.dup2(held[1], 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        process = subprocess.Popen(
            [CHROMIUM, *options, "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=as_three_and_four,  # nothing else runs in the test's process
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(in_read)
        os.close(out_write)
        page = Browser(in_write, out_read)
        try:
            yield page
        finally:
            page._session = ""
            page._number += 1
            page._out.write(json.dumps({"id": page._number, "method": "Browser.close"}).encode() + b"\0")
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            page._out.close()
            page._in.close()

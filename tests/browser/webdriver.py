"""A browser without a screen, driven through chromedriver in the words of the WebDriver standard. Only the standard
library is needed."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

DRIVERS = ("chromedriver",)  # Debian's package chromium-driver
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
START_SECONDS = 60  # a browser on a machine that is busy with something else
# A browser calls home by itself in many ways; a test that counts requests wants none of them.
SWITCHES = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-extensions"]


class Missing(Exception):
    """There is no browser here, or nothing to drive it with."""


def find(names):
    for name in names:
        if shutil.which(name):
            return shutil.which(name)
    raise Missing("%s is not installed" % names[0])


class Browser:
    """One browser with an empty profile. Use it in a with statement: processes and files go when it ends."""

    def __init__(self):
        self.driver_path, self.browser_path = find(DRIVERS), find(BROWSERS)

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="wdelta-browser-")
        self.log = open(os.path.join(self.folder, "driver.log"), "w+")
        # A process group of its own, so that the browser's many processes go with the driver.
        self.driver = subprocess.Popen([self.driver_path, "--port=0"], stdout=self.log, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, start_new_session=True,
                                       env={**os.environ, "HOME": self.folder, "TMPDIR": self.folder})
        try:
            self.address = "http://127.0.0.1:%d" % self.port()
            options = {"binary": self.browser_path,
                       "args": SWITCHES + ["--user-data-dir=" + os.path.join(self.folder, "profile")]}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                      "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
            self.session = ""
            answer = self.post("/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = "/session/" + answer["sessionId"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self.ask("DELETE", self.session)
        except Exception:  # it is killed below
            pass
        try:
            os.killpg(self.driver.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.driver.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def port(self):
        """The port that the driver has chosen, which it prints when it listens."""
        self.session = ""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.driver.poll() is None:
            with open(self.log.name) as log:
                words = log.read().split("started successfully on port ")
            if len(words) == 2 and "." in words[1]:
                return int(words[1].split(".")[0])
            time.sleep(0.05)
        with open(self.log.name) as log:
            raise RuntimeError("the driver does not start: " + log.read())

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=START_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError("%s %s: %s" % (method, path, error.read().decode(errors="replace")[:600])) from None

    def post(self, path, body):
        return self.ask("POST", self.session + path, body)

    def forget(self):
        """Leaves the page, and takes back what a test has set: size, colours, logs."""
        self.open("about:blank")
        for name in ("Emulation.clearDeviceMetricsOverride", "Emulation.setEmulatedMedia"):
            self.command(name)
        self.command("Emulation.setScriptExecutionDisabled", value=False)
        self.events("browser"), self.events("performance")

    def open(self, address):
        self.post("/url", {"url": address})

    def run(self, script, *arguments):
        """What `script`, the body of a function, returns in the page."""
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def command(self, name, **parameters):
        """A command of Chrome's own protocol."""
        return self.post("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def size(self, width, height):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=False)

    def prefer(self, colours):
        """As if the reader had chosen "light" or "dark"."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": colours}])

    def click(self, selector):
        element = self.post("/element", {"using": "css selector", "value": selector})
        self.post("/element/%s/click" % list(element.values())[0], {})

    def press(self, key):
        """A key, pressed and released, for whatever has the focus; Enter is "\\ue007", Tab "\\ue004"."""
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def events(self, kind):
        """What was logged since the last call: "browser" is the console, "performance" the network."""
        return self.post("/se/log", {"type": kind})

    def requests(self):
        """The addresses that were asked for since the last call."""
        messages = [json.loads(event["message"])["message"] for event in self.events("performance")]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]

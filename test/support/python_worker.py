"""A worker in Python, standard library only. Runs until it is told to drain, one job at a time, heartbeats from a thread.

Usage: python_worker.py <address> <key> <type>
Prints a line of JSON for everything it hears, for the test that started it.
"""
import json
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request

ADDRESS, KEY, TYPE = sys.argv[1:4]


def say(what, **more):
    print(json.dumps({"what": what, **more}), flush=True)


def post(path, body):
    request = urllib.request.Request(
        ADDRESS + path,
        data=json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + KEY, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


class Cancelled(Exception):
    pass


class Suspended(Exception):
    """The handler sleeps or waits for a signal: the result that gives the job back until then."""

    def __init__(self, result):
        super().__init__("suspended")
        self.result = result


class Steps:
    """The steps of one attempt, one after the other."""

    def __init__(self, attempt):
        self.attempt = attempt
        self.stored = {step["name"]: step for step in post("/worker/steps", attempt)["steps"]}
        self.completed = 0

    def call(self, name, kind, **more):
        step = post("/worker/step", {**self.attempt, "name": name, "kind": kind, "after": self.completed, **more})
        if step["state"] == "waiting":
            delay = {"delay": step["left_ms"]} if "left_ms" in step else {}
            raise Suspended({"result": "block" if kind == "signal" else "snooze", **delay})
        return step

    def done(self, step):
        self.completed += 1
        return step.get("result")

    def step(self, name, run):
        return self.done(self.stored[name] if name in self.stored else self.call(name, "step", result=run()))

    def sleep(self, name, duration):
        self.done(self.call(name, "sleep", duration=duration))

    def wait_for(self, name):
        return self.done(self.call(name, "signal"))


class Worker:
    def __init__(self):
        definition = {"type": TYPE, "max_attempts": 2, "backoff": {"base": 0, "jitter": 0}}
        answer = post("/worker/register", {"name": "python", "types": [definition], "version": sys.version.split()[0]})
        self.token = answer["worker"]
        self.lease = None
        self.lost = threading.Event()
        self.cancelled = threading.Event()
        self.draining = threading.Event()
        self.reports = []
        self.lock = threading.Lock()
        say("registered", id=answer["id"])

    def beat(self, silent):
        """Renews the lease every half second until the job has ended. A silent worker does not."""
        while self.lease is not None:
            if not silent:
                with self.lock:
                    reports, self.reports = self.reports, []
                leases = [self.lease] if self.lease else []
                answer = post("/worker/heartbeat", {"worker": self.token, "leases": leases, "lease": "2s", "reports": reports})
                if answer["lost"]:
                    self.lost.set()
                if answer["cancelled"]:
                    self.cancelled.set()
                if answer["drain"]:
                    self.drain(answer["drain"]["why"])
            time.sleep(0.5)

    def drain(self, why):
        if not self.draining.is_set():
            say("drain", why=why)
            self.draining.set()

    def handle(self, job):
        payload = job["payload"]
        with self.lock:
            self.reports.append({"job": job["id"], "lease": job["lease"], "progress": 0.5, "note": "half", "lines": ["hello from Python"],
                              "checkpoint": {"page": job["attempt"]}})
        if payload["do"] == "fail" and job["attempt"] == 1:
            raise RuntimeError("not yet")
        if payload["do"] == "steps":
            steps = Steps({"worker": self.token, "job": job["id"], "lease": job["lease"]})
            one = steps.step("one", lambda: say("ran", job=job["id"]) or {"n": 1})
            steps.sleep("nap", "50ms")
            return [one, steps.wait_for("go")]
        if payload["do"] == "wait":
            while not self.cancelled.wait(0.05):
                pass
            raise Cancelled("told to stop")
        if payload["do"] == "beat":
            time.sleep(payload["seconds"])
        if payload["do"] == "freeze":
            # Until the lease has run out and somebody else has the job.
            sys.stdin.readline()

    def run(self, job):
        self.lease = job["lease"]
        self.lost.clear()
        self.cancelled.clear()
        heart = threading.Thread(target=self.beat, args=(job["payload"]["do"] == "freeze",))
        heart.start()
        begun = time.monotonic()
        result = {"job": job["id"], "lease": job["lease"], "result": "complete"}
        try:
            returned = self.handle(job)
            if returned is not None:
                result["returned"] = returned
        except Suspended as suspended:
            result.update(suspended.result)
        except Exception as error:
            failure = {"name": type(error).__name__, "message": str(error), "stack": traceback.format_exc()}
            result.update(result="fail", error=failure)
        result["ran_ms"] = (time.monotonic() - begun) * 1000
        self.lease = None
        heart.join()
        with self.lock:
            reports, self.reports = self.reports, []
        answer = post("/worker/settle", {"worker": self.token, "results": [result], "reports": reports})
        say("settled", **answer["results"][0])

    def work(self):
        while not self.draining.is_set():
            answer = post("/worker/claim", {"worker": self.token, "limit": 1, "lease": "2s", "wait": "20s"})
            if answer["drain"]:
                self.drain(answer["drain"]["why"])
            for job in answer["jobs"]:
                say("claimed", job=job["id"], attempt=job["attempt"], checkpoint=job.get("checkpoint"))
                self.run(job)
        post("/worker/sign-off", {"worker": self.token})
        say("signed off")


Worker().work()

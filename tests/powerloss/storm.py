"""Cuts the power of a broker again and again, and looks for every message that it had acknowledged as durable.

usage: tests/powerloss/storm.py [--rounds 20] [--seed 1] [--flush sync|async]

Builds nothing: run ./build.sh first. The data directory is on lossfs.py beside this file, folders above it are new as
well. Each round: the broker starts, all messages are read and compared with those of the rounds before and with the
receipts of the last one, more are sent, the broker is killed (now and then stopped), the power is cut. Prints a line a
round; exit code 1 when a message is missing, twice, or another one.
"""

import argparse
import base64
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "out")
TOPIC = "power"


class Storm:
    def __init__(self, arguments, folder):
        self.flush = arguments.flush
        self.chance = random.Random(arguments.seed)
        self.state = os.path.join(folder, "state")
        self.mount = os.path.join(folder, "mount")
        self.log = open(os.path.join(folder, "log"), "a")
        self.server_at = f"127.0.0.1:{20_000 + os.getpid() % 10_000}"
        self.stored = {}
        self.sent = 0
        os.mkdir(self.state)
        os.mkdir(self.mount)

    def start_disk(self):
        disk = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "lossfs.py"), self.state, self.mount], stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 30
        while not os.path.ismount(self.mount):
            if time.monotonic() > deadline or disk.poll() is not None:
                raise SystemExit(f"lossfs does not start: see {self.log.name}")
            time.sleep(0.02)
        return disk

    def start_broker(self):
        broker = subprocess.Popen(
            [os.path.join(OUT, "equeue-server"), "--data", os.path.join(self.mount, "new", "data"),
             "--listen", self.server_at, "--admin", "none", "--flush", self.flush,
             "--Store:SegmentSizeBytes", str(8 << 20)],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in broker.stdout:
            if line.startswith("ready "):
                # Nobody reads on: a full pipe would stop the broker.
                threading.Thread(target=lambda: self.log.writelines(broker.stdout), daemon=True).start()
                return broker
        raise SystemExit(f"the broker does not start: see {self.log.name}")

    def cli(self, *arguments, **streams):
        return subprocess.Popen(
            [os.path.join(OUT, "equeue"), *arguments, "--server", self.server_at], stderr=self.log, **streams)

    def check(self, number):
        """Reads all, and compares it with what must be there."""
        consumer = self.cli("consume", TOPIC, "--group", f"round-{number}", "--format", "json", stdout=subprocess.PIPE)
        found, twice = {}, 0
        for line in consumer.stdout:
            message = json.loads(line)
            place = (message["queue"], message["offset"])
            twice += place in found
            found[place] = base64.b64decode(message["body"]).decode()
        twice += len(found) - len(set(found.values()))
        missing = sum(place not in found for place in self.stored)
        others = sum(found.get(place, body) != body for place, body in self.stored.items())
        print(f"round {number}: {len(self.stored)} acknowledged, {len(found)} there, {missing} missing, {twice} twice, "
              f"{others} others", flush=True)
        if missing or twice or others or consumer.wait() != 0:
            raise SystemExit(1)
        self.stored = found

    def send(self, broker):
        """Sends for a while, takes the broker's power in the midst, and notes the receipts."""
        with tempfile.TemporaryFile("w+") as receipts:
            sender = self.cli("send", TOPIC, "--lines", "-", "--receipts", "--json", "--durability", "durable",
                              stdin=subprocess.PIPE, stdout=receipts)
            bodies = []
            end = time.monotonic() + self.chance.uniform(1.5, 4)
            while time.monotonic() < end:
                for _ in range(self.chance.choice([1, 10, 200])):
                    bodies.append(f"{self.sent}-" + "x" * self.chance.choice([5, 200, 3000]))
                    self.sent += 1
                    sender.stdin.write(bodies[-1].encode() + b"\n")
                sender.stdin.flush()
                time.sleep(self.chance.choice([0, 0.001, 0.02]))
            if self.chance.random() < 0.15:
                broker.terminate()
            else:
                broker.kill()
            broker.wait()
            sender.kill()
            sender.wait()
            receipts.seek(0)
            lines = [line for line in receipts if line.endswith("\n")]
            for body, line in zip(bodies, lines):
                receipt = json.loads(line)
                self.stored[receipt["queue"], receipt["offset"]] = body

    def round(self, number):
        disk = self.start_disk()
        broker = self.start_broker()
        try:
            if number > 0:
                self.check(number)
            self.send(broker)
        finally:
            broker.kill()
            broker.wait()
            try:
                os.mkdir(os.path.join(
                    self.mount, f".cut-{self.chance.randrange(1 << 30)}-{self.chance.choice([0, 0, 20, 50, 90])}"))
            except OSError:
                pass  # as it answers when it is done
            subprocess.run(["fusermount", "-u", self.mount], check=True)
            disk.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flush", choices=["sync", "async"], default="sync")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="equeue-power-") as folder:
        storm = Storm(arguments, folder)
        for number in range(arguments.rounds):
            storm.round(number)
        print(f"{arguments.rounds} power cuts, {len(storm.stored)} messages, seed {arguments.seed}, {arguments.flush}")


if __name__ == "__main__":
    main()

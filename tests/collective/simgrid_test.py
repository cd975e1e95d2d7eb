#!/usr/bin/env python3
"""Rings, trees and pipelines on shared links, against SimGrid (Debian's python3-simgrid), within 5 %.

dlcost has closed forms and a list scheduler; SimGrid lets every message flow, with max-min fairness on links that
messages share. Both get the same rates (rated bandwidth times the protocol's share), hops and starts of messages. The
share of InfiniBand is NCCL's factor for trees, though, what they reach of a link that they share with themselves: there
SimGrid gets the rated bandwidth, and finds the factor.

usage: simgrid_test.py DLCOST SOURCE_DIR; exits with 77 where no Python here has SimGrid
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

LIMIT = 0.05

# --- in SimGrid ------------------------------------------------------------------------------------------------------


class World:
    """Hosts, and links that routes name. Links carry one direction; latency is that of the route's first."""

    def __init__(self):
        import simgrid

        self.simgrid = simgrid
        self.engine = simgrid.Engine(["simgrid_test", "--log=root.thresh:error"])
        for name, value in {"model": "CM02", "TCP-gamma": 0, "bandwidth-factor": 1, "latency-factor": 1}.items():
            simgrid.Engine.set_config(f"network/{name}:{value}")
        simgrid.Engine.set_config("network/weight-S:0")
        self.zone = simgrid.NetZone.create_full_zone("world")
        self.hosts, self.links = {}, {}

    def host(self, name):
        if name not in self.hosts:
            self.hosts[name] = self.zone.create_host(name, 1e9)
        return self.hosts[name]

    def link(self, name, rate, latency=0.0):
        if name not in self.links:
            self.links[name] = self.zone.create_link(name, [float(rate)]).set_latency(latency).seal()
        return self.links[name]

    def route(self, source, target, links):
        LinkInRoute = self.simgrid.LinkInRoute
        along = [LinkInRoute(link) for link in links]
        self.zone.add_route(source.netpoint, target.netpoint, None, None, along, False)

    def run(self, actors):
        self.zone.seal()
        for number, (host, body) in enumerate(actors):
            self.simgrid.Actor.create(f"actor{number}", host, body)
        self.engine.run()
        print(self.simgrid.Engine.clock)


def connect(world, case, source, target):
    """Up to the first level that joins both, and down again."""
    ways = []
    hop = None
    for level in case["levels"]:
        below, joins = level["below"], level["joins"]
        if source // below != target // below:
            ways.append((f"up {level['name']} {source // below}", level["rate"]))
            ways.append((f"down {level['name']} {target // below}", level["rate"]))
            hop = level["hop"]
        if source // joins == target // joins:
            break
    links = [world.link(*way) for way in ways]
    links.append(world.link(f"hop {source} {target}", 1e15, hop))
    world.route(world.host(str(source)), world.host(str(target)), links)


def ring(world, case):
    """Every member sends 2 (N - 1) pieces of the buffer on to the next, each once the one before has come."""
    simgrid = world.simgrid
    actors = []
    for group in case["groups"]:
        size = len(group)
        piece = int(case["bytes"] / size)
        for place, device in enumerate(group):
            connect(world, case, device, group[(place + 1) % size])

            def body(device=device, before=group[place - 1], after=group[(place + 1) % size], size=size, piece=piece):
                for _ in range(2 * (size - 1)):
                    sent = simgrid.Mailbox.by_name(f"{device} to {after}").put_async("piece", piece)
                    simgrid.Mailbox.by_name(f"{before} to {device}").get()
                    sent.wait()

            actors.append((world.host(str(device)), body))
    world.run(actors)


SLOTS = 8  # for pieces between two neighbours, as NCCL has in its buffers


class Channel:
    """From one neighbour to another: a piece is sent once there is a slot for it, which it leaves when it is used."""

    def __init__(self, simgrid, name, piece):
        self.simgrid, self.mailbox, self.piece = simgrid, simgrid.Mailbox.by_name(name), piece
        self.slots = simgrid.Semaphore(SLOTS)
        self.sent = []

    def listen(self):
        self.mailbox.set_receiver(self.simgrid.Actor.self())

    def take(self):
        self.mailbox.get()

    def free(self):
        self.slots.release()

    def send(self):
        self.slots.acquire()
        self.sent.append(self.mailbox.put_async("piece", self.piece))
        self.keep(SLOTS)

    def keep(self, most):
        while len(self.sent) > most:
            self.sent.pop(0).wait()


def pass_on(pieces, sources, targets):
    """A piece from every source makes one for every target."""
    for source in sources:
        source.listen()
    for _ in range(pieces):
        for source in sources:
            source.take()
        for target in targets:
            target.send()
        for source in sources:
            source.free()
    for target in targets:
        target.keep(0)


def parent_and_children(place, size):
    """In the binary tree that has place 0 on top and, in every range below, the place with the most zeros at its end
    in the middle: odd places are leaves."""

    def middle(low, high):
        return max(range(low, high), key=lambda at: (at & -at, -at))

    if place == 0:
        return None, [middle(1, size)]
    low, high, parent = 1, size, 0
    while middle(low, high) != place:
        parent = middle(low, high)
        low, high = (low, parent) if place < parent else (parent + 1, high)
    sides = ((low, place), (place + 1, high))
    return parent, [middle(*side) for side in sides if side[0] < side[1]]


def trees(world, case):
    """Two binary trees, leaves of one inside the other (Sanders et al.; NCCL's mirror and shift); half of the buffer
    each, in pieces that follow each other up and down."""
    simgrid = world.simgrid
    size, pieces = len(case["groups"][0]), case["pieces"]
    piece = int(case["bytes"] / 2 / pieces)
    for source in range(size):
        for target in range(size):
            if source != target:
                connect(world, case, source, target)
    actors = []
    for tree in range(2):
        channels = {}

        def channel(way, source, target, bytes_=piece, tree=tree, channels=channels):
            name = f"{way} {tree} {source} {target}"
            return channels.setdefault(name, Channel(simgrid, name, bytes_))

        for place in range(size):
            parent, children = parent_and_children(place, size)
            node = place if tree == 0 else size - 1 - place if size % 2 == 0 else (place + 1) % size
            turn = channel("turn", place, place, 0)  # of the root, from the way up to the way down
            sums = [channel("up", child, place) for child in children]
            sum_to = turn if parent is None else channel("up", place, parent)
            result = turn if parent is None else channel("down", parent, place)
            copies = [channel("down", place, child) for child in children]
            host = world.host(str(node))
            actors.append((host, lambda sources=sums, target=sum_to: pass_on(pieces, sources, [target])))
            actors.append((host, lambda source=result, targets=copies: pass_on(pieces, [source], targets)))
    world.run(actors)


def pipeline(world, case):
    """1F1B on every replica at once: stage s of replica r is device s * replicas + r."""
    simgrid = world.simgrid
    stages, batches, replicas = case["stages"], case["batches"], case["replicas"]
    last = len(stages) - 1
    for replica in range(replicas):
        for stage in range(last):
            here, there = stage * replicas + replica, (stage + 1) * replicas + replica
            connect(world, case, here, there)
            connect(world, case, there, here)
    actors = []
    for replica in range(replicas):
        for number, stage in enumerate(stages):

            def body(replica=replica, number=number, stage=stage):
                def box(way, at, batch):
                    return simgrid.Mailbox.by_name(f"{way} {replica} {at} {batch}")

                def send(way, at, batch, passed):
                    box(way, at, batch).put_init("tensor", passed).detach()

                # Messages start when they are sent, not when they are waited for.
                for batch in range(batches):
                    for way in ("forward", "backward"):
                        box(way, number, batch).set_receiver(simgrid.Actor.self())

                def forward(batch):
                    if number > 0:
                        box("forward", number, batch).get()
                    simgrid.this_actor.sleep_for(stage["forward_s"])
                    if number < last:
                        send("forward", number + 1, batch, stage["passed_bytes"])

                def backward(batch):
                    if number < last:
                        box("backward", number, batch).get()
                    simgrid.this_actor.sleep_for(stage["backward_s"])
                    if number > 0:
                        send("backward", number - 1, batch, stages[number - 1]["passed_bytes"])

                ahead = min(len(stages) - number, batches)
                for batch in range(ahead):
                    forward(batch)
                for batch in range(batches):
                    backward(batch)
                    if batch + ahead < batches:
                        forward(batch + ahead)

            actors.append((world.host(str(number * replicas + replica)), body))
    world.run(actors)


SIMULATIONS = {"ring": ring, "tree": trees, "pipeline": pipeline}

# --- as dlcost has it ------------------------------------------------------------------------------------------------

NODE = """name: {name}
vendor: none
year: 2024
device: a100-sxm4-80gb
node:
  devices: {devices} [test]
"""
SOURCES = "sources:\n  test: made for this test\n"
SWITCH = NODE.format(name="a switch", devices=8) + (
    "links:\n"
    "  NVLink3: {source: test, shape: switch, joins: 8, bandwidth: 300 GB/s, timing: nvlink3}\n" + SOURCES)  # fmt: skip
# Pairs behind a switch, pairs of those behind a root port, and one link between sockets that four devices share.
PCIE_TREE = NODE.format(name="a PCIe tree", devices=8) + (
    "links:\n"
    "  switch: {source: test, shape: tree, joins: 2, bandwidth: 24 GB/s, timing: pcie4}\n"
    "  port: {source: test, shape: tree, joins: 4, bandwidth: 8 GB/s, timing: pcie4}\n"
    "  sockets: {source: test, shape: tree, joins: 8, bandwidth: 2 GB/s, timing: pcie4}\n" + SOURCES)  # fmt: skip


def nodes(devices, oversubscription, leaf=1):
    """Nodes with one card that all of their devices share, in a fabric of which the nodes send too much; `leaf` of them reach
    each other without."""
    near = f"{{source: test, shape: switch, joins: {devices}, bandwidth: 300 GB/s, timing: nvlink3}}"
    return NODE.format(name="nodes", devices=devices) + (f"links:\n  NVLink3: {near}\n" if devices > 1 else "") + (
        "network:\n  name: InfiniBand HDR\n  shape: fat-tree\n  cards: 1 [test]\n  bandwidth: 200 Gbit/s [test]\n"
        f"  oversubscription: {oversubscription}\n  leaf: {leaf} [test]\n  timing: infiniband\n" + SOURCES)  # fmt: skip


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def levels_of(dlcost, system, protocol, devices, shares=True):
    """Domains of each level and what one of them sends out of itself: as much as all devices in it may send at once."""
    levels, below = [], 1
    for link in call(dlcost, "systems", system, "--format", "json")["links"]:
        constants = link["protocols"][protocol]
        joins = min(link["joins"] or devices, devices)
        rate = link["bandwidth"] * (constants["share"] if shares else 1) * below
        levels.append({"name": link["name"], "below": below, "joins": joins, "rate": rate,
                       "hop": constants["hop_s"], "start": constants["start_s"]})  # fmt: skip
        below = joins
        if below >= devices:
            break
    return levels


def collective(dlcost, system, algorithm, devices, size, stride=1):
    row = call(dlcost, "collective", "all_reduce", "--system", system, "--devices", str(devices), "--stride",
               str(stride), "--bytes", str(size), "--algorithm", algorithm, "--protocol", "Simple", "--format",
               "json")["rows"][0]  # fmt: skip
    levels = levels_of(dlcost, system, "Simple", devices * stride, algorithm != "tree")
    groups = [[place * stride + first for place in range(devices)] for first in range(stride)]
    case = {"levels": levels, "groups": groups, "bytes": size, "pieces": 512}
    start = max(level["start"] for level in levels)
    return row["time_s"] - start, {"simulation": algorithm, **case}


def pipelined(dlcost, source, system, replicas, stages, batches):
    model = os.path.join(source, "models/networks/bert-base.onnx")
    plan = call(dlcost, "parallel", model, "--system", system, "--train", "sgd", "--dim", "sequence=512", "--spread",
                "0", "--micro-batch", "4", "--global-batch", str(4 * replicas * batches), "--parallel",
                f"dp={replicas},pp={stages}", "--format", "json")["plans"][0]  # fmt: skip
    levels = levels_of(dlcost, system, "Simple", replicas * stages)
    network = levels[-1]
    for stage in plan["stages"]:
        if stage["passed_bytes"] == 0:
            continue
        own = network["start"] + stage["passed_bytes"] / (network["rate"] / network["below"])
        if abs(stage["send_s"] / own - 1) > 0.001:
            sys.exit(f"a send of {stage['passed_bytes']} bytes takes {stage['send_s']} s, not {own}: another protocol?")
    network["hop"] = network["start"]
    busy = sum(stage["forward_s"] + stage["backward_s"] for stage in plan["stages"]) * batches
    passes = busy / (1 - plan["bubble"]) / stages
    case = {"levels": levels, "stages": plan["stages"], "batches": batches, "replicas": replicas}
    return passes, {"simulation": "pipeline", **case}


def python_with_simgrid():
    for python in (sys.executable, "/usr/bin/python3", shutil.which("python3")):
        tried = [python, "-c", "import simgrid"]
        if python and subprocess.run(tried, capture_output=True, check=False).returncode == 0:
            return python
    return None


def main():
    if sys.argv[1] == "--simulate":
        case = json.load(sys.stdin)
        SIMULATIONS[case["simulation"]](World(), case)
        return 0
    dlcost, source = sys.argv[1:3]
    python = python_with_simgrid()
    if python is None:
        print("skipped: no SimGrid here (Debian: python3-simgrid)")
        return 77
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:

        def system(text):
            path = os.path.join(folder, f"{len(os.listdir(folder))}.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return path

        mib = 1 << 20
        one, shared, oversubscribed = system(nodes(1, 1)), system(nodes(8, 1)), system(nodes(4, 3))
        leaves, pcie = system(nodes(4, 6, 4)), system(PCIE_TREE)
        cases = {
            "ring of 8 behind a switch, 64 MiB": collective(dlcost, system(SWITCH), "ring", 8, 64 * mib),
            "ring of 8 in a PCIe tree, 64 MiB": collective(dlcost, pcie, "ring", 8, 64 * mib),
            "ring of 8 in a PCIe tree, 1 MiB": collective(dlcost, pcie, "ring", 8, mib),
            "ring of 4 nodes of 8, one card each, 256 MiB": collective(dlcost, shared, "ring", 32, 256 * mib),
            "8 rings of 4 nodes, one card each, 64 MiB": collective(dlcost, shared, "ring", 4, 64 * mib, 8),
            "4 rings of 8 nodes, fabric 3 to 1": collective(dlcost, oversubscribed, "ring", 8, 64 * mib, 4),
            "4 rings of 8 nodes, 4 of a leaf, fabric 6 to 1": collective(dlcost, leaves, "ring", 8, 64 * mib, 4),
            "trees of 8 nodes, 256 MiB": collective(dlcost, one, "tree", 8, 256 * mib),
            "trees of 15 nodes, 1 GiB": collective(dlcost, one, "tree", 15, 1024 * mib),
            "pipeline of 4, 8 replicas share a card": pipelined(dlcost, source, shared, 8, 4, 8),
            "pipeline of 2, 4 replicas, oversubscribed": pipelined(dlcost, source, system(nodes(4, 2)), 4, 2, 4),
        }  # fmt: skip
        for name, (expected, case) in cases.items():
            command = [python, __file__, "--simulate"]
            done = subprocess.run(command, input=json.dumps(case), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"{name}: {done.stderr}")
            simulated = float(done.stdout.split()[-1])
            error = expected / simulated - 1
            wrong += abs(error) > LIMIT
            print(f"{name:52} {expected * 1e3:10.3f} ms, SimGrid {simulated * 1e3:10.3f} ms ({100 * error:+.2f} %)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""top_test: `wattle top` in a pseudo-terminal, with simulated nodes: content, every key, window sizes, hostile names, a
controller that disappears and returns, and exit. Without a terminal it prints once."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import termios

from house import House, binaries_from, extender_args, fetch, free_ports, wait_until
from patience import SOON_S
from screen import Screen

NODES = 12
HARMFUL = "evil\x1b[2J\x1b]0;owned\x07\u202e" + "\u202dend"
HARMLESS = "evil?[2J?]0;owned???end"
ENERGY = re.compile(r" \d+\.\d W \S+ .* \d[\d.]* k?J( |$)")
failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def table(rows):
    """Returns names and watts of the rows below the titles, as on the screen."""
    start = next((i for i, row in enumerate(rows) if row.startswith(("NODE", "POD"))), None)
    if start is None:
        return []
    return [(row.split()[0], float(found.group(1)) if (found := re.search(r" (\d+\.\d) W ", row)) else None) for row in rows[start + 1:-1] if row]


def names(rows):
    return [name for name, _ in table(rows)]


def words_of(house, key="reader"):
    return (house.binary("wattle"), "--server", f"tcp://127.0.0.1:{house.ask}", "--feed", f"tcp://127.0.0.1:{house.feed}", "--key", str(house.dir / f"{key}.key"),
            "--server-key", str(house.dir / "controller.key.pub"), "top")


def start_swarm(house):
    port, = free_ports(1)
    (house.dir / "nodes").mkdir(mode=0o700)
    house.write("swarm.yaml", f"""
            nodes: {NODES}
            endpoint: "tcp://127.0.0.1:{house.telemetry}"
            keys: {house.dir}/nodes
            server_key: {house.dir}/controller.key.pub
            listen: 127.0.0.1:{port}
            seed: 3
            """)
    swarm = (house.binary("wattle-sim"), "swarm", "--config", str(house.dir / "swarm.yaml"))
    assert house.run(*swarm, "--make-keys", str(house.dir / "allow")).returncode == 0
    house.start_controller()
    house.start_shim()
    house.start("swarm", *swarm)
    wait_until("all nodes report", lambda: house.query("status")["nodes_connected"] == NODES and all(n["power_w"] for n in house.query("nodes")["nodes"]))
    return port


def start_pod(house, port, node, uid, name, cores):
    """Runs a pod on the node that a scheduler asked for under that name."""
    house.decided(uid, [node], name=name)
    status, said = fetch(f"http://127.0.0.1:{port}/pods", json.dumps({"uid": uid, "node": node, "demand_cores": cores}).encode())
    assert status in (200, 201, 204), said
    wait_until("the pod is measured", lambda: any(pod["uid"] == uid and pod["power_w"] and pod["name"] for pod in house.query("pods")["pods"]))


def look(house, screen, all_names, node):
    rows = screen.until("all nodes, with watts", lambda rows: len(table(rows)) == NODES and all(watts for _, watts in table(rows)) and rows)
    check("the first line has the controller's state", rows[0].startswith("live ") and f"nodes {NODES}/{NODES}" in rows[0], rows[0])
    titles = next(row for row in rows if row.startswith("NODE"))
    check("use, pressure, watts, pods and latency have columns", all(title in titles for title in ("CPU", "MEM", "PRESSURE", "POWERv", "PODS", "LATENCY")), titles)
    watts = [each for _, each in table(rows)]
    check("the node with the highest power is first", watts == sorted(watts, reverse=True), str(watts))

    screen.type("N")
    check("N sorts by name", bool(screen.until("names in order", lambda rows: names(rows) == sorted(all_names))))
    screen.type("N")
    check("a second N reverses the order", bool(screen.until("names from the end", lambda rows: names(rows) == sorted(all_names, reverse=True))))
    screen.type("r")
    screen.until("turned back", lambda rows: names(rows) == sorted(all_names))
    screen.type(">")
    check("> sorts by the next column", bool(screen.until("CPU", lambda rows: "by CPU, highest first" in rows[1])))
    screen.type("?")
    check("? shows the keys", bool(screen.until("help", lambda rows: any(row.startswith("Enter ") and "open the selected node" in row for row in rows))))
    screen.type("x")

    screen.type(f"/{node.upper()}")
    check("/ filters while typing, without regard to case", bool(screen.until("only the node", lambda rows: names(rows) == [node])))
    check("the filter shows the number of matches", f"nodes 1 of {NODES}" in screen.rows()[1], screen.rows()[1])
    screen.type("zz")
    screen.until("nobody", lambda rows: names(rows) == [] and f"nodes 0 of {NODES}" in rows[1])
    screen.type("\x7f\x7f\r")
    screen.until("the node again", lambda rows: names(rows) == [node] and f"filter: {node.upper()}" in rows[1])


def drill(house, screen, node):
    screen.type("\r")
    # Pods appear before their energy: a node's second record has energy, and a later one pressure.
    rows = screen.until("the node's pods", lambda rows: len([row for row in rows if row.startswith("default/") and ENERGY.search(row)]) == 2 and rows)
    reported = house.query("node", node)["node"]
    check("Enter opens the node", rows[1].startswith(f"{node}: up, ") and "since first seen" in rows[1], rows[1])
    check("a name with control characters is shown escaped", any(row.startswith("default/" + HARMLESS) for row in rows))
    check("no control character of a name reaches the terminal", b"\x1b]0;" not in screen.raw and "\u202e".encode() not in screen.raw and screen.raw.count(b"\x07") == 0)
    row = next(row for row in rows if HARMLESS in row)
    check("the node's pods have watts and joules", ENERGY.search(row) is not None, row)
    titles = next(row for row in rows if row.startswith("POD"))
    check("the node's pods do not repeat the node", "NODE" not in titles and all(title in titles for title in ("POWERv", "ENERGY", "PRESSURE", "CPU")), titles)
    pods = [name for name in names(rows) if name.startswith("default/")]
    check("all pods of the node, with the highest power first", len(pods) == 2 and pods[0] == "default/busy", str(pods))
    check("as in `wattle node`", {pod["name"] for pod in reported["workloads"] if pod["kind"] == "pod"} == {HARMFUL, "busy"}, str(reported["workloads"])[:500])
    screen.type("\x1b")
    screen.until("the filtered fleet again", lambda rows: names(rows) == [node] and rows[1].startswith("nodes 1 of "))
    check("Esc returns to the previous view", True)
    screen.type("\x1b")
    check("Esc again ends the filter", bool(screen.until("all nodes", lambda rows: len(names(rows)) == NODES)))


def follow_size(screen, all_names):
    screen.resize(9, 50)
    rows = screen.until("a small window's last line", lambda rows: len(rows) == 9 and rows[8].startswith("q quit") and len(names(rows)) == 5 and rows)
    check("the output follows the window's size", all(len(row) <= 50 for row in rows))
    shown = names(rows)
    for _ in range(NODES):
        screen.type("j")
    check("rows scroll to the selected one", bool(screen.until("other rows", lambda rows: len(names(rows)) == 5 and not set(names(rows)) & set(shown))))
    for lines, columns in ((1, 1), (3, 4), (2, 200), (40, 160)):
        screen.resize(lines, columns)
        screen.read(0.3)
    check("the smallest window causes no crash", bool(screen.until("all nodes", lambda rows: sorted(names(rows)) == all_names)))


def lose_controller(house, screen):
    house.kill("controller")
    said = screen.until("the lost controller is reported", lambda rows: rows[-1].startswith("no answer from tcp://") and rows[-1])
    check("a lost controller is reported, and known rows stay", len(names(screen.rows())) == NODES, said)
    screen.type("N")
    check("keys work while the controller is lost", bool(screen.until("in order", lambda rows: " by NODE, A to Z" in rows[1] and rows[-1] == said)))
    house.start_controller()
    check("top reconnects by itself", bool(screen.until("the keys again", lambda rows: rows[-1].startswith("q quit"))))


def ends(house):
    for how, act in (("q", lambda screen: screen.type("q")), ("Ctrl-C", lambda screen: screen.type("\x03")), ("SIGTERM", lambda screen: os.kill(screen.pid, signal.SIGTERM))):
        with Screen(words_of(house)) as screen:
            screen.until("nodes", lambda rows: len(names(rows)) == NODES)
            act(screen)
            code = screen.ended()
            check(f"{how} ends it with 0 and restores the terminal", code == 0 and termios.tcgetattr(screen.terminal) == screen.modes, str(code))


def coloured(house):
    """Checks that a connected node is green if the terminal has colours and NO_COLOR is unset."""
    for what, environment, wanted in (("with colours", {}, True), ("without, by NO_COLOR", {"NO_COLOR": "1"}, False)):
        with Screen(words_of(house), TERM="xterm", **environment) as screen:
            screen.until("nodes", lambda rows: len(names(rows)) == NODES)
            check(f"an xterm is drawn {what}", (b"\x1b[32m" in screen.raw) == wanted, repr(screen.raw[:600]))


def without_terminal(house):
    printed = house.run(*words_of(house))
    check("into a pipe it prints once", printed.returncode == 0 and "\x1b" not in printed.stdout and printed.stdout.count("\nNODE ") == 1, printed.stdout[:300])
    reported = house.run(*words_of(house), "-o", "json")
    check("as JSON too", set(json.loads(reported.stdout)) == {"status", "nodes", "pods"})
    for what, more, environment, has in (("a terminal without cursor movement", (), {"TERM": "dumb"}, b"NODE "),
                                         ("-o json", ("-o", "json"), {}, b'"power_w"')):
        with Screen((*words_of(house), *more), lines=100, columns=200, **environment) as screen:
            check(f"{what}: prints once and ends", screen.ended() == 0 and b"\x1b[H" not in screen.raw and has in screen.raw)
    with Screen(words_of(house), TERM="no-such-terminal") as screen:
        check("an unknown terminal is reported, with the fix", screen.ended() == 1 and "no-such-terminal" in screen.text() and "wattle top | cat" in screen.text(), screen.text())
    with Screen(words_of(house, key="stranger")) as screen:
        check("a key that is not on the allow list is reported without changing the screen", screen.ended() == 1 and "does not allow your key" in screen.text(), screen.text())
    silent = subprocess.run(words_of(house), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SOON_S, check=False)
    check("without a keyboard it prints once", silent.returncode == 0 and "NODE " in silent.stdout)


def main():
    binaries = pathlib.Path(binaries_from(sys.argv))
    with House(binaries, controller_extra="decide: {settle_window: 1s}") as house:
        port = start_swarm(house)
        all_names = sorted(node["name"] for node in house.query("nodes")["nodes"])
        node = all_names[4]
        start_pod(house, port, node, "uid-busy", "busy", 1.5)
        start_pod(house, port, node, "uid-evil", HARMFUL, 0.2)
        with Screen(words_of(house)) as screen:
            look(house, screen, all_names, node)
            drill(house, screen, node)
            follow_size(screen, all_names)
            lose_controller(house, screen)
            screen.type("q")
            check("q ends it with 0", screen.ended() == 0)
        ends(house)
        coloured(house)
        without_terminal(house)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

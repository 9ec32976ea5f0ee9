"""overflow: an agent whose spool is full before the network is back.

Law      the oldest samples go, in whole segments; agent and controller count the same ones, number by number
"""
import time

from house import wait_until

BOUND = 8 << 20  # the smallest that an agent takes
SEGMENT = BOUND // 32
# 64 probes that nobody answers, with long names: samples of some 30 KB, so that the bound is reached in half a minute.
TARGETS = ", ".join(f'{{name: "{"x" * 500}{i}", host: 127.0.0.1, port: 9, interval: 10s}}' for i in range(64))


def gauge(cluster, name):
    return cluster.metrics("a1").get(name, 0)


def overflow(cluster, report, enough):
    wait_until(f"{enough} samples are dropped", lambda: gauge(cluster, "wattle_agent_dropped_records_total") >= enough, 240)


def spool_overflow(cluster, report, dice, kills):
    cluster.kill("a1")
    cluster.configure("a1", more=f"spool: {{max_bytes: {BOUND}}}\nprobes: [{TARGETS}]", tick="100ms")
    cluster.start("a1")
    cluster.wait_ingesting()
    for turn in range(max(1, kills // 50)):
        cluster.net.cut("a1")
        overflow(cluster, report, 1)
        if turn == 0:
            # Of an incarnation that is over: no later number tells of that gap, the agent must.
            wait_until("it holds what it dropped as a gap", lambda: gauge(cluster, "wattle_agent_spool_gap_records") > 0)
            cluster.kill("a1")
            cluster.start("a1")
            wait_until("the agent is back", lambda: cluster.metrics("a1"), 60)
            overflow(cluster, report, 1)
        time.sleep(dice.uniform(0, 2))
        cluster.net.heal("a1")
        report.recovered("spool overflowed, the newest sample of its agent taken after", cluster.wait_ingesting(seconds=240))
        wait_until("the spool is empty", lambda: gauge(cluster, "wattle_agent_outbox_records") < 20, 240)
    cluster.stop_all()
    store, spools = cluster.books()
    gaps = [(incarnation, last - first + 1) for node, incarnation, first, last in store.gaps if node == "a1"]
    told = sum(count for _, count in gaps)
    kept, dropped, wrong = cluster.audit((store, spools))
    report.check(f"a full spool: {kept} samples are in the store once, {dropped} are told as dropped, none is lost", told > 0 and not wrong, wrong)
    cluster.configure("a1")
    cluster.start_all()

"""overflow: fills an agent's spool before the network is back.

Law      the agent drops the oldest samples in whole segments; agent and controller report the same sequence numbers
"""

from audit import Spool
from house import wait_until
from patience import LATE_S, pace

BOUND = 8 << 20  # the smallest that an agent accepts
SEGMENT = BOUND // 32
# 64 unanswered probes with long names make samples of about 30 KB, which fill the spool in half a minute.
TARGETS = ", ".join(f'{{name: "{"x" * 500}{i}", url: "tcp://127.0.0.1:9", interval: 10s}}' for i in range(64))


def gauge(cluster, name):
    return cluster.page("a1").get(name, 0)


def overflow(cluster, report, so_far):
    """Waits until more samples are dropped."""
    dropped = wait_until("samples are dropped", lambda: max(0, gauge(cluster, "wattle_agent_dropped_records_total") - so_far))
    size = gauge(cluster, "wattle_agent_spool_bytes") / max(1, gauge(cluster, "wattle_agent_outbox_records"))
    report.check("a full spool drops a whole segment", (dropped + 1) * size >= SEGMENT, (dropped, size))


def spool_overflow(cluster, report, dice, kills):
    cluster.kill("a1")
    cluster.configure("a1", more=f"spool: {{max_bytes: {BOUND}}}\nprobes: [{TARGETS}]", tick="100ms")
    cluster.start("a1")
    cluster.wait_ingesting()
    for turn in range(max(1, kills // 50)):
        cluster.net.cut("a1")
        overflow(cluster, report, gauge(cluster, "wattle_agent_dropped_records_total"))
        if turn == 0:
            # The incarnation is over, so no later number reveals the gap; the agent must report it.
            wait_until("the agent records dropped samples as a gap", lambda: gauge(cluster, "wattle_agent_spool_gap_records") > 0)
            cluster.kill("a1")
            before = sum(records for *_, records in Spool(cluster.spool("a1")).gaps)
            cluster.start("a1")
            wait_until("the agent is connected again", lambda: cluster.metrics("a1"))
            overflow(cluster, report, 0)
        pace(dice.uniform(0, 2))
        cluster.net.heal("a1")
        report.recovered("spool overflowed, its agent's newest sample accepted after", cluster.wait_ingesting(seconds=LATE_S))
        wait_until("the spool is empty", lambda: gauge(cluster, "wattle_agent_outbox_records") < 20)
    said = before + gauge(cluster, "wattle_agent_dropped_records_total")
    cluster.stop_all()
    store, spools = cluster.books()
    reported = sum(last - first + 1 for node, _, first, last in store.gaps if node == "a1")
    report.check(f"the agent's dropped samples equal the controller's missing ones: {reported}", reported == said, said)
    kept, dropped, wrong = cluster.audit((store, spools))
    report.check(f"a full spool: {kept} samples are in the store once, {dropped} are reported as dropped, none is lost", reported > 0 and not wrong, wrong)
    cluster.configure("a1")
    cluster.start_all()

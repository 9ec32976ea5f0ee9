"""lies: an agent sends impossible values (NaN, infinite, negative, absurd, counters and clocks that go backwards).

Law      the controller refuses each invalid record, counts and logs it, marks it in the store, and adds it to no sum;
         valid records of the same agent are kept, and other agents' samples are unaffected
Source   chaos_liar speaks the wire protocol (liar.cpp); the store's file afterwards
"""
import json
import subprocess

from cluster import AGENTS, HTTP, TELEMETRY
from house import HouseError, wait_until
from patience import AGES_S

HONEST_UJ = 50_000_000  # energy of each valid record of liar.cpp
CANNOT_BE_SAID = {"nan", "nan of a probe", "infinite", "minus infinite"}  # the message is refused, and the session ends
MAY_BE = {"wall clock of 1970", "wall clock before 1970", "wall clock of 2262",  # wall clocks are only shown to people
          "uptime an hour back", "uptime an hour on"}  # affects only the sender's own uptime


def refusals(cluster):
    return sum(value for name, value in cluster.page().items()
               if name.startswith("wattle_controller_refused_total{") and 'socket="telemetry"' in name)


def tell_lies(cluster):
    done = subprocess.run(
        cluster.net.on("other", str(cluster.binaries / "chaos_liar"), f"tcp://{cluster.net.hosts['controller']}:{TELEMETRY}",
                       str(cluster.dir / "liar.key"), str(cluster.dir / "controller.key.pub"), "liar"),
        capture_output=True, text=True, timeout=AGES_S, check=False)
    if done.returncode != 0:
        raise HouseError(f"chaos_liar: exit {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def lying_agent(cluster, report, _, kills):
    before, cut_before = cluster.page()["wattle_controller_records_refused_total"], refusals(cluster)
    lies = []
    for _ in range(max(1, kills // 20)):
        lies += tell_lies(cluster)
    cut = {lie["lie"] for lie in lies if lie["became"] == "cut"}
    report.check("only NaN and infinite numbers end the session", cut == CANNOT_BE_SAID, cut)
    refused = [lie for lie in lies if lie["lie"] not in CANNOT_BE_SAID | MAY_BE]
    counted = cluster.page()["wattle_controller_records_refused_total"] - before
    report.check(f"each of the {len(refused)} records out of range is counted as refused", counted == len(refused), counted)
    many = sum(lie["became"] == "cut" for lie in lies)
    counted = refusals(cluster) - cut_before
    report.check(f"each of the {many} messages with NaN is counted as refused", counted == many, counted)
    log = [json.loads(line) for line in cluster.log("controller").splitlines() if '"liar"' in line or "agent/liar" in line]
    report.check("the log names node and field of a refused record",
                 any(line["event"] == "record.refused" and "record." in str(line) for line in log), log[-3:])
    report.check("the log names node and field of a message with NaN",
                 any(line["event"] == "peer.refused" and "not finite" in str(line) for line in log), log[-3:])
    text = wait_until("the liar's page", lambda: cluster.net.fetch("controller", f"http://127.0.0.1:{HTTP}/api/v1/node?name=liar"))
    report.check("metrics of the sender have no NaN", "cpu_used_cores" in text and "nan" not in text.lower() and "inf" not in text.lower(), text)
    report.recovered("beside invalid records, others' samples accepted after", cluster.wait_ingesting(AGENTS))

    cluster.stop_all()
    store, spools = cluster.books()
    mine = sorted((incarnation, seq) for node, incarnation, seq in store.raw if node == "liar")
    wanted = sorted((lie["incarnation"], seq) for lie in lies for seq in range(1, lie["records"] + 1))
    report.check("every acknowledged record of the sender is in the store once", mine == wanted, (len(mine), len(wanted)))
    marked = {(incarnation, seq) for node, incarnation, seq in store.refused if node == "liar"}
    report.check("exactly the invalid records are marked as refused in the store", marked == {(lie["incarnation"], lie["seq"]) for lie in refused})
    honest = len(mine) - len(refused)
    report.check("the sum of energy has only valid records", store.energy_uj["liar"] == honest * HONEST_UJ, store.energy_uj["liar"])
    report.check("no record of another agent was refused", {node for node, _, _ in store.refused} <= {"liar"})
    report.audited(cluster, "a lying agent", (store, spools))
    cluster.start_all()

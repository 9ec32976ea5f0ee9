"""decisions: rows D1 to D16 of the feature list: what is advised, why, and in which mode."""
import json
import re

from house import fetch, wait_until
from patience import LATE_S
from walk import claim, partly, row, shown_by
from world import CAPTURED

PRESETS = ("ee", "lb", "lc", "el-rl", "drs", "power", "weighted")
TINY = "0.000001"


@row("D1", "a score per node through the extender, a veto, and both fail open")
def d1(world):
    _, scores = world.decided(world.simulated)
    claim("every node has an integer score, and the best has 10", sorted(scores) == world.simulated and max(scores.values()) == 10 and all(isinstance(s, int) for s in scores.values()), scores)
    claim("the others have at most 5", sorted(scores.values())[-2] <= 5 or list(scores.values()).count(10) > 1, scores)
    passed = world.ask("filter", world.simulated)
    claim("without a limit the filter passes all", sorted(passed["NodeNames"]) == world.simulated and not passed.get("FailedNodes"), passed)
    status, _ = fetch(f"{world.house.shim()}/prioritize", b"{]")
    claim("a malformed request is refused with 400", status == 400, status)
    return f"best node {max(scores, key=scores.get)}; by a real kube-scheduler: " + shown_by("tests/e2e/kube/kube_test.py")


@row("D2", "soft and hard latency limits by pod annotation")
def d2(world):
    here = world.house.node
    def vetoed():
        answer = world.ask("filter", [here], annotations={"wattle.dev/latency-hard-ms": TINY})
        return answer if answer["NodeNames"] == [] else None
    refused = wait_until("a limit that this machine exceeds is a veto", vetoed)
    del world.shell.typed[1:]
    why = refused["FailedAndUnresolvableNodes"][here]
    claim("the veto has its reason", "latency" in why, refused)
    claim("a limit that this machine meets is no veto", world.ask("filter", [here], annotations={"wattle.dev/latency-hard-ms": "60000"})["NodeNames"] == [here])
    uid, _ = world.decided([here, *world.simulated], annotations={"wattle.dev/latency-soft-ms": "40", "wattle.dev/latency-hard-ms": "20"})
    said = world.decision(uid)["problems"]
    claim("a soft limit above the hard one is reported and ignored", any("soft" in one for one in said), said)
    return f"{here}: {why}"


@row("D3", "decisions are idempotent per pod UID; spec.nodeName is honoured")
def d3(world):
    uid, first = world.decided(world.simulated)
    before = world.decision(uid)["id"]
    again = [world.scores(world.simulated, uid) for _ in range(3)]
    claim("retries get the same scores", all(one == first for one in again), (first, again))
    claim("retries make no further decision", world.decision(uid)["id"] == before)
    bound = world.scores(world.simulated, spec={"nodeName": world.simulated[0]})
    claim("a bound pod is not placed again", set(bound.values()) == {0}, bound)
    return "three retries, one decision"


@row("D4", "a demand profile learned per application")
def d4(world):
    def learned():
        listed = world.house.query("decisions", "--limit", "100")["decisions"]
        for one in listed:
            if not one["outcome"]:
                continue
            shown = world.decision(str(one["id"]))
            names, pod = shown["features"]["pod_names"], shown["features"]["pod"]
            request = pod[next(i for i, name in enumerate(names) if "request" in name and "cpu" in name)]
            if shown["demand_cores"] > 0 and abs(shown["demand_cores"] - request) > 0.01:
                return one, shown["demand_cores"], request
        return None
    world.shell.typed.append("wattle explain POD -o json")
    one, demand, request = wait_until("an application's usage differs from its requests and is learned", learned)
    return f"{one['pod_name']}: {demand:.2f} cores expected, features say {request:.2f} requested; names of pods do not count: " + shown_by("tests/unit/placement/demand_test.cpp")


@row("D5", "nodes come and go, their number varies, their order changes nothing")
def d5(world):
    uid, _ = world.decided(world.simulated)
    turned = [world.simulated[i:] + world.simulated[:i] for i in range(3)]
    answers = [world.scores(nodes, uid) for nodes in turned]
    claim("three orders, the same scores", all(one == answers[0] for one in answers), answers)
    for count in (1, 2, 5):
        scores = world.scores(world.simulated[:count])
        claim(f"{count} candidates have {count} scores", sorted(scores) == world.simulated[:count], scores)
    uid, scores = world.decided([*world.simulated, "no-such-node"])
    claim("an unknown node never has the highest score", scores["no-such-node"] == 0, scores)
    masked = next(one["masked"] for one in world.decision(uid)["candidates"] if one["node"] == "no-such-node")
    claim("an unknown node's mask has a reason", masked, masked)
    return f"no-such-node: {masked}"


@row("D6", "fallback when controller or agent are gone")
def d6(world):
    house = world.house
    house.kill(CAPTURED)
    def stale():
        uid, scores = world.decided([CAPTURED, *world.simulated])
        reason = next(one["masked"] for one in world.decision(uid)["candidates"] if one["node"] == CAPTURED)
        return (scores[CAPTURED], reason) if reason else None
    score, reason = wait_until("a node without its agent is masked", stale)
    del world.shell.typed[1:]
    claim("a masked node gets 0", score == 0, score)
    house.kill("controller")
    alone = [world.scores(world.simulated) for _ in range(6)]
    claim("without the controller the shim answers every pod", all(sorted(one) == world.simulated for one in alone), alone)
    claim("without the controller the filter passes all", sorted(world.ask("filter", world.simulated)["NodeNames"]) == world.simulated)
    house.start_controller()
    house.start(CAPTURED, house.binary("wattle-agent"), "run", "--config", str(house.dir / "captured.yaml"))
    wait_until("all nodes are connected again", lambda: house.query("status")["nodes_connected"] == len(world.nodes))
    world.decided(world.simulated)
    return f"{CAPTURED}: {reason}; six pods answered without a controller; in every fault of every part: " + shown_by("tests/e2e/chaos/chaos_test.py")


@row("D7", "policies and rewards are switched while it runs")
def d7(world):
    shell = world.shell
    for preset in PRESETS:
        shell(f"wattle policy set --reward {preset} --why 'to try it'")
        now = world.house.query("policy", "get")
        claim(f"{preset} is in force", now["reward"]["preset"] == preset, now["reward"])
        world.decided(world.simulated)
    shell("wattle policy set --reward expression --expression 'energy + 2 * latency' --why 'to try it'")
    claim("an expression is in force", world.house.query("policy", "get")["reward"]["expression"] == "energy + 2 * latency")
    claim("an expression without a known term is refused", "joy" in shell("wattle policy set --reward expression --expression 'joy + 1'", code=(1, 2)))
    shell("wattle policy set --reward weighted --why 'back again'")
    for policy in ("planner", "node-order", "amortised", "dqn"):
        shell(f"wattle policy set --policy {policy} --why 'to try it'")
        uid, _ = world.decided(world.simulated)
        claim(f"{policy} decides", world.decision(uid)["policy"] == policy, world.decision(uid)["policy"])
    shell.typed[:] = ["wattle policy set --reward PRESET", "wattle policy set --policy NAME"]
    return f"{len(PRESETS)} presets, an expression, four policies, without a restart"


@row("D8", "placements in flight are counted, so a burst does not herd")
def d8(world):
    def in_flight():
        return {one["name"]: one["in_flight"] for one in world.house.query("nodes")["nodes"] if one["name"] in world.simulated}
    before = sum(in_flight().values())
    burst, chosen = 12, {}
    for _ in range(burst):
        uid, scores = world.decided(world.simulated, cpu="1500m")
        best = world.decision(uid)["advice"]
        chosen[best] = chosen.get(best, 0) + 1
    world.shell.typed[:] = [*world.shell.typed[:1], "wattle nodes"]
    after = in_flight()
    claim("advised pods that do not run yet are expected", sum(after.values()) >= before + burst // 2, (before, after))
    claim("no single node gets all pods of a burst", max(chosen.values()) < burst, chosen)
    return f"{burst} pods of 1.5 cores at once: {chosen}"


@row("D9", "placement without Kubernetes")
def d9(world):
    said = world.shell("NODE=$(wattle place nightly-report --cpu 500m --memory 256Mi | head -n 1) && wattle confirm nightly-report \"$NODE\" && wattle explain nightly-report")
    claim("a node is named, confirmed, and explained", re.search(r"runs on (\S+)", said) and "was advised" in said, said)
    refused = world.shell("wattle place huge --cpu 100000", code=1)
    claim("a workload that fits nowhere has exit code 1 and a reason", "cpu does not fit" in refused, refused)
    return f"{said.splitlines()[0]}; the whole page: " + shown_by("tests/e2e/place_test.py")


@row("D10", "the reason for every decision: features, masks, terms, runner-up")
def d10(world):
    uid, scores = world.decided([*world.simulated, "no-such-node"])
    shown = world.shell.json(f"wattle explain {uid} -o json")["decision"]
    ranked = [one for one in shown["candidates"] if one["masked"] is None]
    claim("every candidate has a score or the reason of its mask", {one["node"] for one in shown["candidates"]} == set(scores), shown["candidates"])
    claim("Q is the prior plus the residual", all(abs(one["q"] - one["prior"] - one["residual"]) < 1e-5 for one in ranked if one["q"] is not None), ranked)
    claim("features have names", len(shown["features"]["names"]) == len(shown["features"]["winner"]) > 30, shown["features"])
    claim("the runner-up is listed with its terms", shown["runner_up"] and set(shown["winner_terms"]) == set(shown["runner_up_terms"]), shown)
    text = world.shell(f"wattle explain {uid}")
    claim("the text output has sentences", "was advised" in text and shown["winner"] in text, text)
    return text.splitlines()[0]


@row("D11", "shadow, canary and live; gates, a control arm, rollback by one command")
def d11(world):
    shell = world.shell
    shell("wattle policy set --mode shadow --why 'to look first'")
    neutral = world.scores(world.simulated)
    claim("mode shadow influences no placement", set(neutral.values()) == {0}, neutral)
    shell("wattle policy set --mode canary:50% --why 'the gate is tried' --force")
    now = world.house.query("policy", "get")
    claim("a canary uses blocks of time", now["block"]["length_s"] > 0 and now["arm"] in ("control", "treated"), now["block"])
    refused = shell("wattle policy promote", code=1)
    claim("the gate to live is closed without evidence", "gate is closed" in refused, refused)
    shell("wattle policy rollback")
    claim("one command rolls back", world.house.query("policy", "get")["mode"] == "shadow")
    shell("wattle policy set --mode live --why 'as it was' --force")
    changes = world.house.query("policy", "get")["changes"]
    claim("changes are kept with author and reason", any("-> live" in one["what"] and one["who"] == "operator/admin" and one["why"] == "as it was" for one in changes[:4]), changes[:4])
    return refused.strip()[:120] + "; a rollback by itself: " + shown_by("tests/unit/controller/regression_monitor_test.cpp", "tests/unit/controller/rollout_test.cpp")


@row("D12", "defer, and look-ahead at the pods that come next")
def d12(world):
    known = {one["name"]: one for one in world.house.query("nodes")["nodes"]}
    free = {name: known[name]["cpu_cores"] - known[name]["cpu_requested_cores"] for name in world.simulated}
    node = max(free, key=free.get)

    def placed():  # a node that has started many pods accepts the next one a moment later
        answer = json.loads(world.shell(f"wattle place full --cpu {free[node] * 0.5:.2f} --nodes {node} --next {free[node] * 0.4:.2f},64Mi -o json", code=(0, 1)))
        return answer if answer["node"] else None
    full = wait_until("a node with capacity is advised", placed)
    decision = world.decision(full["uid"])
    claim("the next pod is considered", decision["next_pods"] == 1, decision["next_pods"])
    claim("each candidate lists the pods that would not fit", all("leaves_out" in one for one in decision["candidates"]))
    world.shell(f"wattle confirm {full['uid']} {node}")
    late = json.loads(world.shell(f"wattle place late --uid {world.uid('late')} --cpu {known[node]['cpu_cores'] * 0.95:.2f} --nodes {node} --defer 30s -o json", code=3))
    claim("a workload that fits later gets a time to wait", late["node"] is None and 0 < late["again_s"] <= 30, late)
    return f"room is left for the next pod; the other waits {late['again_s']:.0f} s; simulated: " + shown_by("tests/unit/placement/deferral_test.cpp", "tests/e2e/place_test.py")


@row("D13", "the saving is shown before anything acts, with its interval")
def d13(world):
    text = world.simulated_by("shadow")
    seeds = re.findall(r"^\s*\d+\s+(-?[\d.]+) \[\s*-?[\d.]+,\s*-?[\d.]+\]\s+(-?[\d.]+)\s+(yes|no)", text, re.M)
    claim("five seeds have a modelled saving with an interval, and the later measured one", len(seeds) == 5, text)
    claim("the interval contains the measured saving for at least four of five", sum(held == "yes" for _, _, held in seeds) >= 4, seeds)
    modelled = world.house.query("policy", "get")
    claim("the document has a field for the saving", "modelled" in modelled, modelled)
    return f"simulated, five seeds: modelled {[one[0] for one in seeds]}%, then {[one[1] for one in seeds]}%; live: " + shown_by("tests/unit/controller/shadow_test.cpp")


@row("D14", "no node exceeds its share of one owner's replicas; soft wishes are honoured")
def d14(world):
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "share-1", "uid": "share", "controller": True}]
    chosen = {}
    for _ in range(4):
        uid, _ = world.decided(world.simulated, metadata={"ownerReferences": owner, "labels": {"app": "share"}})
        best = world.decision(uid)["advice"]
        chosen[best] = chosen.get(best, 0) + 1
    claim("no node is advised for more than half of four replicas", max(chosen.values()) <= 2, chosen)
    wishes = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}]}}}
    _, scores = world.decided(world.simulated, spec=wishes)
    claim("a pod with a preference gets at most one point from the shim", max(scores.values()) <= 1, scores)
    world.shell.typed[1:] = []
    return f"four replicas: {chosen}; with kube-scheduler's own plugins: " + shown_by("tests/e2e/kube/preferences_test.py")


@row("D15", "no pod is evicted for a pod that Wattle's own rules would refuse")
def d15(world):
    here = world.house.node
    def victims(limit):
        return world.ask("preempt", [], annotations={"wattle.dev/latency-hard-ms": limit}, body={"NodeNameToMetaVictims": {
            here: {"Pods": [{"UID": "a"}], "NumPDBViolations": 0}}})["NodeNameToMetaVictims"]
    claim("a node within the limit keeps its victims", here in victims("60000"))
    wait_until("a node above the limit loses them", lambda: victims(TINY) == {})
    del world.shell.typed[1:]
    return "with a real kube-scheduler: " + shown_by("tests/e2e/kube/preemption_test.py")


@row("D16", "the cost of the same pods under the default scheduler, in every mode")
def d16(world):
    world.house.processes["drive"].wait(LATE_S)
    world.shell.typed.append("wattle-sim drive --summary-file summary.json")
    summary = json.loads((world.house.dir / "summary.json").read_text())
    claim("the cost of the same pods under the default scheduler is computed", summary["wattle"].keys() == summary["default"].keys(), summary)
    return partly(f"of one run of simulated nodes: {summary['wattle']['energy_j']:.0f} J, {summary['default']['energy_j']:.0f} J under the default scheduler",
                  "a figure with an interval of the live cluster in every mode")

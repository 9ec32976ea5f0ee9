#!/usr/bin/env python3
"""keys_test: key changes at run time. After a rotation of the controller's key, a connected agent reconnects by itself
and loses no data. Revoking the agent's key ends its session and appears in log and metrics."""
import re
import signal
import sys

from house import House, binaries_from, fetch, wait_until

failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def metric(house, name):
    return sum(float(value) for value in re.findall("^" + name + r" (\S+)$", fetch(f"{house.api()}/metrics")[1], re.M))


def refused(house, reason):
    return metric(house, f'wattle_controller_refused_total{{socket="telemetry",reason="{reason}",role="[a-z]+"}}')


def secrets(house):
    files = list(house.dir.glob("*.key")) + list(house.dir.glob("*.key.previous"))
    return [re.search(r"secret-key: (\S+)", file.read_text()).group(1) for file in files]


def rotate(house):
    key = house.dir / "controller.key"
    before = key.read_text()
    house.start_controller()
    house.start_agent()
    wait_until("records come", lambda: metric(house, "wattle_controller_records_total") > 2)
    house.wattle("keys", "rotate", str(key))  # the agent reads its .pub file
    house.wattle("keys", "rotate", "--switch", str(key))
    check("the pair was switched", key.read_text() != before)
    house.kill("controller", signal.SIGTERM)
    house.start_controller()
    wait_until("the agent reconnects with the controller's next key", house.connected)
    check("the agent tried the old key first", refused(house, "wrong_server_key") > 0)
    wait_until("records arrive again", lambda: metric(house, "wattle_controller_records_total") > 2)
    check("no record is missing", metric(house, "wattle_controller_records_missing_total") == 0)


def revoke(house):
    house.wattle("keys", "revoke", "--allow-list", str(house.dir / "allow"), house.node)
    wait_until("the session has ended", lambda: metric(house, "wattle_controller_sessions") == 0)
    wait_until("the agent's next try is refused", lambda: refused(house, "unknown_key") > 0)
    check("the metrics count the revocation", metric(house, "wattle_controller_keys_revoked_total") == 1)
    check("the log reports the revocation", wait_until("the log has the revocation", lambda: '"event":"key.revoked"' in (log := house.log("controller")) and f"agent/{house.node}" in log))
    check("the agent keeps running and logs the reason", wait_until("the agent's log has the reason", lambda: house.alive("agent") and "has been revoked" in house.log("agent")))


def main():
    with House(binaries_from(sys.argv)) as house:
        rotate(house)
        revoke(house)
        reported = house.log("controller") + house.log("agent")
        check("no log contains a secret key", not any(secret in reported for secret in secrets(house)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

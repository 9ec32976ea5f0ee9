"""units: runs wattle-actuator on a service of a real systemd, and reads systemd, the kernel and drop-ins while it runs
and after each kind of end.

pack() collects the files for observe(), which runs inside the machine; judge() runs outside. The service is idle, so
that its limit falls to rules.least_cores, 5% of a core.
"""
import pathlib
import shutil
import time

UNIT = "limited.service"
ACTUATOR = "wattle-actuator"
FOLDER = pathlib.Path("/etc/systemd/system")
NO_RESTART = pathlib.Path("/run/systemd/system/wattle-actuator.service.d/once.conf")
DROP_INS = pathlib.Path(f"/run/systemd/system.control/{UNIT}.d")
LOOKS_S = 7  # longer than its interval for reading systemd


def pack(packages, payload):
    (payload / "units").mkdir()
    shutil.copy(packages[ACTUATOR], payload / "units")
    shutil.copy(__file__, payload)


def observe(payload, run, show, wait_until):
    run("dpkg", "-i", *map(str, (payload / "units").glob("*.deb")))
    (FOLDER / UNIT).write_text("[Service]\nExecStart=/bin/sleep infinity\nCPUQuota=50.5%\n", encoding="utf-8")
    NO_RESTART.parent.mkdir(parents=True)
    NO_RESTART.write_text("[Service]\nRestart=no\n", encoding="utf-8")
    pathlib.Path("/etc/wattle/actuator.yaml").write_text(f"workloads:\n  - {{unit: {UNIT}, level: limits}}\n", encoding="utf-8")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", UNIT)
    cgroup = pathlib.Path("/sys/fs/cgroup") / show(UNIT, "ControlGroup")["ControlGroup"].lstrip("/")

    def reading():
        return {"reported": show(UNIT, "CPUQuotaPerSecUSec")["CPUQuotaPerSecUSec"],
                "kernel": (cgroup / "cpu.max").read_text(encoding="utf-8").strip(),
                "burst": (cgroup / "cpu.max.burst").read_text(encoding="utf-8").strip(),
                "drop_ins": {file.name: file.read_text(encoding="utf-8") for file in DROP_INS.glob("*")} if DROP_INS.exists() else {}}

    def set_by_us():
        run("systemctl", "start", ACTUATOR)
        wait_until("the limit is set", lambda: reading()["kernel"] == "5000 100000")
        return reading()

    seen = {"before": reading(), "doctor": run("wattle-actuator", "doctor").stdout, "set": set_by_us()}
    run("systemctl", "daemon-reload")
    time.sleep(LOOKS_S)
    seen["reloaded"] = reading()
    run("systemctl", "stop", ACTUATOR)
    seen["stopped"] = reading()
    run("systemctl", "daemon-reload")
    seen["stopped_reloaded"] = reading()
    set_by_us()
    run("systemctl", "kill", "--signal=KILL", "--kill-who=main", ACTUATOR)
    wait_until("the actuator has exited", lambda: show(ACTUATOR, "ActiveState")["ActiveState"] == "failed")
    seen["killed"] = reading()
    run("systemctl", "reset-failed", ACTUATOR)
    set_by_us()
    run("systemctl", "daemon-reexec")
    time.sleep(LOOKS_S)
    seen["reexecuted"] = {**reading(), **show(ACTUATOR, "ActiveState")}
    run("systemctl", "set-property", "--runtime", UNIT, "CPUQuota=70%")
    time.sleep(LOOKS_S)
    run("systemctl", "stop", ACTUATOR)
    seen["foreign"] = reading()
    seen["journal"] = run("journalctl", "-b", "--no-pager", "-o", "cat", "-u", ACTUATOR).stdout[-10000:]
    run("systemctl", "stop", UNIT)
    run("dpkg", "-P", ACTUATOR)
    return seen


def judge(seen, check):
    ours = {"reported": "50ms", "kernel": "5000 100000"}
    was = {"reported": "505ms", "kernel": "50500 100000", "burst": "0", "drop_ins": {}}

    def claim(what, name, wanted):
        found = {key: seen[name].get(key) for key in wanted}
        check(what, found == wanted, f"{found}, and not {wanted}; {seen['journal'][-2000:]}")

    claim("units: a service has the limit of its own file", "before", was)
    check("units: doctor reports that limits go through systemd", "limits through systemd" in seen["doctor"], seen["doctor"])
    claim("units: systemd and the kernel have the limit", "set", ours)
    check("units: systemd keeps it in a drop-in", "CPUQuota=5%" in seen["set"]["drop_ins"].get("50-CPUQuota.conf", ""), seen["set"])
    claim("units: the limit survives a daemon-reload", "reloaded", ours)
    claim("units: after a stop the original state is restored", "stopped", was)
    claim("units: after a stop and a daemon-reload the original state stays", "stopped_reloaded", was)
    claim("units: after a SIGKILL the original state is restored", "killed", was)
    claim("units: the actuator continues after a daemon-reexec", "reexecuted", {**ours, "ActiveState": "active"})
    claim("units: a foreign value stays", "foreign", {"reported": "700ms", "kernel": "70000 100000", "burst": "0"})

#!/usr/bin/env python3
"""parts_test: runs the laws of the power drivers (laws_test.cpp) on third-party BMCs: the Redfish driver with
sushy-tools
2.2.0, by HTTP and by TLS, and the IPMI driver with OpenIPMI's ipmi_sim. A part that is not installed is skipped with
the
reason.

Usage    parts_test.py BIN_DIR [redfish] [redfish-tls] [ipmi]     all of them without names
Needs    scripts/setup --long
Exit     0 fine, 1 a law is broken or a part does not start, 77 every part was skipped
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from house import free_ports, wait_until  # noqa: E402

USER, PASSWORD, WRONG = "wattle", "s3cret-pass", "wr0ng-pass"
CIPHER_SUITE = 3  # ipmi_sim does not support 17


def emulator_python():
    shown = subprocess.run([ROOT / "scripts" / "sushy-tools", "--print"], capture_output=True, text=True, check=False)
    return shown.stdout.strip() if shown.returncode == 0 else None


def write(path, text, mode=0o644):
    path.write_text(text)
    path.chmod(mode)
    return path


def write_rig(folder, section, port, silent_port):
    """Writes the files of a GivenRig (rigs.hpp). `section` has the placeholders {port} and {credentials}."""
    write(folder / "credentials", f"{USER}\n{PASSWORD}\n", 0o400)
    write(folder / "wrong", f"{USER}\n{WRONG}\n", 0o400)
    for name, to, credentials in (("power", port, "credentials"), ("denied", port, "wrong"), ("silent", silent_port, "credentials")):
        filled = section.replace("{port}", str(to)).replace("{credentials}", str(folder / credentials))
        write(folder / f"{name}.yaml", f"nodes: [{{node: node, {filled}}}]\n")


class Redfish:
    def __init__(self, folder, tls):
        self.folder, self.tls = folder, tls

    def start(self):
        (port,) = free_ports(1)
        self.silent = socket.create_server(("127.0.0.1", 0))
        python = emulator_python()
        hashed = subprocess.run([python, "-c", f"import bcrypt; print(bcrypt.hashpw({PASSWORD.encode()!r}, bcrypt.gensalt(4)).decode())"],
                                capture_output=True, text=True, check=True).stdout.strip()
        write(self.folder / "htpasswd", f"{USER}:{hashed}\n", 0o600)
        (self.folder / "state").mkdir()
        write(self.folder / "emulator.conf", f"SUSHY_EMULATOR_AUTH_FILE = {str(self.folder / 'htpasswd')!r}\n"
              f"SUSHY_EMULATOR_STATE_DIR = {str(self.folder / 'state')!r}\n")
        command = [python, pathlib.Path(__file__).with_name("emulator.py"), "--fake", "--interface", "127.0.0.1", "--port", str(port),
                   "--config", self.folder / "emulator.conf"]
        trust = ""
        if self.tls:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=bmc",
                            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "bmc.key", "-out", "bmc.pem"], cwd=self.folder, check=True, capture_output=True)
            command += ["--ssl-certificate", self.folder / "bmc.pem", "--ssl-key", self.folder / "bmc.key"]
            trust = f", ca_file: {self.folder / 'bmc.pem'}"
        scheme = "https" if self.tls else "http"
        write_rig(self.folder, f"redfish: {{address: '{scheme}://127.0.0.1:{{port}}', credentials_file: {{credentials}}{trust}}}", port, self.silent.getsockname()[1])
        write(self.folder / "metered", "")
        self.log = open(self.folder / "emulator.log", "wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)
        wait_until("the emulator listens", lambda: socket.create_connection(("127.0.0.1", port)).close() is None)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.silent.close()


CHASSIS = """#!/bin/sh
# The machine of ipmi_sim: its power is a file.
state=$(dirname "$0")/machine
shift
case "$1 $2" in
  "get power") echo "power:$(cat "$state")" ;;
  "set power") echo "$3" >"$state" ;;
  "set shutdown") echo 0 >"$state" ;;
esac
"""


class Ipmi:
    def __init__(self, folder):
        self.folder = folder

    def start(self):
        (port,) = free_ports(1)
        self.silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.silent.bind(("127.0.0.1", 0))
        write(self.folder / "machine", "1\n")
        chassis = write(self.folder / "chassis", CHASSIS, 0o755)
        auths = "".join(f"    allowed_auths_{role} none md2 md5 straight\n" for role in ("callback", "user", "operator", "admin"))
        write(self.folder / "lan.conf", f"""name "wattle"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
{auths}    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "{chassis} 0x20"
  user 1 true "" "" user 10 none md2 md5 straight
  user 2 true "{USER}" "{PASSWORD}" operator 10 none md2 md5 straight
""")
        write(self.folder / "commands", "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\nmc_enable 0x20\n")
        (self.folder / "state").mkdir()
        write_rig(self.folder, f"ipmi: {{address: 127.0.0.1, port: {{port}}, credentials_file: {{credentials}}, cipher_suite: {CIPHER_SUITE}}}",
                  port, self.silent.getsockname()[1])
        self.log = open(self.folder / "ipmi_sim.log", "wb")
        self.process = subprocess.Popen(["ipmi_sim", "-c", "lan.conf", "-f", "commands", "-s", "state", "-n"], cwd=self.folder,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        udp = f":{port:04X} "
        wait_until("ipmi_sim listens", lambda: udp in pathlib.Path("/proc/net/udp").read_text())

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.silent.close()


def missing(name):
    if name.startswith("redfish"):
        return None if emulator_python() else "sushy-tools is not installed (scripts/sushy-tools)"
    absent = [program for program in ("ipmi_sim", "ipmitool") if not shutil.which(program)]
    return f"{' and '.join(absent)} not installed (apt-get install openipmi ipmitool)" if absent else None


def run_laws(bin_dir, name):
    with tempfile.TemporaryDirectory(prefix="wattle-power-") as place:
        folder = pathlib.Path(place)
        part = Ipmi(folder) if name == "ipmi" else Redfish(folder, tls=name == "redfish-tls")
        part.start()
        try:
            laws = subprocess.run([bin_dir / "integration_power", "-sf=*laws_test.cpp"], env=os.environ | {"WATTLE_POWER_GIVEN": place}, check=False)
        finally:
            part.end()
        if laws.returncode != 0:
            for log in folder.glob("*.log"):
                print(f"-- {log.name}\n{log.read_text(errors='replace')[-4000:]}")
        return laws.returncode == 0


def main():
    bin_dir, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] or ["redfish", "redfish-tls", "ipmi"]
    results = {}
    for name in names:
        if reason := missing(name):
            print(f"power: {name} skipped: {reason}")
            continue
        print(f"== power: {name}", flush=True)
        results[name] = run_laws(bin_dir, name)
    if not results:
        return 77
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

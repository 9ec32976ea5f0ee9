"""emulator: sushy-tools' Redfish emulator with an additional power meter, which sushy-tools does not have: the system's
chassis links to a Power resource whose watts follow the system's state.

Usage    emulator.py OPTIONS of sushy-emulator; run by the Python that scripts/sushy-tools prints
"""
import json
import sys

import flask
from sushy_tools.emulator import main

WATTS = {"On": 95, "Off": 9.75}  # as in the measurements that the simulator uses
app = main.app


@app.route("/redfish/v1/Chassis/<identity>/Power")
def power(identity):
    state = app.systems.get_power_state(app.systems.systems[0])
    link = f"/redfish/v1/Chassis/{identity}/Power"
    return flask.jsonify({"@odata.id": link, "PowerControl": [{"@odata.id": f"{link}#/PowerControl/0", "PowerConsumedWatts": WATTS[state]}]})


@app.after_request
def link_meter(response):
    path = flask.request.path.rstrip("/")
    if response.status_code == 200 and path.startswith("/redfish/v1/Chassis/") and path.count("/") == 4:
        chassis = json.loads(response.get_data())
        chassis["Power"] = {"@odata.id": path + "/Power"}
        response.set_data(json.dumps(chassis))
    return response


if __name__ == "__main__":
    sys.exit(main.main())

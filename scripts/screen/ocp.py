"""Writes a judgement of 'tcverify screen judge --json' in the output format of OCP's Test and Validation project, version 2.0.

  python3 ocp.py fleet.json -o FOLDER

One file for each GPU, HOST-INDEX-PROGRAM.jsonl: one run, one step, its diagnosis and measurements. Times are those of this conversion,
because results hold none. Exit codes: 0 written, 2 anything else. Format: github.com/opencomputeproject/ocp-diag-core, json_spec.
"""

import argparse
import datetime
import json
import os
import re
import sys

#: What a condition is in OCP's three words, and how the run ends.
TYPES = {
    "clean": ("PASS", "PASS"),
    "stuck": ("FAIL", "FAIL"),
    "intermittent": ("FAIL", "FAIL"),
    "marginal": ("FAIL", "FAIL"),
    "unplaced": ("FAIL", "FAIL"),
}
#: No fault of the GPU, or not all of it was looked at: no verdict on the hardware.
OTHER = ("UNKNOWN", "NOT_APPLICABLE")


def artifacts(fleet, gpu):
    """What one GPU's run consists of, in order."""
    device = gpu["device"]
    kind, result = TYPES.get(gpu["condition"], OTHER)
    hardware = {"hardwareInfoId": "gpu", "name": device["name"], "partType": "GPU", "location": str(device["index"])}
    if device["uuid"]:
        hardware["serialNumber"] = device["uuid"]
    software = [{"softwareInfoId": "program", "name": device["program"], "softwareType": "APPLICATION"}]
    if device["driver"]:
        software.append({"softwareInfoId": "driver", "name": "driver", "version": device["driver"], "softwareType": "SYSTEM"})
    yield {"schemaVersion": {"major": 2, "minor": 0}}
    yield run(
        testRunStart={
            "name": "tcverify screen",
            "version": fleet["schema"],
            "commandLine": "tcverify screen judge",
            "parameters": {"suite": fleet["suite"], "arch": fleet["arch"], "level": fleet["level"]},
            "dutInfo": {
                "dutInfoId": device["host"],
                "name": device["host"],
                "platformInfos": [{"info": "simulated" if device["simulated"] else device["architecture"]}],
                "softwareInfos": software,
                "hardwareInfos": [hardware],
            },
        }
    )
    yield step(testStepStart={"name": f"{fleet['arch']} {fleet['level']}"})
    yield measured("results compared", gpu["compared"])
    yield measured("results wrong", gpu["wrong_results"])
    yield measured("seconds", gpu["seconds"], "s")
    readings = gpu["readings"] or {}
    for name, key, unit in (("temperature", "temperature_c", "Cel"), ("SM clock", "sm_clock_mhz", "MHz")):
        for which, value in zip(("least", "largest"), readings.get(key) or ()):
            yield measured(f"{which} {name}", value, unit)
    verdict = {"verdict": f"tcverify-{gpu['condition']}", "type": kind, "message": gpu["said"], "hardwareInfoId": "gpu"}
    yield step(diagnosis=verdict)
    # What the format has no word for.
    yield step(extension={"name": "tcverify", "content": {"products_wrong": gpu["products_wrong"], "wrong": gpu["wrong"]}})
    yield step(testStepEnd={"status": "COMPLETE"})
    yield run(testRunEnd={"status": "COMPLETE", "result": result})


def run(**artifact):
    return {"testRunArtifact": artifact}


def step(**artifact):
    return {"testStepArtifact": {"testStepId": "0", **artifact}}


def measured(name, value, unit=None):
    measurement = {"name": name, "value": value, "hardwareInfoId": "gpu"}
    return step(measurement={**measurement, "unit": unit} if unit else measurement)


def named(gpu):
    """A name that no path can hide in."""
    device = gpu["device"]
    program = device["program"].split(",")[0]
    return re.sub(r"[^A-Za-z0-9._-]+", "_", f"{device['host']}-{device['index']}-{program}").lstrip(".") + ".jsonl"


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fleet", metavar="FLEET.json")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER")
    options = parser.parse_args(words)
    try:
        with open(options.fleet, encoding="utf-8") as file:
            fleet = json.load(file)
        if not isinstance(fleet, dict) or fleet.get("schema") != "tcverify.screen-fleet/1":
            raise ValueError("it is no tcverify.screen-fleet/1, as 'tcverify screen judge --json' writes it")
        texts = {}
        for gpu in fleet["gpus"]:
            name = named(gpu)
            if name in texts:
                raise ValueError(f"two GPUs would be written to {name}")
            now = datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
            lines = enumerate(artifacts(fleet, gpu))
            texts[name] = "".join(json.dumps({**one, "sequenceNumber": n, "timestamp": now}) + "\n" for n, one in lines)
        os.makedirs(options.output, exist_ok=True)
        for name, text in texts.items():
            path = os.path.join(options.output, name)
            with open(path + ".part", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".part", path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else error
        print(f"ocp: {options.fleet}: {what}", file=sys.stderr)
        return 2
    print(f"{len(texts)} GPUs  {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

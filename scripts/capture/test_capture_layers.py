"""Tests capture_layers.py without a GPU: python3 test_capture_layers.py

With TCVERIFY=path/to/tcverify its rules stand in for the libraries, and it judges the folder that is written.
"""

import dataclasses
import json
import os
import subprocess
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np

import capture_layers
from capture_layers import Array

TCVERIFY = os.environ.get("TCVERIFY")


class Rules:
    """Every library, by the rules of tcverify; results that no rule gives are absent."""

    def __init__(self, device):
        self.device = device

    def since(self, *version):
        return True

    def arch(self):
        return "h100"

    def describe(self):
        return {"gpu": "none"}

    def run(self, case):
        if case.library == "flashinfer":
            raise ModuleNotFoundError("it is not here")
        with tempfile.TemporaryDirectory() as folder:
            words = [f"--{name.replace('_', '-')}={value}" for name, value in case.fields.items()
                     if name not in ("operation", "causal")]
            words += ["--causal"] if "causal" in case.fields else []
            words += ["--arch=h100"] if case.fields["operation"] == "attention" else []
            for name, array in case.arrays.items():
                capture_layers.save(folder, f"{name}.npy", array)
                words.append(f"{name}={folder}/{name}.npy")
            dtype = next(iter(case.arrays.values())).format
            subprocess.run([TCVERIFY, "replay", "--op", case.fields["operation"], *words, f"--dtype={dtype}", "-q", "--engine=exact",
                            "-o", f"{folder}/y.npy"], check=True, capture_output=True)
            codes = np.load(f"{folder}/y.npy")
        format = {1: "e4m3", 2: "bf16", 4: "fp32"}[codes.dtype.itemsize]
        return [Array(format, codes.view(capture_layers.STORED[format]))], ["a_kernel"]


def captured(folder, *words, make=Rules):
    with redirect_stdout(StringIO()) as said, redirect_stderr(StringIO()) as errors:
        options = capture_layers.parse([folder, "--short", "--rehearse", *words])
        capture_layers.capture(options, make)
    return said.getvalue(), errors.getvalue()


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@unittest.skipUnless(TCVERIFY, "TCVERIFY names no program")
class Folders(unittest.TestCase):
    def batch(self, folder):
        run = subprocess.run([TCVERIFY, "batch", f"{folder}/manifest.json", "--json", "-"], capture_output=True)
        return run.returncode, json.loads(run.stdout)

    def test_a_folder_is_judged(self):
        with tempfile.TemporaryDirectory() as above:
            folder = f"{above}/captured"
            said, errors = captured(folder)
            code, report = self.batch(folder)
            self.assertEqual((code, report["verdict"]), (0, "identical"))
            count = len(report["cases"])
            self.assertGreater(count, 50)
            self.assertIn(f"{count} cases", said)
            # What was not captured is said, and is in no case.
            facts = read(f"{folder}/provenance.json")
            missing = sum(len(names) for names in facts["not_captured"].values())
            self.assertIn("it is not here", errors)
            everything = list(capture_layers.cases(capture_layers.parse(["x", "--short"]), lambda *_: True))
            self.assertEqual(count + missing, len(everything))
            self.assertTrue(any(name.startswith("numpy==") for name in facts["packages"]))
            one = read(f"{folder}/silu-all/silu-all.json")
            self.assertEqual((one["library"], one["kernels"]), ("torch", ["a_kernel"]))
            # Digests are of the payloads, as a report has them.
            case = next(case for case in report["cases"] if case["name"] == "silu-all")
            digests = {name: entry["payload_sha256"] for name, entry in case["report"]["inputs"].items()}
            self.assertEqual({name: array["sha256"] for name, array in one["arrays"].items()}, digests)
            # A bit of one result.
            path = f"{folder}/silu-all/y.npy"
            codes = np.load(path)
            codes.reshape(-1)[777] ^= 1
            np.save(path, codes)
            code, report = self.batch(folder)
            self.assertEqual((code, report["totals"]["different"]), (1, 1))

    def test_other_rules_differ(self):
        class Others(Rules):
            """Norms as vLLM's older kernels compute them."""

            def run(self, case):
                return super().run(dataclasses.replace(case, fields={**case.fields, "variant": "vllm-2024"}))

        with tempfile.TemporaryDirectory() as above:
            captured(f"{above}/x", "--only", "rms_norm", "--library", "torch", make=Others)
            code, report = self.batch(f"{above}/x")
            self.assertEqual((code, report["totals"]["unjudged"]), (1, 0))
            for case in report["cases"]:
                # Fused kernels round once, all others as often as that one.
                self.assertEqual(case["verdict"] == "different", "-fused-" in case["name"], case["name"])

    def test_nothing_is_written_over(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(SystemExit, "is there already"):
            captured(folder)


class Arrays(unittest.TestCase):
    def test_adversarial_rows(self):
        codes = capture_layers.adversarial(3, 4, 256).codes
        exponents = codes >> 7 & 0xFF
        large = (exponents == 137).sum(axis=1)
        self.assertEqual(large.tolist(), [1, 0, 1, 0])

    def test_every_pattern_but_nans(self):
        codes = capture_layers.every_bf16().codes.reshape(-1)
        self.assertEqual(len(np.unique(codes)), (1 << 16) - 2 * 127)

    def test_rounding_to_nearest_even(self):
        numbers = np.array([1.0, 1.00390625, 1.01171875, -2.0], "<f4")
        self.assertEqual(capture_layers.rounded(numbers).tolist(), [0x3F80, 0x3F80, 0x3F82, 0xC000])


class Arguments(unittest.TestCase):
    def test_errors(self):
        for words in ([], ["x", "--only", "rmsnorm"], ["x", "--library", "cudnn"], ["x", "--other"]):
            with self.assertRaises(SystemExit), redirect_stderr(StringIO()):
                capture_layers.parse(words)


if __name__ == "__main__":
    unittest.main()

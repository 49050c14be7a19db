"""Tests what capture_torch.py does without a GPU, with NumPy in torch's place: python3 test_capture_torch.py"""

import json
import os
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np

import capture_torch


class StandIn:
    """FP16 operands as numbers, multiplied in FP32."""

    def __init__(self, options):
        self.options = options
        self.sizes = []

    def multiply(self, a, b):
        self.sizes.append((a.shape, b.shape))
        d = a.view(np.float16).astype(np.float64) @ b.view(np.float16).astype(np.float64)
        return d.astype(np.float16)

    def describe(self):
        return {"gpu": "none"}


def probes(folder, n=37, k=16, c=()):
    random = np.random.default_rng(1)
    a = random.integers(-8, 8, (n, 1, k)).astype("<f2")
    b = random.integers(-8, 8, (n, k, 1)).astype("<f2")
    addend = np.zeros((n, 1, 1), "<f4")
    for index, value in c:
        addend[index] = value
    for name, array in (("a", a), ("b", b), ("c", addend)):
        np.save(f"{folder}/{name}.npy", array)
    return a, b


class Answers(unittest.TestCase):
    def run_answer(self, *more, c=(), make=StandIn):
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
            a, b = probes(folder, c=c)
            options = capture_torch.parse(["answer", folder, "--dtype", "fp16", "-o", f"{folder}/out", *more])
            try:
                capture_torch.answer(options, make)
            except SystemExit as stop:
                return str(stop.code), said.getvalue()
            out = {name: np.load(f"{folder}/out/{name}.npy") for name in "abd"}
            with open(f"{folder}/out/d.npy.json", encoding="utf-8") as file:
                return a, b, out, json.load(file)

    def test_diagonal_in_batches(self):
        a, b, out, facts = self.run_answer("--batch", "10")
        self.assertEqual(out["d"].shape, (37, 1, 1))
        np.testing.assert_array_equal(out["d"], np.matmul(a, b))
        self.assertEqual(facts["cases"], list(range(37)))

    def test_cases_with_c_are_refused_then_left_out(self):
        # -0 is a C that a product without C has not.
        c = [(3, 1.0), (5, -0.0)]
        code, said = self.run_answer(c=c)
        self.assertIn("--skip-c", code)
        self.assertIn("2 of 37 cases", said)
        a, b, out, facts = self.run_answer("--skip-c", c=c)
        self.assertEqual(out["d"].shape, (35, 1, 1))
        keep = facts["cases"]
        self.assertNotIn(3, keep)
        self.assertNotIn(5, keep)
        np.testing.assert_array_equal(out["a"].view("<f2"), a[keep])
        np.testing.assert_array_equal(out["d"], np.matmul(a, b)[keep])


class Arguments(unittest.TestCase):
    def test_errors(self):
        for words in (
            [],
            ["answer", "x", "--dtype", "fp17", "-o", "y"],
            ["gemm", "--dtype", "fp16", "--dtype-b", "bf16", "-o", "y"],
            ["gemm", "--dtype", "fp16", "--d-dtype", "fp32", "-o", "y"],
            ["answer", "x", "--dtype", "fp16", "-o", "y", "--batch", "0"],
        ):
            with self.assertRaises(SystemExit), redirect_stderr(StringIO()):
                capture_torch.parse(words)

    def test_operands(self):
        def codes(*words):
            return capture_torch.operands(capture_torch.parse(["gemm", "--dtype", "bf16", "-o", "y", *words]))

        a, b, which = codes("--operands", "generate:7:normal", "--size", "3x5x4")
        self.assertEqual((a.shape, b.shape), ((3, 4), (4, 5)))
        self.assertEqual(which, {"a_spec": "generate:7:normal:3x4", "b_spec": "generate:7:normal:4x5"})
        for bad in (["--operands", "generate:7:odd", "--size", "3x5x4"], ["--operands", "generate:7:normal"], []):
            with self.assertRaises(SystemExit):
                codes(*bad)

    def test_gemm_digest(self):
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()) as said:
            words = ["gemm", "--dtype", "fp16", "--operands", "generate:1:normal", "--size", "32x48x16"]
            capture_torch.gemm(capture_torch.parse([*words, "-o", f"{folder}/d.npy", "--digest"]), StandIn)
            self.assertEqual(os.listdir(folder), ["d.npy.json"])
            capture_torch.gemm(capture_torch.parse([*words, "-o", f"{folder}/d.npy"]), StandIn)
            d = np.load(f"{folder}/d.npy")
            with open(f"{folder}/d.npy.json", encoding="utf-8") as file:
                self.assertEqual(json.load(file)["d_sha256"], capture_torch.sha256(d))
            self.assertEqual(said.getvalue().split()[0], capture_torch.sha256(d))


if __name__ == "__main__":
    unittest.main()

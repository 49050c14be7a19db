"""Tests record_kernels.py with a library that answers from memory: python3 test_record_kernels.py"""

import ctypes
import json
import tempfile
import unittest

import record_kernels as record


class FakeLibrary:
    """Remembers what it is asked, and splits K of more than 4096 where it is given a workspace."""

    def __init__(self):
        self.descs, self.layouts, self.preferences, self.destroyed = [], [], [], 0
        self.cublasLtGetVersion = lambda: 120803

    def cublasLtCreate(self, handle):
        return 0

    def cublasLtMatmulDescCreate(self, out, compute, scale):
        self.descs.append({"compute": compute.value, "scale": scale.value})
        out._obj.value = len(self.descs)
        return 0

    def cublasLtMatrixLayoutCreate(self, out, kind, rows, columns, leading):
        self.layouts.append((kind.value, rows.value, columns.value, leading.value))
        out._obj.value = len(self.layouts)
        return 0

    def cublasLtMatmulPreferenceCreate(self, out):
        self.preferences.append({})
        out._obj.value = len(self.preferences)
        return 0

    def cublasLtMatmulDescSetAttribute(self, desc, attribute, value, size):
        self.descs[-1][attribute.value] = (value._obj.value, size.value)
        return 0

    def cublasLtMatmulPreferenceSetAttribute(self, preference, attribute, value, size):
        self.preferences[-1][attribute.value] = value._obj.value
        return 0

    def cublasLtMatmulAlgoGetHeuristic(self, handle, desc, a, b, c, d, preference, wanted, result, count):
        kind, rows, columns, _ = self.layouts[a.value - 1]
        k = rows if self.descs[-1][record.DESC_TRANSA][0] == record.OP_T else columns
        if k == 13:
            count._obj.value = 0
            return 15
        split = k > 4096 and self.preferences[-1][record.PREF_WORKSPACE] > 0
        result._obj.algo.data[0] = 5 if split else 1
        count._obj.value = 1
        return 0

    def cublasLtMatmulAlgoConfigGetAttribute(self, algo, attribute, value, size, written):
        splits = algo._obj.data[0]
        width = 2 if attribute.value in (7, 8) else 4
        if size.value != width:
            return 7
        answers = {0: 66, 1: 20, 2: splits, 3: 2 if splits > 1 else 0, 4: 0, 5: 3, 6: 36, 7: 0, 8: 3}
        value._obj.value = answers[attribute.value]
        return 0

    def cublasLtMatrixLayoutDestroy(self, layout):
        self.destroyed += 1

    cublasLtMatmulDescDestroy = cublasLtMatmulPreferenceDestroy = cublasLtMatrixLayoutDestroy


FACTS = {"gpu": "NVIDIA H100 PCIe", "capability": "9.0", "multiprocessors": 114}


def recorded(*words):
    library = FakeLibrary()
    options = record.parse([*words, "-o", "unused.json"])
    said = []
    return library, record.record(record.Lt(library), options, FACTS, said.append), said


class Records(unittest.TestCase):
    def test_a_table(self):
        words = "--shape 64x128x8192 --dtype e4m3 --d-dtype bf16 --workspace 0 --workspace 1048576 --accumulation fast"
        library, table, _ = recorded(*words.split())
        self.assertEqual(table["schema"], "tcverify.kernel-table/1")
        self.assertEqual(table["library"]["version"], "12.8.3")
        none, some = table["entries"]
        self.assertEqual((none["workspace"], none["configuration"]["split_k"]), (0, 1))
        self.assertEqual((some["workspace"], some["configuration"]["split_k"]), (1 << 20, 5))
        self.assertEqual(some["configuration"]["reduction"], 2)
        self.assertEqual((some["m"], some["n"], some["k"]), (64, 128, 8192))
        self.assertTrue(some["fast_accumulation"])
        self.assertEqual(library.descs[0][record.DESC_FAST_ACCUM], (1, 1))
        self.assertEqual(library.destroyed, 2 * 6)

    def test_the_library_sees_the_product_column_major(self):
        library, _, _ = recorded(*"--shape 3x5x7 --dtype bf16 --d-dtype fp32".split())
        self.assertEqual(library.layouts, [(14, 5, 7, 5), (14, 7, 3, 7), (0, 5, 3, 5), (0, 5, 3, 5)])
        library, _, _ = recorded(*"--shape 16x32x48 --dtype e4m3 --d-dtype e4m3".split())
        self.assertEqual(library.layouts, [(28, 48, 32, 48), (28, 48, 16, 48), (2, 32, 16, 32), (28, 32, 16, 32)])

    def test_products_without_a_kernel_are_left_out_and_said(self):
        _, table, said = recorded(*"--shape 3x5x13 --shape 3x5x7 --dtype bf16 --d-dtype bf16".split())
        self.assertEqual([entry["k"] for entry in table["entries"]], [7])
        self.assertIn("3x5x13", said[0])

    def test_shapes_from_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("1x2x3\n\n4x5x6\n")
            file.flush()
            options = record.parse(["--shapes", file.name, "--dtype", "fp16", "--d-dtype", "fp16", "-o", "x"])
        self.assertEqual(options.shape, [(1, 2, 3), (4, 5, 6)])

    def test_structures_are_those_of_the_header(self):
        self.assertEqual(ctypes.sizeof(record.Algo), 64)
        self.assertEqual(ctypes.sizeof(record.HeuristicResult), 96)

    def test_the_table_is_json(self):
        _, table, _ = recorded(*"--shape 64x128x8192 --dtype bf16 --d-dtype bf16".split())
        self.assertEqual(json.loads(json.dumps(table)), table)


if __name__ == "__main__":
    unittest.main()

"""Tests what tcverify_screen.py does without PyTorch. SCREEN_FOLDER holds a suite, the right D of its library products
(right/NAME.bin), and operands of 'tcverify generate' (operands.txt); a test of tcverify makes it."""

import hashlib
import io
import os
import sys
import unittest
from contextlib import redirect_stderr, redirect_stdout

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tcverify_screen as screen

FOLDER = os.environ["SCREEN_FOLDER"]


class Word(int):
    """A signed number of 64 bits, as an element of a tensor is one."""

    def __new__(cls, value):
        return int.__new__(cls, screen.signed(int(value)))


def wrapped(name):
    def operation(self, *other):
        return Word(getattr(int, name)(self, *other))

    setattr(Word, name, operation)


for one in "add sub mul and or xor lshift rshift mod floordiv".split():
    wrapped(f"__{one}__")
    wrapped(f"__r{one}__")


def where(condition, yes, no):
    return Word(yes if condition else no)


class StandIn:
    """D from files; `flip` inverts a bit of a byte."""

    def __init__(self, device, flip=None):
        self.index, self.architecture, self.flip = 0, "sm_70", flip
        self.about = {"name": "none", "uuid": None, "driver": None, "multiprocessors": 80, "program": "test"}

    def reason(self, product):
        return None if product["route"] == "library" else "an instruction of its own: screen.cu"

    def rehearse(self, product):
        pass

    def sense(self):
        return 50, 1000

    def compute(self, product):
        with open(f"{FOLDER}/right/{product['name']}.bin", "rb") as file:
            d = bytearray(file.read())
        if self.flip is not None:
            d[self.flip] ^= 4
        return bytes(d)


def run(words, make=StandIn):
    out, said = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(said):
        code = screen.main(words, make)
    return code, out.getvalue(), said.getvalue()


class Operands(unittest.TestCase):
    def test_as_tcverify_generates_them(self):
        count = 0
        with open(f"{FOLDER}/operands.txt", encoding="ascii") as lines:
            for line in lines:
                name, kind, role, seed, file = line.split()
                width = screen.FORMATS[name][4]
                codes = b""
                for index in range(24):
                    code = screen.generate(int(seed), kind, role, name, 6, Word(index), where)
                    codes += (int(code) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
                with open(f"{FOLDER}/{file}", "rb") as npy:
                    self.assertEqual(npy.read()[-24 * width :], codes, line)
                count += 1
        self.assertGreater(count, 150)


class Runs(unittest.TestCase):
    def test_right_and_wrong(self):
        suite, good, bad = (f"{FOLDER}/{name}.json" for name in ("suite", "good", "bad"))
        code, out, said = run([suite, "-o", good])
        self.assertEqual((code, said), (0, ""))
        self.assertTrue(out.startswith("RIGHT  0 of 1 "), out)
        code, out, _ = run([suite, "-o", bad, "--seconds", "0.01"], lambda device: StandIn(device, 0))
        self.assertEqual(code, 1)
        code, _, said = run([suite, "-o", bad])
        self.assertEqual(code, 2)
        self.assertIn("--force", said)

    def test_suites_that_are_none(self):
        with open(f"{FOLDER}/suite.json", "rb") as file:
            text = file.read()
        other = f"{FOLDER}/other.json"
        for changed, words in [
            (text.replace(b'"k":16', b'"k":32', 1), "edited or damaged"),
            (text[: len(text) // 2], "cut short"),
            (text.replace(b"screen-suite/1", b"screen-suite/9", 1), "no tcverify.screen-suite/1"),
        ]:
            with open(other, "wb") as file:
                file.write(changed)
            code, out, said = run([other, "-o", f"{FOLDER}/none.json"])
            self.assertEqual((code, out), (2, ""))
            self.assertIn(words, said)
            self.assertEqual(said.count("\n"), 1)
            self.assertFalse(os.path.exists(f"{FOLDER}/none.json"))

    def test_another_architecture(self):
        def hopper(device):
            machine = StandIn(device)
            machine.architecture = "sm_90"
            return machine

        code, _, said = run([f"{FOLDER}/suite.json", "-o", f"{FOLDER}/none.json"], hopper)
        self.assertEqual(code, 2)
        self.assertIn("the suite is for volta; this device is sm_90", said)


class Commits(unittest.TestCase):
    def test_commits(self):
        commitment = f"{FOLDER}/commitment.json"
        words = ["commit", "--host", "node", "--device", "cuda:0", "--key", f"{FOLDER}/one.pem", "-o", commitment]
        code, out, said = run(words)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(len(out.split()[0]), 64)
        words[-3] = f"{FOLDER}/one.pub.pem"
        code, _, said = run(words)
        self.assertEqual(code, 2)
        self.assertIn("openssl pkey", said)


class Answers(unittest.TestCase):
    def test_answers(self):
        for name, flip in [("answers", None), ("wrong", 0), ("unsigned", None)]:
            results = f"{FOLDER}/{name}.json"
            words = [f"{FOLDER}/challenge.json", "--host", "node", "-o", results]
            code, out, said = run(words, lambda device, flip=flip: StandIn(device, flip))
            self.assertEqual((code, said), (0, ""))
            self.assertTrue(out.startswith("ANSWERED  "), out)
            self.assertFalse(os.path.exists(results + ".cases"))
            if name != "unsigned":
                code, _, said = run(["sign", results, "--key", f"{FOLDER}/one.pem", "--commitment", f"{FOLDER}/commitment.json"])
                self.assertEqual((code, said), (0, ""))


class Stored(unittest.TestCase):
    def test_operands_of_a_recorded_suite(self):
        header = b"{'descr': '<V2', 'fortran_order': False, 'shape': (1, 2), }"
        data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\1\2\3\4"
        name = f"operands/{hashlib.sha256(data).hexdigest()}.npy"
        os.makedirs(f"{FOLDER}/operands", exist_ok=True)
        with open(f"{FOLDER}/{name}", "wb") as file:
            file.write(data)
        self.assertEqual(screen.stored(FOLDER, name, set()), ((1, 2), b"\1\2\3\4"))
        with open(f"{FOLDER}/{name}", "ab") as file:
            file.write(b"\0")
        for text in [name, "/etc/passwd", f"../{name}", "../" + name.partition("/")[2]]:
            with self.assertRaises(screen.Fault, msg=text):
                screen.stored(FOLDER, text, set())


if __name__ == "__main__":
    unittest.main()

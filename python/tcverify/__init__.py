"""Did this GPU really compute this matrix product?

``check`` replays D = A*B + C on the CPU through a bit-exact model of a tensor core and compares every bit with a
captured D. ``replay`` computes that D, ``plan`` says by which rule. ``tcverify.testing`` has assertions for pytest, ``tcverify.torch`` records the
products of a model and runs one as a GPU would.
"""

from tcverify._arrays import ArrayLike
from tcverify._batch import Batch, Case
from tcverify._commands import Done, command, ops, schedules, verify_report
from tcverify._compare import compare
from tcverify._coverage import Coverage, NotRecordedError
from tcverify._documents import Commitment, Compared, Explanation, Fit, Identification, Opening, Plan, Proven
from tcverify._errors import CheckError, DifferentError, NoModelError, NotCommittedError
from tcverify._functions import Arch, archs, batch, check, commit, digest, explain, identify, open as open, plan, replay, verify
from tcverify._groups import Region, Sample, Schedule
from tcverify._operation import OperationReport, check_operation, replay_operation
from tcverify._recorder import Captured
from tcverify._report import Cause, Check, Model, Product, Report
from tcverify._request import CheckFields
from tcverify._tcverify import __version__

#: ``tcverify.open`` is none of them: ``import *`` would put it in the place of Python's.
__all__ = [
    "Arch",
    "ArrayLike",
    "Batch",
    "Captured",
    "Case",
    "Cause",
    "Check",
    "CheckError",
    "CheckFields",
    "Commitment",
    "Compared",
    "Coverage",
    "DifferentError",
    "Done",
    "Explanation",
    "Fit",
    "Identification",
    "Model",
    "NoModelError",
    "NotCommittedError",
    "NotRecordedError",
    "Opening",
    "OperationReport",
    "Plan",
    "Product",
    "Proven",
    "Region",
    "Report",
    "Sample",
    "Schedule",
    "__version__",
    "archs",
    "batch",
    "check",
    "check_operation",
    "command",
    "commit",
    "compare",
    "digest",
    "explain",
    "identify",
    "ops",
    "plan",
    "replay",
    "replay_operation",
    "schedules",
    "verify",
    "verify_report",
]

for _name in (*__all__, "open"):
    # Tracebacks and documents call them as users do.
    if getattr(globals()[_name], "__module__", "").startswith("tcverify._"):
        globals()[_name].__module__ = "tcverify"

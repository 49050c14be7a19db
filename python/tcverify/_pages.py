"""A batch in the cell of a notebook: no script, and nothing that is loaded."""

from __future__ import annotations

import html

from tcverify._report import Batch, Case

_STYLE = """\
.tcverify-batch{all:initial;display:block;color-scheme:light;background:#fff;color:#17202e;padding:12px 16px;\
border:1px solid #dbe1ea;border-radius:8px;max-width:64em;overflow-x:auto;\
font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif}
.tcverify-batch .t{font-size:19px;font-weight:650;margin-bottom:6px}
.tcverify-batch table{border-collapse:collapse;font-size:13.5px;width:100%}
.tcverify-batch th,.tcverify-batch td{text-align:left;padding:3px 14px 3px 0;border-top:1px solid #eef1f6;vertical-align:top}
.tcverify-batch th{color:#536074;font-weight:400;border-top:0}
.tcverify-batch .identical{color:#0a6f38}.tcverify-batch .identical_in_part{color:#7a5200}
.tcverify-batch .different,.tcverify-batch .unjudged{color:#a81f18}
.tcverify-batch td.v{font-weight:600}"""


def _row(case: Case) -> str:
    summary, document = case.summary, case.document
    word: str
    lines: list[str | None]
    if summary is None or document is None:
        word, lines = case.verdict, [case.error]
    else:
        word, lines = summary["title"] or "", [summary["sentence"], summary["model"], summary["product"]]
        lines += [cause["sentence"] for cause in document["causes"][:1]]
    said = "<br>".join(html.escape(line or "") for line in lines)
    return (
        f'<tr><td class="v {case.verdict}">{html.escape(word)}</td><td>{html.escape(case.name)}</td><td>{said}</td></tr>\n'
    )


def table(batch: Batch) -> str:
    """The verdicts on all cases."""
    totals = batch.totals
    counts = ", ".join(
        f"{totals[name]} {name.replace('_', ' ')}"
        for name in ("unjudged", "different", "identical_in_part", "identical")
        if totals[name]
    )
    rows = "".join(_row(case) for case in batch.cases)
    word = batch.verdict.replace("_", " ").capitalize()
    coverage = batch.coverage
    covered = ""
    if coverage is not None:
        said = [f"{coverage['judged']} of {coverage['seen']} products judged"]
        for one in coverage["left_out"]:
            why = "left out on request" if one["on_request"] else "not recorded"
            where = f" in {one['module']}" if one["module"] else ""
            said.append(f"{why}: {one['op']} x {one['calls']}{where}: {one['why']}")
        covered = "".join(f"<div>{html.escape(line)}</div>\n" for line in said)
    return (
        f'<div class="tcverify-batch"><style>{_STYLE}</style>\n'
        f'<div class="t {batch.verdict}">{word}</div><div>{totals["cases"]} cases: {counts}</div>\n{covered}'
        f"<table><tr><th>verdict</th><th>case</th><th>what came out</th></tr>\n{rows}</table></div>\n"
    )


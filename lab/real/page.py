"""page: the report of a comparison as one self-contained page, with the charts of lab/report/report.html.

Errors   ValueError if the template has no mark
"""
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
TEMPLATE = HERE.parent / "report/report.html"
MARK = "// ---- the page of"


def html(result):
    parts, found, _ = TEMPLATE.read_text(encoding="utf-8").partition(MARK)
    if not found:
        raise ValueError(f"{TEMPLATE} has no line '{MARK}'")
    data = json.dumps(result).replace("</", "<\\/")
    own = (HERE / "page.js").read_text(encoding="utf-8")
    return parts.replace("<title>Wattle bench</title>", "<title>Policies on a real cluster</title>").replace("@DATA@", data) + own + "</script>\n</body>\n</html>\n"

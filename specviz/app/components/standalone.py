"""One self-contained HTML file with the player and a trace in it: for export, offline use, notebooks and tests.

The file may not fetch anything: its own policy forbids it.
"""

from __future__ import annotations

from specviz.app.page.scripts import scripts, styles

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
PAGE = """<!doctype html>
<html lang="en" class="sv-standalone">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>SpecViz: one run, step by step</title>
<style>
{styles}</style>
</head>
<body>
<main><div class="sv-player"></div></main>
<script type="application/json" id="sv-trace">{trace}</script>
<script>
{scripts}</script>
<script>
const trace = document.getElementById("sv-trace").textContent;
SpecViz.mount(document.querySelector("main"), {{ value: trace, badge: true }});
</script>
</body>
</html>
"""


def standalone_html(trace_json: str) -> str:
    """A page that shows the trace. `trace_json` may hold any text: no `<` of it reaches the HTML parser."""
    return PAGE.format(policy=POLICY, styles=styles(), scripts=scripts(), trace=trace_json.replace("<", "\\u003c"))

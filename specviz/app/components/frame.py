"""The frame of a page that stands alone: one run, the player, and nothing to fetch.

Filled by `specviz.app.components.standalone` and, in the browser, by `assets/js/player/share.js`. What stands between
double braces is replaced; the page's own policy forbids every request.
"""

from __future__ import annotations

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
FRAME = f"""<!doctype html>
<html lang="en" class="sv-standalone">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>SpecViz: one run, step by step</title>
<style data-specviz>
{{{{styles}}}}</style>
</head>
<body>
<main><div class="sv-player"></div></main>
<script type="application/json" id="sv-trace">{{{{trace}}}}</script>
<script type="application/json" id="sv-moment">{{{{moment}}}}</script>
<script type="application/json" id="sv-lesson">{{{{lesson}}}}</script>
<script data-specviz>
{{{{scripts}}}}</script>
<script>
SpecViz.standAlone(document);
</script>
</body>
</html>
"""

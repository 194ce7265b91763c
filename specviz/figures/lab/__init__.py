"""The charts of the lab: one module per chart, each from sweep points to a Plotly figure; `charts.py` lists them."""

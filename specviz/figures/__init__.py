"""From a view model to a picture: Plotly figures and small SVG strings. Reads `views`, never a trace or a model."""

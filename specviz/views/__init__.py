"""From traces and measurements to plain data that a picture can draw. Knows nothing about plotly, gradio or torch."""

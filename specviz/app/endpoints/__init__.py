"""The page for programs: named endpoints for `gradio_client`, which are MCP tools where that extra is installed."""

"""Speed against plain decoding and against transformers: what `specviz bench` measures by itself."""

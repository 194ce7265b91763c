"""How much of a draft was accepted, of any engine: counts alone, in the field names of vLLM, SGLang and AIPerf."""

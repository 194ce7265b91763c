"""Records as the engines document them; numbers are those of vLLM's documentation where it gives some."""

from typing import Any


def vllm(**changes: Any) -> dict[str, Any]:
    told = {
        "mean_acceptance_length": 1.2325581395348837,
        "draft_acceptance_rate": 0.07751937984496124,
        "acceptance_histogram": [39, 1, 0, 3],
        "acceptance_histogram_by_draft_length": {"3": [39, 1, 0, 3]},
        "num_spec_steps": 43,
        "num_accepted_draft_tokens": 10,
        "num_draft_tokens": 129,
        "num_spec_tokens": 3,
        **changes,
    }
    return {"choices": [], "usage": {"completion_tokens": 53}, "metrics": {"speculative_decoding": told}}


def sglang(**changes: Any) -> dict[str, Any]:
    meta = {
        "completion_tokens": 12,
        "spec_verify_ct": 5,
        "spec_accept_rate": 0.4,
        "spec_accept_length": 2.4,
        "spec_num_correct_drafts": 6,
        "spec_num_proposed_drafts": 15,
        "spec_correct_drafts_histogram": [1, 3, 0, 1],
        **changes,
    }
    return {"text": "…", "meta_info": meta}


def aiperf(**changes: Any) -> dict[str, Any]:
    told = {
        "engine": "vllm",
        "mean_acceptance_length": 3.0,
        "draft_acceptance_rate": 0.5,
        "acceptance_histogram": {"0": 1, "4": 1},
        "num_accepted_draft_tokens": 4,
        "num_draft_tokens": 8,
        "num_spec_steps": 2,
        "num_spec_tokens": 4,
        **changes,
    }
    return {"metadata": {}, "metrics": {}, "spec_decode_acceptance": told}

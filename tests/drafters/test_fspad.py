"""FSPAD-style: both ideas do what they say, and without them it is EAGLE-1."""

import pytest
import torch

from specviz.core.draws import Chooser
from specviz.drafters.eagle import EagleModule
from specviz.drafters.fspad import FspadModule, FspadShape
from specviz.drafters.learned.eagle_network import EagleShape, LeanTrunk
from specviz.drafters.learned.module import TargetParts, fresh
from specviz.errors import OptionError
from specviz.proof.small_models import small_pair
from tests.drafters.asking import batch_of
from tests.drafters.test_eagle import TARGET_SHAPE, by_compiled_code, in_both_formats, text


@pytest.fixture(scope="module")
def target():
    return small_pair(shape=TARGET_SHAPE)[0]


def learn(module, batch):
    """Its loss, and every weight's gradient."""
    terms = module.loss(batch)
    sum(terms.values()).backward()
    return {name: float(one.detach()) for name, one in terms.items()}, dict(module.named_parameters())


def test_with_both_ideas_off_it_is_eagle_1(target):
    parts, batch = TargetParts.of(target), batch_of(target, text(14), (3,))
    plain = fresh(EagleModule, parts, EagleShape(unroll=1))
    corner = fresh(FspadModule, parts, FspadShape(sampling=1, alignment=1.0, beside=0.0))
    (wanted, own), (found, other) = learn(plain, batch), learn(corner, batch)
    assert found == wanted
    assert own.keys() == other.keys()
    for name, one in own.items():
        assert torch.equal(one, other[name]), name
        assert torch.equal(one.grad, other[name].grad), name
    for one, two in zip(plain.drafts(batch, 3), corner.drafts(batch, 3), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("changes", [{"sampling": 2}, {"beside": 0.25}])
def test_either_idea_changes_the_network(target, changes):
    parts, batch = TargetParts.of(target), batch_of(target, text(14), (3,))
    off = {"sampling": 1, "alignment": 1.0, "beside": 0.0}
    plain, other = (fresh(FspadModule, parts, FspadShape(**{**off, **one})) for one in ({}, changes))
    assert not torch.allclose(plain.drafts(batch, 1)[0], other.drafts(batch, 1)[0])


def test_alignment_scales_what_the_token_loss_does_to_the_state_and_to_nothing_else(target):
    """The loss's value stays; its gradient at the state is β of the whole one, at the outputs beside it all."""
    parts, batch = TargetParts.of(target), batch_of(target, text(14), (3,))
    slopes = {}
    for share in (1.0, 0.25):
        module = fresh(FspadModule, parts, FspadShape(alignment=share, feature_weight=0.0))
        out = module.unroll(batch, 1)[0].detach().requires_grad_()
        expected, counts = module._expected_rows(batch.target_logits(module.head))
        loss = module._token_loss(module.read(module.aligned(out)), expected[:, 1:], counts)
        loss.backward()
        slopes[share] = float(loss.detach()), out.grad[..., :24], out.grad[..., 24:]
    assert slopes[1.0][0] == pytest.approx(slopes[0.25][0], rel=1e-6)
    torch.testing.assert_close(slopes[0.25][1], 0.25 * slopes[1.0][1])
    torch.testing.assert_close(slopes[0.25][2], slopes[1.0][2])


@torch.inference_mode()
def test_a_draft_row_by_row_is_what_training_unrolls(target):
    module = fresh(FspadModule, TargetParts.of(target), FspadShape())
    tokens = text(10)
    batch = batch_of(target, tokens, (3,))
    wanted, lean, cache = module.drafts(batch, 3), module.lean(), module.lean().new_cache()
    out = lean.run(tokens[1:8], lean.state_of(batch.features[0])[:7], cache)
    torch.testing.assert_close(lean.logits(out), wanted[0][0, :7], rtol=1e-4, atol=1e-4)
    for step in (1, 2):
        out = lean.run([tokens[7 + step]], out[-1:, :24], cache)
        torch.testing.assert_close(lean.logits(out)[0], wanted[step][0, 6], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
@by_compiled_code
@in_both_formats
@pytest.mark.parametrize("changes", [{}, {"sampling": 1}, {"beside": 0.0}], ids=["both ideas", "one", "the other"])
def test_a_chain_by_one_call_is_the_one_row_by_row_bit_for_bit(target, changes, dtype):
    module = fresh(FspadModule, TargetParts.of(target), FspadShape(**changes))
    tokens = text(4)
    states = module.lean().state_of(batch_of(target, tokens, (3,)).features[0])[:3]
    lean = LeanTrunk(module.to(dtype))
    cache, other = lean.new_cache(), lean.new_cache()
    chain = lean.block.write_chain(tokens[1:], states, cache, Chooser.of(3))
    out, row = lean.run(tokens[1:], states, other)[-1:], 2
    for logits, token in zip(chain.logits, chain.tokens, strict=True):
        assert torch.equal(logits[None], lean.logits(out))
        assert token == int(logits.argmax())
        out, row = lean.run([token], out[:, :24], other, [row]), row + 1


def test_feature_sampling_has_no_place_in_eagle_3s_wiring():
    with pytest.raises(OptionError, match="feature sampling replaces EAGLE-1's join"):
        FspadShape(wiring="eagle3")

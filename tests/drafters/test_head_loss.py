"""The normaliser taken a few rows at a time is logsumexp, and so is its gradient."""

import pytest
import torch

from specviz.drafters.learned.eagle_layers import ROWS, log_normaliser


@pytest.mark.parametrize("rows", [1, ROWS, ROWS + 1, 3 * ROWS - 1])
def test_value_and_gradient_are_those_of_logsumexp(rows):
    draw = torch.Generator().manual_seed(rows)
    weight, weights = torch.randn(50, 8, generator=draw), torch.rand(2, rows, generator=draw)
    own, other = (torch.randn(2, rows, 8, generator=draw.manual_seed(1)).requires_grad_() for _ in range(2))
    found, wanted = log_normaliser(own, weight), (other @ weight.T).logsumexp(-1)
    torch.testing.assert_close(found, wanted)
    (found * weights).sum().backward()
    (wanted * weights).sum().backward()
    torch.testing.assert_close(own.grad, other.grad)


def test_large_logits_do_not_overflow():
    found = log_normaliser(torch.full((1, 1), 1000.0), torch.tensor([[1.0], [0.999]]))
    assert found.item() == pytest.approx(1000.0 + 0.31326, rel=1e-5)

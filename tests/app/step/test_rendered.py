"""What the target will read, shown before a run: escaped, in a fold, and a sentence where it has no template."""

import pytest

from specviz.app.form.request import Limits
from specviz.app.runs.gallery import gallery
from specviz.app.step.actions import StepActions
from specviz.errors import PromptError
from tests.app.doubles import ReplaySource, sample


class Instruct(ReplaySource):
    """Its `target` has a template, its `drafter` none."""

    def rendered(self, request):
        if request.target != "target":
            raise PromptError(f"{request.target} has no chat template: it is no instruct model; leave chat off.")
        return f"<|user|>\n{request.prompt}\n<|assistant|>\n"


@pytest.fixture
def actions(tmp_path):
    return StepActions(Instruct(sample()), gallery(tmp_path), Limits(prompt_chars=30, any_model=False))


def test_the_template_around_the_message_stands_in_a_fold_and_is_escaped(actions):
    page = actions.rendered("<b>Hi</b>", "target", True)
    assert page == (
        '<details class="sv-rendered"><summary>What the target will read (33 characters)</summary>'
        "<pre>&lt;|user|&gt;\n&lt;b&gt;Hi&lt;/b&gt;\n&lt;|assistant|&gt;\n</pre></details>"
    )


def test_a_prompt_that_is_no_message_and_a_source_without_an_engine_show_nothing(actions, tmp_path):
    assert actions.rendered("Hi", "target", False) == ""
    recorded = StepActions(ReplaySource(sample()), gallery(tmp_path), Limits())
    assert recorded.rendered("Hi", "target", True) == ""


def test_no_template_no_such_model_and_too_long_a_message_are_said(actions):
    assert "Drafter has no chat template: it is no instruct model" in actions.rendered("Hi", "drafter", True)
    assert "is not offered here" in actions.rendered("Hi", "/etc", True)
    assert "longer than the 30 characters" in actions.rendered("x" * 31, "target", True)

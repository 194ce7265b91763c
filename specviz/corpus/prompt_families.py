"""The prompt families: what each is called on a page, and one line on what to expect of it and why.

Place in the flow: data for `prompt_set`, whose file carries these lines to the page and the benches.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """One family of prompts; plain English comes first."""

    name: str
    title: str
    expect: str


ENGLISH = (
    Family(
        "story",
        "Story",
        "A short story to its end. Set phrases are easy to guess; where any animal or place could come next, the "
        "drafter guesses and is often rejected.",
    ),
    Family(
        "facts",
        "Facts",
        "An answer in one sentence. The question returns in it, which any drafter can copy; the one new word, a "
        "capital say, must be known, and a small drafter often does not know it.",
    ),
    Family(
        "sums",
        "Sums",
        "A sum, at once or digit by digit. The form is certain and the digits are not: a drafter that cannot add is "
        "rejected exactly there.",
    ),
    Family(
        "letter",
        "Letter",
        "A letter from its greeting to its name. Phrases are set; the thing and the day must be carried through it.",
    ),
    Family(
        "copy",
        "Copy",
        "A sentence to be written again. All of it stands in the prompt, so drafters that look text up draft long "
        "runs that are accepted.",
    ),
    Family(
        "table",
        "Table",
        "A question about a small table. Names and columns repeat, so lookup helps; the right cell must be found.",
    ),
    Family(
        "recipe",
        "Recipe",
        "Numbered steps. Numbers, line ends and set phrases are nearly certain; what is cut or stirred is not.",
    ),
    Family(
        "talk",
        "Talk",
        "Small talk. Polite phrases are known by heart, so even a weak drafter has many tokens accepted.",
    ),
)
PYTHON = (
    Family(
        "code",
        "Python code",
        "A function to go on with. Names that were used before return; the target writes Python's form, not its sense.",
    ),
    Family(
        "prose",
        "Python prose",
        "Reference text about Python. Ordinary words in long sentences: few certain tokens, so short drafts pay best.",
    ),
    Family(
        "code-copy",
        "Python, repeated",
        "Code whose beginning has just been repeated. Lookup finds the rest of it in the prompt.",
    ),
    Family(
        "code-table", "Python tables", "Entries of one form under each other. The form is certain, the names are not."
    ),
    Family("tests", "Python tests", "Unit tests. Line after line has the same beginning, which any drafter can copy."),
)
FAMILIES = (*ENGLISH, *PYTHON)

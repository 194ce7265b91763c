"""The page's own QR codes, module by module against an independent encoder."""

import json
from pathlib import Path

import pytest
import qrcode
from qrcode.constants import ERROR_CORRECT_M
from qrcode.util import MODE_8BIT_BYTE, QRData

from tests.js.node import run

SCRIPT = """
const { S } = require("./tests/js/load.js");
const asked = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
const rows = (code) => code && code.map((row) => row.map(Number).join("")).join("/");
console.log(JSON.stringify(asked.map(([text, mask]) => rows(S.qrCode(text, mask)))));
"""
FULL = (14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331, 362, 412, 450, 504, 560, 624, 666, 711, 779, 857,
        911, 997, 1059, 1125, 1190, 1264, 1370, 1452, 1538, 1628, 1722, 1809, 1911, 1989, 2099, 2213, 2331)  # fmt: skip
"""bytes that fill a code of each version at level M (ISO/IEC 18004, table 7)"""


def drawn(asked: list[tuple[str, int | None]], folder: Path) -> list[str | None]:
    file = folder / "draw.js"
    file.write_text(SCRIPT.replace("./tests", str(Path(__file__).parents[1])), encoding="utf-8")
    done = run(str(file), stdin=json.dumps(asked))
    assert done.returncode == 0, done.stderr
    found: list[str | None] = json.loads(done.stdout)
    return found


def expected(text: str, mask: int) -> str:
    code = qrcode.QRCode(error_correction=ERROR_CORRECT_M, mask_pattern=mask, border=0)
    code.add_data(QRData(text.encode(), mode=MODE_8BIT_BYTE), optimize=0)
    code.make(fit=True)
    return "/".join("".join(str(int(bool(on))) for on in row) for row in code.modules)


def test_every_version_and_every_mask_is_as_another_encoder_draws_it(tmp_path: Path) -> None:
    lengths = [1, *(size + change for size in FULL[:-1] for change in (0, 1)), FULL[-1]]
    asked: list[tuple[str, int | None]] = [("x" * length, number % 8) for number, length in enumerate(lengths)]
    asked += [("https://example.org/#run=ä🌳", mask) for mask in range(8)]
    for (text, mask), found in zip(asked, drawn(asked, tmp_path), strict=True):
        assert found == expected(text, mask), (len(text), mask)


@pytest.mark.parametrize("text", ["x", "https://example.org/#round=5&beat=3&node=2"])
def test_the_best_mask_is_one_of_the_eight(tmp_path: Path, text: str) -> None:
    best, *all_of_them = drawn([(text, None), *((text, mask) for mask in range(8))], tmp_path)
    assert best in all_of_them


def test_what_fits_no_code_is_none(tmp_path: Path) -> None:
    assert drawn([("x" * 2332, None)], tmp_path) == [None]

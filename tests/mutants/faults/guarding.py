"""Faults of what keeps a page safe: files that lie about their size, damaged ones, events that anybody posts."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

MODULE_FILES = "tests/drafters/test_module_files.py"
DOOR = "tests/app/page/test_door.py"
GUARDED = "tests/app/page/test_guarded.py"
SERVED = "tests/cli/test_app.py"
DAMAGED = "tests/app/test_damaged_assets.py"
DATASTORE = "tests/datastore/test_datastore.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "Space: models that the kind names are not downloaded when it is built",
        "specviz/app/page/settings.py",
        'names = [*(model.name for model in _models_of(chosen["tier"], "")), *chosen.get("preload", ())]',
        'names = [*(model.name for model in _models_of(chosen["tier"], ""))]',
        ("tests/cli/test_space.py",),
    ),
    Fault(
        "Space: a model of which the hub has brought a part counts as whole",
        "specviz/lm/fetched.py",
        "return paths[0].parent if len(paths) == len(NEEDED) else None",
        "return paths[0].parent if paths else None",
        ("tests/live/test_catalog.py",),
    ),
    Fault(
        "stored weights: shapes are not compared before they are multiplied",
        "specviz/drafters/learned/weights.py",
        "if tensor.shape != expected.shape:",
        "if tensor.ndim != expected.ndim:",
        (MODULE_FILES,),
    ),
    Fault(
        "stored weights: a packed file is unpacked to its end",
        "specviz/drafters/learned/weights.py",
        "unpacker.decompress(raw, most + 1)",
        "unpacker.decompress(raw, -1)",
        (MODULE_FILES,),
    ),
    Fault(
        "modules: a card may ask for any size",
        "specviz/drafters/learned/module.py",
        "if numbers > most:",
        "if numbers > most**2:",
        (MODULE_FILES,),
    ),
    Fault(
        "options: an integer may have any number of digits",
        "specviz/options.py",
        "check_range(description.name, -LARGEST_INTEGER, LARGEST_INTEGER, number)",
        "check_range(description.name, None, None, number)",
        ("tests/test_options.py",),
    ),
    Fault(
        "page: a tier alone does not make it public",
        "specviz/app/page/settings.py",
        'bool(environment.get("SPECVIZ_TIER")) or not',
        "not",
        (SERVED,),
    ),
    Fault(
        "page: visitors of an open address are trusted",
        "specviz/cli/commands/app.py",
        "trust_visitors or not is_public(host)",
        "trust_visitors or not is_public()",
        (SERVED,),
    ),
    Fault(
        "page: what waits can be posted past the queue",
        "specviz/app/page/build.py",
        "demo.api_open = False",
        "demo.api_open = True",
        (DOOR,),
    ),
    Fault(
        "door: true is the event number 1",
        "specviz/app/page/door.py",
        "if type(number) is not int or number not in functions:",
        "if number not in functions:",
        (DOOR,),
    ),
    Fault(
        "guarded: true is a number",
        "specviz/app/page/door.py",
        "isinstance(value, int | float) and not isinstance(value, bool) and",
        "isinstance(value, int | float) and",
        (GUARDED,),
    ),
    Fault(
        "shipped files: a hash is made and not compared",
        "specviz/resources.py",
        "file_sha256(path) == expected:",
        "file_sha256(path):",
        (DAMAGED,),
    ),
    Fault(
        "datastore: a damaged one of the cache stays",
        "specviz/datastore/retrieval.py",
        'log.warning("%s It is built anew.", error)',
        "raise error",
        (DATASTORE,),
    ),
    Fault(
        "datastore: a flipped bit in its order is not seen",
        "specviz/datastore/store.py",
        'head.get("order", order) == order',
        'len(head.get("order", order)) == len(order)',
        (DATASTORE,),
    ),
    Fault(
        "fetched: a file with another checksum is taken",
        "specviz/lm/fetched.py",
        "if file_sha256(partial) != model.sha256:",
        "if not file_sha256(partial):",
        ("tests/lm/test_fetched.py",),
    ),
    Fault(
        "fetched: what was there before a stop is fetched again",
        "specviz/lm/fetched.py",
        "have = partial.stat().st_size if partial.exists() else 0",
        "have = 0",
        ("tests/lm/test_fetched.py",),
    ),
    Fault(
        "fetched: a server that falls silent half-way is told as a full disk",
        "specviz/lm/fetched.py",
        "except (OSError, HTTPException) as error:",
        "except HTTPException as error:",
        ("tests/lm/test_fetched.py",),
    ),
    Fault(
        "fetched: what a server sent before it hung up is taken for another file and thrown away",
        "specviz/lm/fetched.py",
        "if file.tell() < total:",
        "if file.tell() < 0:",
        ("tests/lm/test_fetched.py",),
    ),
    Fault(
        "GGUF: rows of a head stay in pairs",
        "specviz/lm/gguf.py",
        "return pairs.transpose(1, 2).reshape(rows.shape)",
        "return pairs.reshape(rows.shape)",
        ("tests/lm/test_gguf.py",),
    ),
    Fault(
        "GGUF: a file of plain numbers is said to be unpacked",
        "specviz/lm/place.py",
        "if stored and stored not in STORED else kept",
        "if stored else kept",
        ("tests/lm/test_gguf.py",),
    ),
)

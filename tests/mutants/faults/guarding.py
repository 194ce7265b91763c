"""Faults of what keeps a page safe: files that lie about their size, damaged ones, events that anybody posts."""

from tests.mutants.faults.fault import Edits, edit

MODULE_FILES = "tests/drafters/test_module_files.py"
REFUSED = "tests/drafters/test_refused_module_files.py"
DOOR = "tests/app/page/test_door.py"
GUARDED = "tests/app/page/test_guarded.py"
SERVED = "tests/cli/test_app.py"
DAMAGED = "tests/app/test_damaged_assets.py"
DATASTORE = "tests/datastore/test_datastore.py"

FAULTS: Edits = {
    ("specviz/app/page/settings.py", "tests/cli/test_space.py"): {
        "Space: models that the kind names are not downloaded when it is built": edit(
            'names = [*(model.name for model in _models_of(chosen["tier"], "")), *chosen.get("preload", ())]',
            'names = [*(model.name for model in _models_of(chosen["tier"], ""))]',
        )
    },
    ("specviz/lm/fetched.py", "tests/live/test_catalog.py"): {
        "Space: a model of which the hub has brought a part counts as whole": edit(
            "return paths[0].parent if len(paths) == len(NEEDED) else None", "return paths[0].parent if paths else None"
        )
    },
    ("specviz/drafters/learned/eight_bits.py", MODULE_FILES): {
        "stored weights: what a base holds is read as if it were no difference": edit(
            "written[name] = tensor + base[name] if both else tensor", "written[name] = tensor"
        ),
    },
    ("specviz/drafters/learned/eight_bits.py", REFUSED): {
        "stored weights: shapes are not compared before they are multiplied": edit(
            "if tensor.shape != expected.shape:", "if tensor.ndim != expected.ndim:"
        ),
        "stored weights: a packed file is unpacked to its end": edit(
            "unpacker.decompress(raw, most + 1)", "unpacker.decompress(raw, -1)"
        ),
    },
    ("specviz/drafters/learned/module.py", REFUSED): {
        "modules: a card may ask for any size": edit("if numbers > most:", "if numbers > most**2:")
    },
    ("specviz/options.py", "tests/test_options.py"): {
        "options: an integer may have any number of digits": edit(
            "check_range(description.name, -LARGEST_INTEGER, LARGEST_INTEGER, number)",
            "check_range(description.name, None, None, number)",
        )
    },
    ("specviz/app/page/settings.py", SERVED): {
        "page: a tier alone does not make it public": edit('bool(environment.get("SPECVIZ_TIER")) or not', "not")
    },
    ("specviz/cli/commands/app.py", SERVED): {
        "page: visitors of an open address are trusted": edit(
            "trust_visitors or not is_public(host)", "trust_visitors or not is_public()"
        )
    },
    ("specviz/app/page/build.py", DOOR): {
        "page: what waits can be posted past the queue": edit("demo.api_open = False", "demo.api_open = True")
    },
    ("specviz/app/page/door.py", DOOR): {
        "door: true is the event number 1": edit(
            "if type(number) is not int or number not in functions:", "if number not in functions:"
        )
    },
    ("specviz/app/page/door.py", GUARDED): {
        "guarded: true is a number": edit(
            "isinstance(value, int | float) and not isinstance(value, bool) and", "isinstance(value, int | float) and"
        )
    },
    ("specviz/resources.py", DAMAGED): {
        "shipped files: a hash is made and not compared": edit("file_sha256(path) == expected:", "file_sha256(path):")
    },
    ("specviz/datastore/retrieval.py", DATASTORE): {
        "datastore: a damaged one of the cache stays": edit('log.warning("%s It is built anew.", error)', "raise error")
    },
    ("specviz/datastore/store.py", DATASTORE): {
        "datastore: a flipped bit in its order is not seen": edit(
            'head.get("order", order) == order', 'len(head.get("order", order)) == len(order)'
        )
    },
    ("specviz/lm/fetched.py", "tests/lm/test_fetched.py"): {
        "fetched: a file with another checksum is taken": edit(
            "if file_sha256(partial) != model.sha256:", "if not file_sha256(partial):"
        ),
        "fetched: what was there before a stop is fetched again": edit(
            "have = partial.stat().st_size if partial.exists() else 0", "have = 0"
        ),
        "fetched: a server that falls silent half-way is told as a full disk": edit(
            "except (OSError, HTTPException) as error:", "except HTTPException as error:"
        ),
        "fetched: what a server sent before it hung up is taken for another file and thrown away": edit(
            "if file.tell() < total:", "if file.tell() < 0:"
        ),
    },
    ("specviz/lm/gguf.py", "tests/lm/test_gguf.py"): {
        "GGUF: rows of a head stay in pairs": edit(
            "return pairs.transpose(1, 2).reshape(rows.shape)", "return pairs.reshape(rows.shape)"
        )
    },
    ("specviz/lm/place.py", "tests/lm/test_gguf.py"): {
        "GGUF: a file of plain numbers is said to be unpacked": edit(
            "if stored and stored not in STORED else kept", "if stored else kept"
        )
    },
}

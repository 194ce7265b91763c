"""Faults of a served page: who fills it, what goes on unheard, what stays."""

from tests.mutants.faults.fault import SCRIPTS, Edits, edit

QUEUE = "tests/app/page/test_queue.py"
NETWORK = "tests/app/page/test_network.py"
JOBS = "tests/app/form/test_jobs.py"
UPLOADED = "tests/app/page/test_uploaded.py"
SCRATCH = "tests/test_scratch.py"
DOCUMENT = "tests/app/page/test_document.py"
LINKS = "tests/app/step/test_links.py"
TRAIN = "tests/app/train/test_train.py"
ANALYSIS = "tests/app/analysis/test_analysis_tab.py"

FAULTS: Edits = {
    ("specviz/app/page/queue.py", QUEUE): {
        "queue: what nobody comes to hear goes on": edit("> UNHEARD_S:", "> 1e9:"),
        "queue: a waiting session's next job waits too": edit(
            "own >= OWN_OF.get(fn.concurrency_id, OWN) + free", "own > OWN_OF.get(fn.concurrency_id, OWN) + free"
        ),
        "queue: networks take no turns": edit("self._turns[network] = self._turn", "self._turns[network] = 0"),
        "queue: work does not know its job": edit("CURRENT.set(job)", "CURRENT.get(None)"),
    },
    ("specviz/app/page/queue.py", NETWORK): {
        "network: the first address that the header names counts": edit(
            "(*reversed(named), connected)", "(*named, connected)"
        )
    },
    ("assets/js/page/latest.js", SCRIPTS): {
        "page: each of the controls that change at once asks anew": edit(
            "if (calls.get(event) !== call)", "if (!calls)"
        ),
    },
    ("specviz/app/page/document.py", DOCUMENT): {
        "document: an answer without a body is arranged too": edit(' or scope["method"] != "GET"', ""),
        "document: caches are not told that it comes in several forms": edit(
            'headers.add_vary_header("Accept-Encoding")', "pass"
        ),
        "document: a round that was cut is said to end with the target's token": edit(
            'origin == "draft" else " and', 'origin != "draft" else " and'
        ),
    },
    ("specviz/app/step/links.py", LINKS): {
        "links: a recording that was made again since is shown as the link's": edit(
            "remade = bool(expected) and text_hash", "remade = bool(expected) and not text_hash"
        ),
        "links: a run is made again in this machine's own format": edit(
            "replace(request_from(form, self.step.catalog, limits), dtype=asked.dtype)",
            "request_from(form, self.step.catalog, limits)",
        ),
        "links: a run made again never differs from the link's": edit(
            "same = not expected or text_hash(frame.trace.finished.text) == expected", "same = True"
        ),
        "links: methods come without the pair that has them": edit(
            "if opening is None or request.drafter.name in opening.drafters:", "if opening is None or opening.drafters:"
        ),
        "links: a link of methods fills in its prompt too": edit(
            'for name, value in held.items() if name in methods or "." in name}', "for name, value in held.items()}"
        ),
        "links: a tab has the values of another": edit(
            "renamed(values.get(kept.tab, {}))", "renamed(next(iter(values.values()), {}))"
        ),
        "links: what cannot be run waits all the same": edit(
            'return {message: notices.message(str(error), "error"), self.waiting: None, **self._typed(event)}',
            'return {message: notices.message(str(error), "error"), **self._typed(event)}',
        ),
        "links: a simulated run is drawn with values of no control": edit(
            "tab.simulated(tab.fitting(given) if isinstance(given, dict) else {})", "tab.simulated(given)"
        ),
        "links: a field may be of any type": edit(
            'return value if isinstance(value, str) else ""', 'return str(value or "")'
        ),
    },
    ("specviz/app/job.py", JOBS): {
        "jobs: a visitor's own stop is an error": edit(
            "if not self._event.is_set() and self._job.is_over():", "if self._job.is_over():"
        )
    },
    ("specviz/app/page/sessions.py", UPLOADED): {
        "files: one goes with the first page that closes": edit(
            "if not holders and (holders is not None or", "if len(holders or ()) < 2 and (holders is not None or"
        ),
        "files: what is on its way takes no room": edit(
            "self._arriving[network] = self._arriving.get(network, 0) + size", "self._arriving[network] = 0"
        ),
    },
    ("specviz/scratch.py", SCRATCH): {
        "scratch: a living process's folder is swept": edit(
            "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)", "fcntl.flock(file, fcntl.LOCK_UN)"
        )
    },
    ("specviz/app/train/tab.py", TRAIN): {
        "training: weights stay where nobody listened to its end": edit(
            "or (job is not None and job.is_left()):", "and (job is not None and job.is_left()):"
        ),
        "training: a public page trains for whatever target is named": edit(
            'name = model_of("target", {"target": target}, catalog, self._limits)', "name = target"
        ),
        "training: the real model is trained on the prompt as a text": edit(
            "chat = pair is not None and pair.chat", "chat = False"
        ),
    },
    ("specviz/app/analysis/actions.py", ANALYSIS): {
        "analysis: recorded runs of another pair stand beside those of one": edit(
            "() if counted.of in self._pairs else self.library.recorded()", "self.library.recorded()"
        ),
        "analysis: what a zip unpacks to has no bound": edit("unread -= characters", "unread -= 0"),
        "analysis: it goes on when its visitor has left": edit(
            "            job.check()\n            try:", "            try:"
        ),
    },
    ("specviz/app/page/sessions.py", "tests/app/page/test_sessions.py"): {
        "sessions: what tabs keep of a visitor stays when the state makes room": edit(
            "for session_id in known - self._known:", "for session_id in self._known - known:"
        )
    },
    ("specviz/drafters/learned/weights.py", "tests/drafters/test_module_files.py"): {
        "modules: all that were ever trained are kept": edit(
            "for one in passing[: -_KEPT.get()]:", "for one in passing[:0]:"
        )
    },
    ("specviz/app/step/fetching.py", "tests/app/step/test_fetching.py"): {
        "fetching: strangers are offered to fill the disk": edit(
            "catalog.fetchable if limits.any_model else ()", "catalog.fetchable"
        ),
        "fetching: a page that opens later does not know what has come": edit(
            "gr.Row(visible=lacking)", "gr.Row(visible=True)"
        ),
    },
    ("specviz/app/step/pairs.py", "tests/app/step/test_pairs.py"): {
        "pairs: recorded runs of one are listed under the other's name": edit(
            "return gallery.of((target,) if pair is None else pair.targets)", "return gallery"
        )
    },
    ("specviz/live/catalog.py", "tests/live/test_catalog.py"): {
        "pairs: a real model is offered drafters that were trained for another": edit(
            'if card.get("target_name") == target', "if card"
        )
    },
    ("specviz/app/step/actions.py", "tests/app/step/test_pairs.py"): {
        "pairs: a run of a model that is not here is asked for": edit(
            "return absence(self.catalog, self.source, self.limits, request.target) or self.source.explain(request)",
            "return self.source.explain(request)",
        )
    },
    ("specviz/cli/printed_run.py", "tests/cli/test_printed_run.py"): {
        "chat: a terminal prints the template's own tokens": edit(
            '        if token in self.hidden:\n            return ""\n', ""
        )
    },
    ("specviz/asynchronous/process.py", "tests/asynchronous/test_waiting_process.py"): {
        "drafting process: it waits for good": edit(
            "    waiting.close()\n    if not active_children()", "    if not active_children()"
        )
    },
}

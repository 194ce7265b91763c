"""Faults of a served page: who fills it, what goes on unheard, what stays."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

QUEUE = "tests/app/page/test_queue.py"
NETWORK = "tests/app/page/test_network.py"
JOBS = "tests/app/form/test_jobs.py"
UPLOADED = "tests/app/page/test_uploaded.py"
SCRATCH = "tests/test_scratch.py"
TRAIN = "tests/app/train/test_train.py"
ANALYSIS = "tests/app/analysis/test_analysis_tab.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "queue: what nobody comes to hear goes on",
        "specviz/app/page/queue.py",
        "> UNHEARD_S:",
        "> 1e9:",
        (QUEUE,),
    ),
    Fault(
        "queue: a waiting session's next job waits too",
        "specviz/app/page/queue.py",
        "own >= OWN_OF.get(fn.concurrency_id, OWN) + free",
        "own > OWN_OF.get(fn.concurrency_id, OWN) + free",
        (QUEUE,),
    ),
    Fault(
        "queue: networks take no turns",
        "specviz/app/page/queue.py",
        "self._turns[network] = self._turn",
        "self._turns[network] = 0",
        (QUEUE,),
    ),
    Fault(
        "queue: work does not know its job",
        "specviz/app/page/queue.py",
        "CURRENT.set(job)",
        "CURRENT.get(None)",
        (QUEUE,),
    ),
    Fault(
        "network: the first address that the header names counts",
        "specviz/app/page/queue.py",
        "(*reversed(named), connected)",
        "(*named, connected)",
        (NETWORK,),
    ),
    Fault(
        "jobs: a visitor's own stop is an error",
        "specviz/app/job.py",
        "if not self._event.is_set() and self._job.is_over():",
        "if self._job.is_over():",
        (JOBS,),
    ),
    Fault(
        "files: one goes with the first page that closes",
        "specviz/app/page/sessions.py",
        "if not holders and (holders is not None or",
        "if len(holders or ()) < 2 and (holders is not None or",
        (UPLOADED,),
    ),
    Fault(
        "files: what is on its way takes no room",
        "specviz/app/page/sessions.py",
        "self._arriving[network] = self._arriving.get(network, 0) + size",
        "self._arriving[network] = 0",
        (UPLOADED,),
    ),
    Fault(
        "scratch: a living process's folder is swept",
        "specviz/scratch.py",
        "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "fcntl.flock(file, fcntl.LOCK_UN)",
        (SCRATCH,),
    ),
    Fault(
        "training: weights stay where nobody listened to its end",
        "specviz/app/train/tab.py",
        "or (job is not None and job.is_left()):",
        "and (job is not None and job.is_left()):",
        (TRAIN,),
    ),
    Fault(
        "training: a public page trains for whatever target is named",
        "specviz/app/train/tab.py",
        'name = model_of("target", {"target": target}, catalog, self._limits)',
        "name = target",
        (TRAIN,),
    ),
    Fault(
        "training: the real model is trained on the prompt as a text",
        "specviz/app/train/tab.py",
        "chat = pair is not None and pair.chat",
        "chat = False",
        (TRAIN,),
    ),
    Fault(
        "analysis: recorded runs of another pair stand beside those of one",
        "specviz/app/analysis/actions.py",
        "() if counted.of in self._pairs else self.library.recorded()",
        "self.library.recorded()",
        (ANALYSIS,),
    ),
    Fault(
        "analysis: what a zip unpacks to has no bound",
        "specviz/app/analysis/actions.py",
        "unread -= characters",
        "unread -= 0",
        (ANALYSIS,),
    ),
    Fault(
        "analysis: it goes on when its visitor has left",
        "specviz/app/analysis/actions.py",
        "            job.check()\n            try:",
        "            try:",
        (ANALYSIS,),
    ),
    Fault(
        "sessions: what tabs keep of a visitor stays when the state makes room",
        "specviz/app/page/sessions.py",
        "for session_id in known - self._known:",
        "for session_id in self._known - known:",
        ("tests/app/page/test_sessions.py",),
    ),
    Fault(
        "modules: all that were ever trained are kept",
        "specviz/drafters/learned/weights.py",
        "for one in passing[:-MOST_PASSING]:",
        "for one in passing[:0]:",
        ("tests/drafters/test_module_files.py",),
    ),
    Fault(
        "fetching: strangers are offered to fill the disk",
        "specviz/app/step/fetching.py",
        "catalog.fetchable if limits.any_model else ()",
        "catalog.fetchable",
        ("tests/app/step/test_fetching.py",),
    ),
    Fault(
        "fetching: a page that opens later does not know what has come",
        "specviz/app/step/fetching.py",
        "gr.Row(visible=lacking)",
        "gr.Row(visible=True)",
        ("tests/app/step/test_fetching.py",),
    ),
    Fault(
        "pairs: recorded runs of one are listed under the other's name",
        "specviz/app/step/pairs.py",
        "return gallery.of((target,) if pair is None else pair.targets)",
        "return gallery",
        ("tests/app/step/test_pairs.py",),
    ),
    Fault(
        "pairs: a real model is offered drafters that were trained for another",
        "specviz/live/catalog.py",
        'if card.get("target_name") == target',
        "if card",
        ("tests/live/test_catalog.py",),
    ),
    Fault(
        "pairs: a run of a model that is not here is asked for",
        "specviz/app/step/actions.py",
        "return absence(self.catalog, self.source, self.limits, request.target) or self.source.explain(request)",
        "return self.source.explain(request)",
        ("tests/app/step/test_pairs.py",),
    ),
    Fault(
        "chat: a terminal prints the template's own tokens",
        "specviz/cli/printed_run.py",
        '        if token in self.hidden:\n            return ""\n',
        "",
        ("tests/cli/test_printed_run.py",),
    ),
    Fault(
        "drafting process: it waits for good",
        "specviz/asynchronous/process.py",
        "    waiting.close()\n    if not active_children()",
        "    if not active_children()",
        ("tests/asynchronous/test_waiting_process.py",),
    ),
)

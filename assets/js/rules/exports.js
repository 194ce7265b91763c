/* A round or a run in the formats of other tools, made in the page so that it works without a server. Pure; the same
   as `specviz/trace/exports` and `specviz/trace/exports/tables.py` in Python, which tests hold. */
// needs: bytes, distributions, numbers, timeline
const exports = (function (S) {
  "use strict";

  const CONTROL = /[\u0000-\u001f\u007f\u2028\u2029]/g; // eslint-disable-line no-control-regex

  // --- Markdown ------------------------------------------------------------------------------------------------------

  /** Four decimals, halves up; a dash where there is none. */
  const number = (value) => (value === null || value === undefined ? "–" : value.toFixed(4));

  /** Any text as one code span that no cell of a table and no line can end. */
  function code(text) {
    const shown = text
      .replace(/ /g, "␣")
      .replace(/\n/g, "⏎")
      .replace(/\t/g, "⇥")
      .replace(CONTROL, "\ufffd")
      .replace(/\|/g, "\\|");
    if (!shown) return "(no text)";
    const longest = Math.max(0, ...(shown.match(/`+/g) || []).map((run) => run.length));
    const fence = "`".repeat(longest + 1);
    const space = longest ? " " : "";
    return fence + space + shown + space + fence;
  }

  const PROMPT = 60; // characters of a prompt without a name that are shown
  const BEHIND = "behind the end"; // in place of the fate of what was judged behind the end of the text
  const BELIEVED =
    "p and q are what the models believe before temperature 0, at which the target's first choice decides.";
  const HEAD = ["node", "parent", "token", "fate", "p (target)", "q (draft)", "acceptance probability", "u"];
  /** @param {trace.Trace} trace */
  const textOf = (trace, token) => S.legible(S.tokenBytes(trace, token));
  /** @param {trace.Started} started */
  const methodsOf = (started) =>
    [started.drafter, started.tree_policy, started.stop_policy, started.verifier]
      .filter(Boolean)
      .map((card) => card.name);

  /** The prompt's name in the set, or its end.
      @param {trace.Started} started */
  function promptOf(started) {
    const signs = Array.from(started.prompt_text);
    return started.prompt_name || (signs.length > PROMPT ? "…" : "") + signs.slice(-PROMPT).join("");
  }

  /** A token's probability in a head; what it can have at most where it is not listed. */
  function believed(head, token) {
    if (!head) return number(null);
    const value = S.known(head, token);
    return value === null ? `<${number(S.atMost(head))}` : number(value);
  }

  /** Round `index` as a Markdown table, with the token that ends it.
      @param {trace.Trace} trace */
  function roundTable(trace, index) {
    const { started } = trace;
    const round = trace.rounds[index];
    const trials = new Map(round.judged.trials.map((trial) => [trial.node, trial]));
    const behind = S.behindTheEnd(round);
    const rows = round.nodes.slice(1).map((node) => {
      const trial = trials.get(node.id);
      const parent = round.nodes[node.parent];
      const cold = S.cold(trace, parent);
      return [
        node.id,
        node.parent === 0 ? "root" : node.parent,
        code(textOf(trace, node.token)),
        behind.has(node.id) ? BEHIND : node.fate,
        cold ? believed(parent.target_raw, node.token) : number((trial || node).target_prob),
        cold ? believed(parent.draft_raw, node.token) : number((trial || node).draft_prob),
        number(trial && trial.threshold),
        number(trial && trial.u),
      ];
    });
    const table = [HEAD, HEAD.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);
    const { judged, committed } = round;
    const mass = judged.residual_mass === null ? "" : ` from the residual (mass ${number(judged.residual_mass)})`;
    const drawn = judged.u === null ? "" : `, drawn with u ${number(judged.u)}`;
    const count = committed.tokens.length;
    const { rows: scored } = round.scored.target_pass;
    const made = `${count} token${count === 1 ? "" : "s"} from one target pass over ${scored} rows.`;
    const last = committed.tokens.at(-1);
    const ending = S.endsText(round)
      ? `The text ends with ${code(textOf(trace, last.token))}: what was judged behind it is no text; ${made}`
      : `The round ends with the ${judged.origin} ${code(textOf(trace, judged.token))}${mass}${drawn}; ${made}`;
    return [
      `## Round ${index + 1} of ${trace.rounds.length}`,
      "",
      `Prompt ${code(promptOf(started))}, ${methodsOf(started).join(" + ")}, ` +
        `temperature ${started.sampling.temperature}, seed ${started.seed}; ` +
        `${started.source} run ${started.run_id}.`,
      "",
      ...(rows.length ? table : ["Nothing was drafted."]),
      ...(round.nodes.slice(1).some((node) => S.cold(trace, round.nodes[node.parent])) ? ["", BELIEVED] : []),
      "",
      ending,
      "",
    ].join("\n");
  }

  // --- GraphML -------------------------------------------------------------------------------------------------------

  const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;" };
  const xml = (value) =>
    String(value)
      // eslint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
      .replace(/[&<>"\r]/g, (sign) => ESCAPES[sign]);

  const NODE_KEYS = {
    token: "long", depth: "long", fate: "string", kind: "string", source: "string", x: "double", y: "double",
    text: "string", target_prob: "double", draft_prob: "double",
  }; // prettier-ignore

  /** The round's draft tree as GraphML, for Gephi, yEd, Cytoscape or networkx.
      @param {trace.Trace} trace */
  function treeGraphml(trace, index) {
    const round = trace.rounds[index];
    const keys = Object.entries(NODE_KEYS).map(
      ([name, type]) => `<key id="${name}" for="node" attr.name="${name}" attr.type="${type}"/>`,
    );
    const data = (name, value) =>
      value === null || value === undefined ? "" : `<data key="${name}">${xml(value)}</data>`;
    const nodes = round.nodes.map((node) => {
      const values = { ...node, text: textOf(trace, node.token) };
      return `<node id="${node.id}">${Object.keys(NODE_KEYS)
        .map((name) => data(name, values[name]))
        .join("")}</node>`;
    });
    const order = new Map();
    const edges = round.nodes.slice(1).map((node) => {
      const place = order.get(node.parent) ?? 0;
      order.set(node.parent, place + 1);
      const said = data("order", place) + data("accepted", node.fate === "accepted" ? "True" : "False");
      return `<edge source="${node.parent}" target="${node.id}">${said}</edge>`;
    });
    return [
      '<?xml version="1.0" encoding="utf-8"?>',
      '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
      ...keys,
      '<key id="order" for="edge" attr.name="order" attr.type="long"/>',
      '<key id="accepted" for="edge" attr.name="accepted" attr.type="boolean"/>',
      '<graph edgedefault="directed">',
      ...nodes,
      ...edges,
      "</graph>",
      "</graphml>",
      "",
    ].join("\n");
  }

  // --- Chrome trace events, which Perfetto opens ---

  const PROCESS = 1;
  const LANES = { draft: 1, verify: 2, host: 3 };
  const micro = (seconds) => Math.round(seconds * 1e9) / 1e3; // microseconds, to the nanosecond

  /** @typedef {{ ph: string, name: string, pid: number, tid: number, ts: number, args: object }} Event */

  const slice = (lane, name, start, seconds, args) => ({
    ph: "X",
    name,
    cat: lane,
    pid: PROCESS,
    tid: LANES[lane],
    ts: micro(start),
    dur: micro(seconds),
    args,
  });
  /** @param {View} at */
  const counter = (name, at, value) => ({ ph: "C", name, pid: PROCESS, tid: 0, ts: micro(at), args: { value } });
  const meta = (name, tid, said) => ({ ph: "M", name, pid: PROCESS, tid, ts: 0, args: { name: said } });

  const BESIDE = 4; // thread of the first lane of a drafter that works beside the target

  /** Lane of such a drafter → its thread.
      @param {trace.Trace} trace */
  const lanesBeside = (trace) => {
    const lanes = new Set(trace.rounds.flatMap((round) => (round.drafted.lanes || []).map((one) => one.lane)));
    return new Map([...lanes].map((lane, number) => [lane, BESIDE + number]));
  };

  function laneEvent(one, first, tid) {
    const place = { name: one.what, cat: one.lane, pid: PROCESS, tid, ts: micro(first + one.start_s) };
    const args = { tokens: one.tokens };
    if (one.what === "roll back") return { ph: "i", s: "t", ...place, args };
    return { ph: "X", ...place, dur: micro(one.end_s - one.start_s), args };
  }

  /** Draft, verify and host lanes of a run; counters of cache rows and running acceptance; an instant per rejection. */
  function chromeTrace(trace) {
    const { started, finished } = trace;
    const first = finished.prefill_s;
    /** @type {Event[]} */
    const events = [slice("verify", "prompt", 0, first, { rows: started.prompt_ids.length })];
    const beside = lanesBeside(trace);
    let [drafted, accepted] = [0, 0];
    for (const round of trace.rounds) {
      const begin = first + round.start_s;
      drafted += S.counted(round).length;
      accepted += S.acceptedDrafts(round);
      const phases = [round.drafted, round.scored, round.judged, round.committed];
      const end = begin + phases.reduce((sum, phase) => sum + phase.seconds, 0);
      const spans = (round.drafted.lanes || []).map((one) => laneEvent(one, first, beside.get(one.lane)));
      const rows = counter("cache rows", end, round.committed.cache_kept);
      events.push(...roundEvents(trace, round, begin), ...spans, rows);
      if (drafted) events.push(counter("running acceptance", end, accepted / drafted));
    }
    events.sort((one, other) => one.ts - other.ts);
    const title = `SpecViz: ${started.drafter.name} + ${started.verifier.name}, ${started.source}`;
    return {
      traceEvents: [
        meta("process_name", 0, title),
        ...[...Object.entries(LANES), ...beside].map(([lane, thread]) => meta("thread_name", thread, lane)),
        ...events,
      ],
      displayTimeUnit: "ms",
      otherData: {
        producer: started.producer,
        run_id: started.run_id,
        source: started.source,
        times: started.source === "simulated" ? "modelled" : "measured",
      },
    };
  }

  /** @param {trace.Trace} trace @param {trace.Round} round */
  function roundEvents(trace, round, begin) {
    const at = round.index + 1;
    const events = [];
    const first = S.isBeside(trace.rounds) ? "wait" : "draft"; // for a drafter that drafts meanwhile
    if (round.drafted.seconds > 0)
      events.push(
        slice("draft", `${first} ${at}`, begin, round.drafted.seconds, { candidates: S.drafts(round).length }),
      );
    let now = begin;
    for (const one of round.drafted.passes) {
      events.push(slice("draft", "drafter pass", now, one.seconds, { rows: one.rows, cached: one.cached_rows }));
      now += one.seconds;
    }
    now = begin + round.drafted.seconds;
    const { rows, cached_rows: cached } = round.scored.target_pass;
    events.push(slice("verify", `target pass ${at}`, now, round.scored.seconds, { rows, cached }));
    now += round.scored.seconds;
    events.push(counter("cache rows", now, cached + rows));
    events.push(slice("host", `verdicts ${at}`, now, round.judged.seconds, { accepted: S.acceptedDrafts(round) }));
    now += round.judged.seconds;
    for (const trial of round.judged.trials.filter((one) => !one.accepted)) {
      const node = round.nodes[trial.node];
      events.push({
        ph: "i",
        s: "t",
        name: `rejected ${textOf(trace, node.token)}`,
        cat: "rejection",
        pid: PROCESS,
        tid: LANES.host,
        ts: micro(now),
        args: { node: node.id, depth: node.depth },
      });
    }
    const made = { tokens: round.committed.tokens.length, origin: round.judged.origin };
    events.push(slice("host", `commit ${at}`, now, round.committed.seconds, made));
    return events;
  }

  return { roundTable, treeGraphml, chromeTrace };
})(SpecViz);
Object.assign(SpecViz, exports);

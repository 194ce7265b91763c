/* A trace as a sequence of moments: rounds, and beats within a round. Pure.
   A cursor is {round, beat}; everything shown is a function of the trace, the cursor and the selection. */
// needs: bytes, declared, numbers
/** @typedef {{ phase: "draft" | "target" | "verdicts" | "commit", level?: number, trial?: number,
      drawn?: boolean }} Beat a step within a round */
/** @typedef {string[] & { end: string, after: (node: number) => Uint8Array }} Labels how a round's nodes read; `after`
    are the bytes that a node leaves over */
/** @typedef {Beat & { beat: number, beats: number, level: number, scored: boolean, trials: number, drawn: boolean,
      committed: boolean, veiled?: boolean }} View what is known at a beat */

const state = (function (S) {
  "use strict";

  /** @type {"end"} */
  const END = "end"; // the round's last token, which is no node of the draft tree
  const PHASES = ["draft", "target", "verdicts", "commit"];
  const FORMER = { growth: "tree_policy", stopping: "stop_policy" }; // what `started` called them before format 1.3
  const RENAMED = "1.3";

  /** A trace from its JSON text, those of earlier formats by the names of this one; as `codec.loads` in Python.
      @returns {trace.Trace} */
  function readTrace(text) {
    const trace = JSON.parse(text);
    if (!/^1\.[0-2]$/.test(trace.version)) return trace;
    const started = Object.entries(trace.started).map(([name, value]) => [FORMER[name] ?? name, value]);
    return { ...trace, version: RENAMED, started: Object.fromEntries(started) };
  }

  /** The beats of a round: drafting level by level, one target pass, each trial, the last token, the commit.
      @param {trace.Round} round */
  function beats(round) {
    const deepest = Math.max(...round.nodes.map((node) => node.depth));
    const first = round.drafted.passes.some((pass) => pass.depth !== null && pass.depth !== undefined) ? 1 : deepest;
    /** @type {Beat[]} */
    const list = [];
    for (let level = Math.min(first, deepest); level <= deepest; level++) list.push({ phase: "draft", level });
    list.push({ phase: "target" });
    round.judged.trials.forEach((_, trial) => list.push({ phase: "verdicts", trial }));
    list.push({ phase: "verdicts", drawn: true });
    list.push({ phase: "commit" });
    return list;
  }

  /** What is known at a beat: drafted up to `level`, scored, the first `trials` verdicts, the last token, committed.
      @param {trace.Round} round */
  function view(round, beat) {
    const list = beats(round);
    const at = Math.max(0, Math.min(beat, list.length - 1));
    const now = list[at];
    const past = (phase) => PHASES.indexOf(now.phase) > PHASES.indexOf(phase);
    const total = round.judged.trials.length;
    return {
      ...now,
      beat: at,
      beats: list.length,
      level: now.phase === "draft" ? now.level : Infinity,
      scored: past("draft"),
      trials: now.phase === "verdicts" ? (now.drawn ? total : now.trial + 1) : past("verdicts") ? total : 0,
      drawn: !!now.drawn || past("verdicts"),
      committed: now.phase === "commit",
    };
  }

  /** Node → hidden, root, drafted, accepted, rejected, unreached, or behind the end of the text once that is known, as
      far as the view has got. With `survivors`,
      nodes of the same text stand and fall together: what hangs below one of them is unreached only where none of them
      was accepted.
      @param {trace.Round} round @param {View} at */
  function nodeStates(round, at, survivors = false) {
    const place = survivors ? S.rowsOf(round) : round.nodes.map((node) => node.id);
    const order = S.orderOf(round);
    const verdicts = new Map(round.judged.trials.slice(0, at.trials).map((trial) => [trial.node, trial.accepted]));
    const chosen = new Map(); // walking: place of the parent → that of the child that was accepted
    const kept = new Set(); // places of accepted candidates
    for (const [node, accepted] of [...verdicts]) {
      if (accepted) kept.add(place[node]);
      if (accepted && order === "top_down") chosen.set(place[round.nodes[node].parent], place[node]);
      if (accepted && order === "bottom_up")
        for (let up = round.nodes[node].parent; up > 0; up = round.nodes[up].parent) verdicts.set(up, true);
    }
    const unreached = [];
    const behind = S.behindTheEnd(round);
    const last = S.endsText(round) ? round.judged.path[round.committed.tokens.length - 1] : null;
    const over = at.drawn || (last !== null && verdicts.get(last) === true);
    return round.nodes.map((node) => {
      const parent = node.parent;
      const above = place[parent];
      const passed = chosen.has(above) && chosen.get(above) !== place[node.id] && !verdicts.has(node.id);
      const fallen =
        verdicts.get(parent) === false &&
        !kept.has(above) &&
        (!survivors || chosen.has(place[round.nodes[parent].parent]));
      unreached[node.id] = node.id > 0 && order !== "bottom_up" && (unreached[parent] || fallen || passed);
      if (over && behind.has(node.id)) return "behind";
      if (at.drawn || node.id === 0) return node.fate;
      if (node.depth > at.level) return "hidden";
      if (verdicts.has(node.id)) return verdicts.get(node.id) ? "accepted" : "rejected";
      return unreached[node.id] ? "unreached" : "drafted";
    });
  }

  /** The node a beat is about.
      @param {trace.Round} round @param {View} at */
  function subject(round, at) {
    if (at.phase === "draft") {
      const level = round.drafted.passes.length ? at.level : 1; // without passes all came at once: the first of them
      return (round.nodes.find((node) => node.depth === level && node.depth > 0) || round.nodes[0]).id;
    }
    if (at.phase === "target") return round.judged.trials.length ? round.judged.trials[0].node : 0;
    return at.phase === "verdicts" && !at.drawn ? round.judged.trials[at.trial].node : END;
  }

  /** @param {trace.Round} round */
  const lastBeat = (round) => beats(round).length - 1;

  /** One beat forward or back; stays where it is at either end.
      @param {trace.Trace} trace @param {Cursor} cursor */
  function step(trace, cursor, by) {
    const { round, beat } = cursor;
    if (by > 0) {
      if (beat < lastBeat(trace.rounds[round])) return { round, beat: beat + 1 };
      return round + 1 < trace.rounds.length ? { round: round + 1, beat: 0 } : cursor;
    }
    if (beat > 0) return { round, beat: beat - 1 };
    return round > 0 ? { round: round - 1, beat: lastBeat(trace.rounds[round - 1]) } : cursor;
  }

  /** A cursor that exists in this trace, from anything.
      @param {trace.Trace} trace @param {Cursor} cursor */
  function clamp(trace, cursor) {
    const whole = (x) => (Number.isFinite(x) ? Math.trunc(x) : 0);
    const round = Math.max(0, Math.min(whole(cursor.round), trace.rounds.length - 1));
    return { round, beat: Math.max(0, Math.min(whole(cursor.beat), lastBeat(trace.rounds[round]))) };
  }

  /** The next (by = 1) or previous (-1) beat for which `wanted(round, beat)` holds; null if there is none.
      @param {trace.Trace} trace @param {Cursor} cursor */
  function seek(trace, cursor, by, wanted) {
    for (let here = cursor, next = step(trace, here, by); next !== here; here = next, next = step(trace, here, by)) {
      const round = trace.rounds[next.round];
      if (wanted(round, beats(round)[next.beat])) return next;
    }
    return null;
  }

  /** @param {trace.Round} round */
  const isRejection = (round, beat) => beat.trial !== undefined && !round.judged.trials[beat.trial].accepted;
  /** @param {trace.Round} round */
  const isBonus = (round, beat) => !!beat.drawn && round.judged.origin === "bonus";

  /** Where a command leads; null where there is no such beat.
      @param {trace.Trace} trace @param {Cursor} cursor */
  function jump(trace, cursor, name) {
    const { round, beat } = cursor;
    const last = trace.rounds.length - 1;
    switch (name) {
      case "next":
        return step(trace, cursor, 1);
      case "previous":
        return step(trace, cursor, -1);
      case "nextRound":
        return round < last ? { round: round + 1, beat: 0 } : { round, beat: Infinity };
      case "previousRound":
        return { round: beat > 0 ? round : round - 1, beat: 0 };
      case "nextRejection":
        return seek(trace, cursor, 1, isRejection);
      case "previousRejection":
        return seek(trace, cursor, -1, isRejection);
      case "nextBonus":
        return seek(trace, cursor, 1, isBonus);
      case "start":
        return { round: 0, beat: 0 };
      case "end":
        return { round: last, beat: Infinity };
      default:
        throw new Error(`There is no command ${name}.`);
    }
  }

  /** [node, accepted or rejected] in the order of the text. A walk shows each verdict as it falls; where whole paths
     are
      judged, the path shows when it is known, with the rejected candidates that stood beside it.
      @param {trace.Round} round @param {View} at */
  function alongPath(round, at) {
    const { trials, path } = round.judged;
    if (S.orderOf(round) === "top_down")
      return trials.slice(0, at.trials).map((trial) => [trial.node, trial.accepted ? "accepted" : "rejected"]);
    if (!at.drawn) return [];
    return [0, ...path].flatMap((parent, depth) => [
      ...round.nodes
        .filter((node) => node.parent === parent && node.fate === "rejected")
        .map((node) => [node.id, "rejected"]),
      ...(depth < path.length ? [[path[depth], "accepted"]] : []),
    ]);
  }

  /** The tokens of a run as the text shows them up to a moment, each with its mark; rejected ones stay where they
     was rejected, and what was judged behind the end of the text stands there as that.
      @param {trace.Trace} trace @param {Cursor} cursor */
  function tokens(trace, cursor) {
    const list = [];
    let pending = S.pieces(trace, trace.started.prompt_ids).pending;
    for (let index = 0; index <= cursor.round && index < trace.rounds.length; index++) {
      const round = trace.rounds[index];
      const at = index < cursor.round ? view(round, Infinity) : view(round, cursor.beat);
      const kept = S.endsText(round) ? round.committed.tokens.length : Infinity;
      let place = 0;
      const put = (token, node, mark) => {
        const bytes = S.tokenBytes(trace, token);
        const step = S.complete(pending, bytes);
        const fate = place >= kept ? "behind" : mark;
        if (mark !== "rejected") place += 1;
        if (S.isText(fate)) pending = step.pending;
        list.push({ round: index, node, token, text: step.text, bytes, mark: fate, current: index === cursor.round });
      };
      for (const [node, mark] of alongPath(round, at)) put(round.nodes[node].token, node, mark);
      if (at.drawn) put(round.judged.token, END, round.judged.origin);
    }
    return list;
  }

  /** Where a run is opened: at the first round that drafted something, the first of all where none did.
      @param {trace.Trace} trace */
  const firstDraft = (trace) =>
    Math.max(
      0,
      trace.rounds.findIndex((round) => round.nodes.length > 1),
    );

  /** Whether a token with this mark is a part of the text. */
  const isText = (mark) => mark !== "rejected" && mark !== "behind";

  /** How each node of a round reads, after the bytes before it.
      @param {trace.Trace} trace */
  function nodeLabels(trace, index) {
    const before = [...trace.started.prompt_ids];
    for (const round of trace.rounds.slice(0, index)) before.push(...round.committed.tokens.map((made) => made.token));
    const tail = S.pieces(trace, before.slice(-9, -1)).pending;
    const left = [];
    const names = trace.rounds[index].nodes.map((node) => {
      const bytes = S.tokenBytes(trace, node.token);
      const step = S.complete(node.parent < 0 ? tail : left[node.parent], bytes);
      left[node.id] = step.pending;
      return S.visible(step.text, bytes);
    });
    const { judged } = trace.rounds[index];
    const end = S.label(trace, judged.token, left[judged.final_node]);
    return Object.assign(names, { [END]: end, after: (node) => left[node] });
  }

  return {
    END,
    PHASES,
    readTrace,
    beats,
    view,
    nodeStates,
    subject,
    step,
    clamp,
    seek,
    isRejection,
    isBonus,
    jump,
    lastBeat,
    isText,
    firstDraft,
    tokens,
    nodeLabels,
  };
})(SpecViz);
Object.assign(SpecViz, state);

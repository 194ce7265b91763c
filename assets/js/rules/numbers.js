/* Numbers as short text, and the numbers of a run. Pure. */
// needs: declared
const numbers = (function (S) {
  "use strict";

  const NONE = "–";

  /** A probability: two digits where that says something, never "0.00" for what is not zero or "1.00" for less than
      one. */
  function prob(p, digits = 2) {
    if (p === null || p === undefined || Number.isNaN(p)) return NONE;
    if (p === 0 || p === 1) return String(p);
    if (p < 0.0001) return "<0.0001";
    if (p > 0.9999 && p < 1) return ">0.9999";
    for (const more of [p < 0.01 ? 4 : p < 0.1 ? 3 : 2, 3, 4]) {
      const text = p.toFixed(Math.max(more, digits));
      if (Number(text) !== 1 && Number(text) !== 0) return p < 0.01 ? String(Number(text)) : text;
    }
    return p.toFixed(4);
  }

  /** What is only known to be less than `p`. */
  const below = (p) => (p < 0.0001 ? prob(p) : `<${prob(p)}`);

  /** Two numbers that were compared, with as many digits as it takes to tell them apart. */
  function compared(a, b) {
    if (a === b) return [prob(a), prob(b)];
    for (let digits = 2; digits <= 12; digits++) {
      const pair = digits <= 4 ? [prob(a, digits), prob(b, digits)] : [a.toPrecision(digits), b.toPrecision(digits)];
      if (pair[0] !== pair[1]) return pair;
    }
    return [String(a), String(b)];
  }

  /** A ratio of any size: three digits that count. */
  function ratio(x) {
    if (x === null || x === undefined || Number.isNaN(x)) return NONE;
    if (!Number.isFinite(x)) return "∞";
    if (x > 0 && x < 0.0001) return "<0.0001";
    if (x >= 1000) return Math.round(x).toLocaleString("en");
    return x >= 100
      ? x.toFixed(0)
      : x >= 10
        ? x.toFixed(1)
        : x === 0
          ? "0"
          : x >= 0.1
            ? x.toFixed(2)
            : String(Number(x.toPrecision(2)));
  }

  /** The value in the middle; of an even number of them, half-way between the two. */
  function median(values) {
    const ordered = values.toSorted((one, other) => one - other);
    const half = ordered.length >> 1;
    return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
  }

  /** Seconds in the unit that fits. */
  function seconds(value) {
    if (value === null || value === undefined) return NONE;
    if (value === 0) return "0";
    if (value < 1e-6) return "<1 µs";
    if (value < 0.9995e-3) return `${Number((value * 1e6).toPrecision(2))} µs`;
    if (value < 0.9995) return `${Number((value * 1e3).toPrecision(3))} ms`;
    return `${value < 9.995 ? value.toFixed(2) : value.toFixed(1)} s`;
  }

  const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];
  const SPELLED = ["no", "one", "two", "three", "four", "five", "six"];
  const ordinal = (n) => ORDINALS[n - 1] || `${n}th`;
  const spelled = (n) => SPELLED[n] ?? String(n);
  const count = (n, one, many = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

  /** The round's candidates: nodes that only ride along in the target's pass (lookahead's window) are none.
      @param {trace.Round} round */
  const drafts = (round) => {
    const riding = new Set(round.drafted.riding || []);
    return round.nodes.slice(1).filter((node) => !riding.has(node.id));
  };
  /** @param {trace.Round} round */
  const riding = (round) => round.nodes.length - 1 - drafts(round).length;

  /** How a round's trials go through its tree: `top_down` (a walk), `bottom_up` (whole paths) or `longest`.
      @param {trace.Round} round */
  const orderOf = (round) => round.judged.order || "top_down";

  /** Whether the text ended inside the round's accepted path. */
  const endsText = ({ committed }) => !!committed.trimmed && committed.trimmed !== "open";

  /** The nodes below the text's last token, where the text ended in this round: judged, but no part of the text
      (`behind_the_end` in trace/summary.py).
      @param {trace.Round} round */
  function behindTheEnd(round) {
    const { path } = round.judged;
    const kept = path.length + 1 - round.committed.trimmed_tokens;
    const behind = new Set();
    if (!endsText(round) || kept < 1 || kept > path.length) return behind;
    const text = S.rowsOf(round);
    for (const node of round.nodes.slice(1))
      if (behind.has(node.parent) || text[node.parent] === text[path[kept - 1]]) behind.add(node.id);
    return behind;
  }

  /** The candidates that are in a rate: all but those behind the end of the text.
      @param {trace.Round} round */
  function counted(round) {
    const behind = behindTheEnd(round);
    return drafts(round).filter((node) => !behind.has(node.id));
  }
  /** @param {trace.Round} round */
  const acceptedDrafts = (round) => counted(round).filter((node) => round.judged.path.includes(node.id)).length;

  /** What the whole run so far amounts to; definitions as in theory/metrics.py. Null where nothing is to divide by.
      @param {trace.Round[]} rounds */
  function counters(rounds) {
    const spec = rounds.filter((round) => drafts(round).length > 0).length;
    const drafted = rounds.reduce((sum, round) => sum + counted(round).length, 0);
    const accepted = rounds.reduce((sum, round) => sum + acceptedDrafts(round), 0);
    const without = rounds.filter((round) => round.committed.trimmed).length; // their last token is not in the text
    const walked = rounds.filter((round) => orderOf(round) === "top_down");
    const trials = walked.flatMap((round) => {
      const own = new Set(counted(round).map((node) => node.id));
      return round.judged.trials.filter((trial) => own.has(trial.node));
    });
    const tokens = rounds.reduce((sum, round) => sum + round.committed.tokens.length, 0);
    const time = rounds.reduce((sum, round) => sum + roundSeconds(round), 0);
    return {
      passes: rounds.length,
      spec,
      drafted,
      accepted,
      tokens,
      without,
      seconds: time,
      tested: walked.length === rounds.length ? trials.length : null, // elsewhere whole paths are tried
      passed: trials.filter((trial) => trial.accepted).length,
      unreached: rounds.reduce(
        (sum, round) => sum + counted(round).filter((one) => one.fate === "unreached").length,
        0,
      ),
      rate: drafted ? accepted / drafted : null,
      length: spec ? 1 + (accepted - without) / spec : null,
    };
  }

  const PARTS = [
    ["draft", "drafted"],
    ["target pass", "scored"],
    ["verdicts", "judged"],
    ["commit", "committed"],
  ];

  /** The engine's measured seconds of a round, by phase.
      @param {trace.Round} round */
  const roundTimes = (round) => PARTS.map(([name, key]) => ({ name, seconds: round[key].seconds }));
  /** @param {trace.Round} round */
  const roundSeconds = (round) => roundTimes(round).reduce((sum, part) => sum + part.seconds, 0);

  /** Seconds that plain decoding takes for one token, and where they are from: timed beside this run where it was, else
      a bare target pass over one row on that machine. Null where neither was timed.
      @param {trace.Trace} trace */
  function plainToken(trace) {
    const plain = trace.finished && trace.finished.plain;
    if (plain && plain.output_tokens) {
      const wrote = count(plain.output_tokens, "token");
      const from = `plain decoding beside this run: ${wrote} in ${seconds(plain.decode_s)}`;
      return { seconds: plain.decode_s / plain.output_tokens, beside: true, from };
    }
    const one = trace.started.step_times.find((time) => time.rows === 1);
    if (!one) return null;
    const cached = `${count(one.cached_rows, "row")} in its cache`;
    const took = `${seconds(one.median_s)} (median) on this machine`;
    const from = `a bare target pass over one row, with ${cached}, took ${took}`;
    return { seconds: one.median_s, beside: false, from };
  }

  /** A token's probability in the head of a distribution; null if it is not listed there. */
  function known(head, token) {
    const at = head ? head.tokens.indexOf(token) : -1;
    return at < 0 ? null : head.probs[at];
  }

  /** What an unlisted token can have at most. */
  const atMost = (head) =>
    head.most ?? (head.probs.length ? Math.min(head.rest, head.probs[head.probs.length - 1]) : head.rest);

  /** Draft and target (and what is left of the target) on one axis of tokens. topRows: {draft, target, residual?};
      exact: Map token → {draft, target} known beyond the topRows; keep: tokens that must show. Rows fall by target;
      `rest` is the mass of everything that has no row. */
  function bars(topRows, exact, keep, limit = 9) {
    const names = ["draft", "target", "residual"].filter((name) => topRows[name]);
    const listed = new Set(keep);
    for (const name of ["target", "draft", "residual"])
      for (const token of topRows[name] ? topRows[name].tokens : []) listed.add(token);
    const rows = [...listed].map((token) => {
      const row = { token, most: {} };
      for (const name of names) {
        const sure = (exact.get(token) || {})[name];
        row[name] = sure !== undefined ? sure : known(topRows[name], token);
        if (row[name] === null) {
          const most = atMost(topRows[name]);
          if (most <= 1e-6) row[name] = 0;
          else row.most[name] = most;
        }
      }
      const both = row.draft !== null && row.target !== null && topRows.draft && topRows.target;
      row.overlap = both ? Math.min(row.draft, row.target) : null;
      row.excess = both ? Math.max(0, row.target - row.draft) : null;
      return row;
    });
    const weight = (row) => [row.target ?? -1, row.draft ?? -1];
    rows.sort((a, b) => weight(b)[0] - weight(a)[0] || weight(b)[1] - weight(a)[1] || a.token - b.token);
    const must = new Set(keep);
    const worth = rows.filter(
      (row) => must.has(row.token) || (row.target ?? 0) > 0 || (row.draft ?? 0) > 0 || (row.residual ?? 0) > 0,
    );
    let room = limit - worth.filter((row) => must.has(row.token)).length;
    const shown = worth.filter((row) => must.has(row.token) || room-- > 0);
    const rest = {};
    for (const name of names) rest[name] = Math.max(0, 1 - shown.reduce((sum, row) => sum + (row[name] ?? 0), 0));
    for (const name of names) if (rest[name] < 5e-5) rest[name] = 0;
    return { rows: shown, rest };
  }

  return {
    prob,
    below,
    compared,
    ratio,
    median,
    seconds,
    ordinal,
    spelled,
    count,
    drafts,
    riding,
    orderOf,
    endsText,
    behindTheEnd,
    counted,
    acceptedDrafts,
    counters,
    roundTimes,
    roundSeconds,
    plainToken,
    known,
    atMost,
    bars,
  };
})(SpecViz);
Object.assign(SpecViz, numbers);

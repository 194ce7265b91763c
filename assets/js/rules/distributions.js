/* Which distributions stand behind a verdict, and which of their numbers are shown: one rule for tree, table, bars,
   card and reader. Pure. */
// needs: declared, numbers, state
const distributions = (function (S) {
  "use strict";

  const ROUNDED = 2e-6; // top-k rows are stored to six decimals

  /** Whether the target's answer may be shown: it is there, and guess mode does not ask for it.
      @param {View} at */
  const told = (at) => at.scored && !at.veiled;

  /** Temperature 0: the models' own beliefs are shown, and only the target's first choice counts. Above it the first
      choice may have all of the mass as well, to the digits that are stored.
      @param {{ started: trace.Started }} trace */
  const cold = ({ started }, node) => started.sampling.temperature === 0 && !!node.target_raw;

  /** What was rejected below `parent` before `focus` was tried, and under a rule that takes it from the target.
      @param {trace.Round} round */
  function rejectedBefore(round, parent, focus) {
    if (focus === S.END || S.declared(round.judged.rule)?.numbers !== "residual") return [];
    const below = round.judged.trials.filter((trial) => round.nodes[trial.node].parent === parent);
    const place = below.findIndex((trial) => trial.node === focus);
    return place > 0 ? below.slice(0, place + 1) : [];
  }

  /** Whose distribution the draft row of `parent` is: several drafters may have proposed below it, and it is the
      first one's.
      @param {trace.Round} round */
  const rowOf = (round, parent) =>
    round.nodes.find((child) => child.parent === parent && child.kind !== "point_mass")?.source;

  /** p and Q as the trial of a later sibling met them: {draft, target} as top rows, from the stored rows and the
      trials' own numbers, each divided by the mass that these give. Null where they do not give it.
      @param {trace.Round} round */
  function leftRows(round, parent, tried) {
    const node = round.nodes[parent];
    const exact = (which, head, source) => {
      const all = new Map(head ? head.tokens.map((token, place) => [token, head.probs[place]]) : []);
      for (const child of round.nodes)
        if (child.parent === parent && (which === "target" || (child.kind !== "point_mass" && child.source === source)))
          all.set(child.token, child[`${which}_prob`]);
      return all;
    };
    let left = exact("target", node.target);
    let most = S.atMost(node.target);
    const gone = [];
    const proposal = (child) => {
      if (child.kind === "point_mass") return { at: (token) => Number(token === child.token), all: null };
      const head = child.source === rowOf(round, parent) ? node.draft : null;
      const own = exact("draft", head, child.source);
      const drawn = child.kind === "without_replacement" ? gone.filter((one) => one.source === child.source) : [];
      const without = new Set(drawn.map((one) => one.token));
      const whole = 1 - [...without].reduce((sum, token) => sum + (own.get(token) ?? 0), 0);
      const all = new Map([...own].map(([token, value]) => [token, without.has(token) ? 0 : value / whole]));
      return { at: (token) => all.get(token) ?? null, all, most: head ? S.atMost(head) / whole : 1 };
    };
    for (let place = 0; place + 1 < tried.length; place++) {
      const child = round.nodes[tried[place].node];
      const next = tried[place + 1];
      const { at } = proposal(child);
      const rest = new Map();
      for (const [token, value] of left) {
        const taken = value === 0 ? 0 : at(token);
        if (taken !== null) rest.set(token, Math.max(0, value - taken));
      }
      const over = rest.get(round.nodes[next.node].token);
      if (!(over > 1e-4) || !(next.target_prob > 1e-4)) return null;
      const mass = over / next.target_prob;
      left = new Map([...rest].map(([token, value]) => [token, value / mass]));
      most = Math.min(1, most / mass);
      gone.push(child);
    }
    const { all, most: mostDraft } = proposal(round.nodes[tried.at(-1).node]);
    return { target: asHead(left, most), draft: all ? asHead(all, mostDraft) : null };
  }

  function asHead(known, most) {
    const sorted = [...known].sort((one, other) => other[1] - one[1]);
    const probs = sorted.map(([, value]) => value);
    const rest = Math.max(0, 1 - probs.reduce((sum, value) => sum + value, 0));
    return { tokens: sorted.map(([token]) => token), probs, rest, most: Math.min(rest, most) };
  }

  const NAMES = { draft: "draft q", target: "target p", residual: "left over r" };
  const PLAIN = { draft: "small model q", target: "big model p", residual: "still missing r" };

  /** Pure: the distributions behind the children of `parent`, as far as the view has got. `judged`: the
      selection was tried, so that p and Q are those of its own trial.
      @param {trace.Trace} trace @param {trace.Round} round @param {View} at */
  function barData(trace, round, parent, at, focus, judged = false) {
    const node = round.nodes[parent];
    const frozen = cold(trace, node);
    const topRows = frozen
      ? { draft: node.draft_raw || node.draft, target: node.target_raw }
      : { draft: node.draft, target: node.target };
    if (frozen && topRows.draft && topRows.draft.probs[0] === 1) topRows.draft = null; // a proposal, not a prediction
    if (!told(at)) topRows.target = null;
    const ends = at.drawn && round.judged.final_node === parent;
    if (ends && focus === S.END && round.judged.residual) topRows.residual = round.judged.residual;
    const children = round.nodes.filter((child) => child.parent === parent && child.depth <= at.level);
    const tried = judged && !frozen ? rejectedBefore(round, parent, focus) : [];
    const left = tried.length ? leftRows(round, parent, tried) : null;
    const [names, plain] = [{ ...NAMES }, { ...PLAIN }];
    const exact = new Map();
    if (left) {
      Object.assign(topRows, left);
      names.draft = round.nodes[focus].kind === "without_replacement" ? "Q, without the rejected" : "Q, the draft";
      names.target = `p left after ${S.count(tried.length - 1, "rejection")}`;
      plain.draft = "small model Q, without the guesses that went";
      plain.target = `big model p, left after ${S.count(tried.length - 1, "guess", "guesses")} that went`;
      const sure = { target: tried.at(-1).target_prob };
      if (left.draft) sure.draft = tried.at(-1).draft_prob;
      exact.set(round.nodes[focus].token, sure);
    } else if (!frozen) {
      const row = rowOf(round, parent);
      for (const child of children) {
        const sure = {};
        if (child.kind !== "point_mass" && child.source === row && topRows.draft) sure.draft = child.draft_prob;
        if (topRows.target) sure.target = child.target_prob;
        exact.set(child.token, { ...exact.get(child.token), ...sure });
      }
    }
    if (topRows.residual) nothingLeft(round, parent, exact);
    const keep = new Set(children.map((child) => child.token));
    if (ends) keep.add(round.judged.token);
    return { topRows, exact, keep, children, frozen, ends, names, plain, left: !!left };
  }

  /** Where p < Q nothing is left: max(0, p − Q) is exactly 0, as it is for every candidate that was rejected.
      @param {trace.Round} round */
  function nothingLeft(round, parent, exact) {
    if (S.declared(round.judged.rule)?.numbers !== "residual") return;
    const none = (token) => exact.set(token, { ...exact.get(token), residual: 0 });
    const { trials } = round.judged;
    const rejected = trials.filter((trial) => round.nodes[trial.node].parent === parent && !trial.accepted);
    for (const trial of rejected) none(round.nodes[trial.node].token);
    const { draft, target } = round.nodes[parent];
    if (rejected.length !== 1 || round.nodes[rejected[0].node].kind === "point_mass" || !draft) return;
    for (const token of draft.tokens) {
      const p = S.known(target, token);
      if (p !== null && p < S.known(draft, token) - ROUNDED) none(token);
    }
  }

  /** What draft and target think of a node's token, as two texts, the same wherever they are shown; at temperature 0
      before it, where the trace has that; "–" for what is not known or was not predicted.
      @param {trace.Trace} trace @param {trace.Round} round */
  function odds(trace, round, node, scored) {
    const parent = round.nodes[node.parent];
    const believed = (head) => {
      const value = S.known(head, node.token);
      return value === null ? S.below(S.atMost(head)) : S.prob(value);
    };
    const guessed = parent.draft_raw && (node.kind === "point_mass" || cold(trace, parent));
    const draft = guessed ? believed(parent.draft_raw) : node.kind === "point_mass" ? "–" : S.prob(node.draft_prob);
    if (!scored) return [draft, "–"];
    return [draft, cold(trace, parent) ? believed(parent.target_raw) : S.prob(node.target_prob)];
  }

  /** The same for those who listen.
      @param {trace.Trace} trace @param {trace.Round} round */
  function oddsWords(trace, round, node, scored) {
    const [draft, target] = odds(trace, round, node, scored);
    return (draft === "–" ? "" : `, draft ${draft}`) + (target === "–" ? "" : `, target ${target}`);
  }

  return { barData, odds, oddsWords, cold, told };
})(SpecViz);
Object.assign(SpecViz, distributions);

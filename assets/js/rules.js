/* Each verifier's rule in its own terms: a sentence, the numbers with what they are, the steps before and beside a trial, the
   formula and two lines of code. Pure; knows nothing about the page. A rule that is not listed in `rules` still shows its
   numbers. `c` is what `trialFacts` gathers; names such as `parent_reach` are those of the trace's `terms`. */
globalThis.SpecViz = globalThis.SpecViz || {};
(function (S) {
  "use strict";
  const q = (token) => `\u2068${token}\u2069`;
  const verdict = (c) => (c.accepted ? "kept" : "refused");
  const number = (x) => (typeof x === "number" && Number.isFinite(x) ? x : null);
  const atMostOne = (x) => Math.min(1, x);
  const ratioOf = (p, by) => (by > 0 ? p / by : p > 0 ? Infinity : 0);
  const cap = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  /** The trials of one parent's children among the first `said`, in the order they were made. */
  const triedBelow = (c, parent, said) => c.round.judged.trials.slice(0, said).filter((trial) => c.round.nodes[trial.node].parent === parent);
  const parentOf = (c) => c.round.nodes[c.node].parent;

  /** The coin against the chance, with as many digits as it takes. */
  function coin(c) {
    const [u, threshold] = S.compared(c.u, c.threshold);
    return { u, threshold, row: ["u", u, `${c.accepted ? "<" : "≥"} ${threshold}: ${c.accepted ? "accepted" : "refused"}`] };
  }
  const coinCell = (trial) => (trial.u === null ? "–" : S.compared(trial.u, trial.threshold)[0]);

  /** p and Q of a trial, and what they were before siblings were refused. */
  function pAndQ(c) {
    const changed = (now, before) => (before !== null && Math.abs(now - before) > 1e-6 ? ` (${S.prob(before)} before)` : "");
    const drawn = c.kind === "point_mass" ? "proposed as certain" : c.earlier && c.kind === "without_replacement" ? `draft, without the refused siblings${changed(c.draft_prob, c.q0)}` : "draft";
    return [
      ["p", S.prob(c.target_prob), c.earlier ? `target, after ${S.count(c.earlier, "refusal")}${changed(c.target_prob, c.p0)}` : "target"],
      [c.earlier ? "Q" : "q", S.prob(c.draft_prob), drawn],
    ];
  }

  /** Siblings one below the other, each with what it was judged by. `columns`: [heading, trial → text]. */
  function siblings(c, said, title, columns, foot = "") {
    const tried = triedBelow(c, parentOf(c), said);
    if (tried.length < 2) return null;
    return { title, head: ["", ...columns.map(([name]) => name), "u"], rows: tried.map((trial) => ({ trial, cells: [...columns.map(([, cell]) => cell(trial)), coinCell(trial)] })), foot };
  }

  /** What the correction was drawn from, once it is drawn. */
  const leftover = (c, said) => {
    const { judged } = c.round;
    const ended = said >= judged.trials.length && judged.final_node === parentOf(c) && judged.residual_mass !== null && judged.origin === "correction";
    return ended ? `All refused. Of the last p, ${S.prob(judged.residual_mass)} is left after the last Q is subtracted; divided by that it is whole again, and the correction is drawn from it.` : "";
  };

  const sequential = {
    words(c) {
      const left = c.earlier ? `what the ${c.earlier === 1 ? "refused sibling" : `${S.spelled(c.earlier)} refused siblings`} left of the target` : "the target";
      const { u, threshold } = coin(c);
      if (c.target_prob === 0) return `${cap(left)} gives ${q(c.token)} no chance at all: refused.`;
      if (c.kind === "point_mass") return `${q(c.token)} was proposed without drawing, so it is kept as often as ${left} would say it: chance ${threshold}. The coin says ${u}: ${verdict(c)}.`;
      if (c.threshold >= 1) return `${cap(left)} likes ${q(c.token)} at least as much as the draft did: kept without a doubt.`;
      return `${cap(left)} likes ${q(c.token)} only ${S.ratio(c.ratio)} times as much as the draft did. Its chance to stay is ${threshold}; the coin says ${u}: ${verdict(c)}.`;
    },
    numbers(c) {
      const { threshold, row } = coin(c);
      return [...pAndQ(c), [c.earlier ? "p/Q" : "p/q", S.ratio(c.ratio), `so the chance to stay is ${threshold}`], row];
    },
    steps: (c, said) => siblings(c, said, "siblings in the order they were tried; each refusal changes p for the next", [
      ["p left", (trial) => S.prob(trial.target_prob)], ["Q", (trial) => S.prob(trial.draft_prob)], ["p/Q", (trial) => S.ratio(ratioOf(trial.target_prob, trial.draft_prob))],
    ], leftover(c, said)),
    formula: ["accept x with probability min(1, p(x) / Q(x))", "after a refusal p becomes max(0, p − Q) / Σ max(0, p − Q)"],
    code: ["accepted = u < min(1, p[x] / q[x])", "if not accepted: p = normalise(maximum(0, p - q))"],
    rest: "what the refusals left: Σ max(0, p − Q) at the last one",
    restFormula: "r(x) = max(0, p(x) − Q(x)) / Σ max(0, p − Q)",
  };

  const lenience = {
    ...sequential,
    words(c) {
      const l = number(c.options.lenience);
      const { u, threshold } = coin(c);
      const { share } = c.terms;
      if (number(share) !== null) return `At temperature 0 there is no coin: ${q(c.token)} has ${S.prob(share)} of the probability of the target's first choice, and lenience asks for ${S.ratio(l)}: ${verdict(c)}.${c.accepted && share < 1 ? " Exact greedy decoding would have refused it." : ""}`;
      if (l === null || l === 1 || c.target_prob === 0 || c.ratio >= 1) return sequential.words(c);
      const honest = atMostOne(c.ratio);
      const drift = c.accepted && c.u >= honest ? " The exact rule would have refused it: here the text drifts from the target." : "";
      return `The exact rule would keep ${q(c.token)} with chance ${S.prob(honest)}; lenience ${S.ratio(l)} divides by ${S.ratio(l)} and makes it ${threshold}. The coin says ${u}: ${verdict(c)}.${drift}`;
    },
    numbers(c) {
      const l = number(c.options.lenience);
      const { threshold, row } = coin(c);
      const { share } = c.terms;
      if (number(share) !== null) return [["share", S.prob(share), "p / max p, by the target's own softmax"], ["l", S.ratio(l), `lenience; the share must reach it: ${c.accepted ? "accepted" : "refused"}`]];
      return [...pAndQ(c), ["p/Q", S.ratio(c.ratio), `the exact rule's chance: ${S.prob(atMostOne(c.ratio))}`], ["l", S.ratio(l), "lenience; 1 would forgive nothing"],
        ["p/lQ", l === null ? "–" : S.ratio(ratioOf(c.target_prob, l * c.draft_prob)), `so the chance to stay is ${threshold}`], row];
    },
    formula: ["accept x with probability min(1, p(x) / (l · Q(x)))", "at temperature 0: accept x where p(x) ≥ l · max p", ...sequential.formula.slice(1)],
    code: ["accepted = u < min(1, p[x] / (lenience * q[x]))", sequential.code[1]],
  };

  const kseq = {
    words(c) {
      const { u, threshold } = coin(c);
      const { rho } = c.terms;
      if (c.siblings === 1) return `${q(c.token)} stands alone, so ρ is 1 and the rule is min(1, p/q): chance ${threshold}. The coin says ${u}: ${verdict(c)}.`;
      return `${q(c.token)} is one of ${c.siblings} siblings that are all judged alike, with p divided by ρ = ${S.ratio(rho)}, so that together they take no more than the target has. Chance ${threshold}; the coin says ${u}: ${verdict(c)}.`;
    },
    numbers(c) {
      const { rho, beta } = c.terms;
      const { threshold, row } = coin(c);
      if (c.siblings === 1) return [...pAndQ(c), ["ρ", S.ratio(rho), "1, because it has no siblings"], ["p/q", S.ratio(c.ratio), `so the chance to stay is ${threshold}`], row];
      const any = number(beta) === null ? null : 1 - (1 - beta) ** c.siblings;
      return [["p", S.prob(c.target_prob), "target; refused siblings take nothing away"], ["q", S.prob(c.draft_prob), "draft"], ["ρ", S.ratio(rho), `solves 1 − (1 − β)ᴷ = ρβ for K = ${c.siblings}`],
        ["β", S.prob(beta), "chance that one candidate passes"], ["any", S.prob(any), `1 − (1 − β)ᴷ: chance that one of ${c.siblings} passes`],
        ["p/ρq", S.ratio(ratioOf(c.target_prob, rho * c.draft_prob)), `so the chance to stay is ${threshold}`], row];
    },
    steps: (c, said) => siblings(c, said, "siblings in the order they were tried; p and ρ stay as they are", [
      ["p", (trial) => S.prob(trial.target_prob)], ["q", (trial) => S.prob(trial.draft_prob)], ["p/ρq", (trial) => S.ratio(ratioOf(trial.target_prob, (trial.terms || {}).rho * trial.draft_prob))],
    ]),
    formula: ["accept x with probability min(1, p(x) / (ρ · q(x)))", "β = Σ min(p / ρ, q), and ρ solves 1 − (1 − β)ᴷ = ρ β"],
    code: ["accepted = u < min(1, p[x] / (rho * q[x]))", "if none: p - minimum(p / rho, q) * (1 - (1 - beta)**K) / beta"],
    rest: "what the candidates could not serve",
    restFormula: "r ∝ p − min(p/ρ, q) · (1 − (1 − β)ᴷ) / β",
  };

  /** P of every prefix of a chain: as the trials have it, and by the same product where none was made. */
  function running(c) {
    const told = new Map(c.round.judged.trials.flatMap((trial) => [[trial.node, (trial.terms || {}).reach], [c.round.nodes[trial.node].parent, (trial.terms || {}).parent_reach]]));
    const chances = [1];
    for (const node of c.round.nodes.slice(1)) chances[node.id] = told.get(node.id) ?? atMostOne(ratioOf(chances[node.parent] * node.target_prob, node.draft_prob));
    return chances;
  }

  const prefix = (depth) => (depth === 1 ? "the first token alone" : `the first ${S.spelled(depth)} tokens together`);
  const block = {
    words(c) {
      const { u, threshold } = coin(c);
      const end = number(c.terms.left) === null;
      const what = end ? `The whole draft down to ${q(c.token)} is judged as one` : `Now ${prefix(c.depth)}, down to ${q(c.token)}`;
      const why = end ? `the target bears ${threshold} of the chance the draft gave it` : `after what the longer draft has taken, the chance left is ${threshold}`;
      const next = c.accepted ? "all of it is kept" : c.depth > 1 ? "refused; one token less is tried next" : "refused, and nothing shorter is left";
      return `${what}: ${why}. The coin says ${u}: ${next}.`;
    },
    numbers(c) {
      const { left, reach, parent_reach: above } = c.terms;
      const { row, threshold } = coin(c);
      const product = `min(1, ${S.prob(above)} · ${S.prob(c.target_prob)}/${S.prob(c.draft_prob)}): P so far · p/q`;
      const list = [["p", S.prob(c.target_prob), "target"], ["q", S.prob(c.draft_prob), c.kind === "point_mass" ? "proposed as certain" : "draft"], ["P", S.prob(reach), product]];
      if (number(left) === null) list.push(["h", threshold, "P itself, at the end of the chain"]);
      else list.push(["s", S.prob(left), "Σ max(0, P·p − q), for the token after it"], ["h", threshold, `s/(s + 1 − P) = ${S.prob(left)}/(${S.prob(left)} + 1 − ${S.prob(reach)})`]);
      return [...list, row];
    },
    steps(c, said) {
      const chances = running(c);
      const tried = new Map(c.round.judged.trials.slice(0, said).map((trial) => [trial.node, trial]));
      const rows = c.round.nodes.slice(1).map((node) => {
        const trial = tried.get(node.id);
        return { node: node.id, trial, cells: [S.ratio(ratioOf(node.target_prob, node.draft_prob)), S.prob(chances[node.id]), trial ? S.prob(trial.threshold) : "", trial ? coinCell(trial) : ""] };
      });
      return { title: "P runs down the chain, token by token; the verdicts come up from its end", head: ["", "p/q", "P", "h", "u"], rows };
    },
    formula: ["Pᵢ = min(1, Pᵢ₋₁ · p(xᵢ) / q(xᵢ)), P₀ = 1", "hᵢ = sᵢ / (sᵢ + 1 − Pᵢ), sᵢ = Σ max(0, Pᵢ · p − q); at the end h = P", "keep the longest prefix whose coin falls below its h"],
    code: ["P = min(1, P * p[x] / q[x])", "h = s / (s + 1 - P)"],
    rest: "s: Σ max(0, P·p − q), what the refused drafts left",
    restFormula: "r(x) = max(0, P·p(x) − q(x)) / Σ max(0, P·p − q)",
  };

  /** [A before, A after] at the parent of a refused node; null where the trace does not say. */
  function effect(c, trial) {
    const parent = c.round.nodes[trial.node].parent;
    const { trials, final_node: final, residual_mass: mass } = c.round.judged;
    const below = trials.filter((other) => c.round.nodes[other.node].parent === parent);
    const next = below[below.indexOf(trial) + 1];
    const before = number((trial.terms || {}).parent_reach);
    if (trial.accepted || before === null) return null;
    if (next) return [before, number((next.terms || {}).parent_reach)];
    const own = trials.find((other) => other.node === parent);
    if (own && (own.terms || {}).left !== undefined) return [before, own.threshold];
    const left = parent === final ? number(mass) : null;
    return [before, left === null ? null : left + 1 - before > 0 ? left / (left + 1 - before) : 1];
  }

  const traversal = {
    words(c) {
      const { u, threshold } = coin(c);
      const parent = q(c.labels[parentOf(c)]);
      const leaf = number(c.terms.left) === null;
      const what = leaf ? `The path down to the leaf ${q(c.token)} is tried as a whole` : `All below ${q(c.token)} was refused, so it is a leaf itself now`;
      if (c.threshold === 0) return `${what}, but nothing of the target is left for it on the way: chance 0, refused.`;
      if (c.accepted) return `${what}: chance ${threshold}. The coin says ${u}: the whole path is kept.`;
      const change = effect(c, c.trial);
      const then = !change ? "" : change[1] === null ? ` The target at ${parent} loses what this leaf had offered.` : ` The target at ${parent} loses what this leaf had offered, and the chance to end there goes from ${S.prob(change[0])} to ${S.prob(change[1])}.`;
      return `${what}: chance ${threshold}. The coin says ${u}: refused.${parentOf(c) ? then : " The root's target loses what it had offered."}`;
    },
    numbers(c) {
      const { left, reach, parent_reach: above } = c.terms;
      const { row, threshold } = coin(c);
      const first = atMostOne(ratioOf(above * c.target_prob, c.draft_prob));
      const list = [...pAndQ(c), ["A", S.prob(above), "chance of the path to its parent"], ["A·p/Q", S.prob(first), "at most 1: chance of the path to it"]];
      if (number(left) !== null) list.push(["A′", S.prob(reach), "before its last child was refused"], ["s", S.prob(left), "Σ max(0, A′·p − Q), what that child left"], ["A″", threshold, `s/(s + 1 − A′) = ${S.prob(left)}/(${S.prob(left)} + 1 − ${S.prob(reach)})`]);
      return [...list, row];
    },
    steps(c, said) {
      const tried = c.round.judged.trials.slice(0, said);
      const change = (trial) => { const found = effect(c, trial); return found ? `${S.prob(found[0])} → ${S.prob(found[1])}` : ""; };
      return tried.length < 2 ? null : {
        title: "from the leaves up, in the order they were tried", head: ["path to", "chance", "u", "A of parent"],
        rows: tried.map((trial) => ({ trial, cells: [S.prob(trial.threshold), coinCell(trial), change(trial)] })),
      };
    },
    formula: ["A(child) = min(1, A(parent) · p(x) / Q(x)), A(root) = 1", "a refused leaf leaves its parent s = Σ max(0, A·p − Q), and A becomes s / (s + 1 − A)"],
    code: ["A = min(1, A_parent * p[x] / q[x])", "if not u < A: A_parent = s / (s + 1 - A_parent)"],
    rest: "s: Σ max(0, A·p − Q), what the refused leaves left here",
    restFormula: "r(x) = max(0, A·p(x) − Q(x)) / Σ max(0, A·p − Q)",
  };

  const passedPaths = (round) => {
    const passed = new Set(round.judged.trials.filter((trial) => trial.accepted).map((trial) => trial.node));
    return [...passed].filter((node) => !round.nodes.some((child) => child.parent === node && passed.has(child.id))).length;
  };
  const longest = (c, said) => (said < c.round.judged.trials.length ? "" : passedPaths(c.round) ? `${S.count(passedPaths(c.round), "path")} passed in this round; the longest has ${S.count(c.round.judged.path.length, "token")} and is kept.` : "No path passed in this round.");
  const longestPath = {
    words(c) {
      if (c.terms.given) return `${q(c.token)} was proposed by the target itself: it passes and nothing is asked.`;
      const { u, threshold } = coin(c);
      const likes = c.threshold >= 1 ? "at least as much as the draft did, so it passes without a doubt" : `${S.ratio(c.ratio)} times as much as the draft did: chance ${threshold}, and the coin says ${u}: ${c.accepted ? "it passes" : "refused"}`;
      return `By itself, whatever its siblings did: the target likes ${q(c.token)} ${likes}.`;
    },
    numbers: (c) => (c.terms.given ? [["p", S.prob(c.target_prob), "target, which proposed it: accepted"]] : sequential.numbers(c)),
    steps: (c, said) => siblings(c, said, "siblings, each tried by itself against the same p", [
      ["p", (trial) => S.prob(trial.target_prob)], ["q", (trial) => S.prob(trial.draft_prob)], ["p/q", (trial) => S.ratio(ratioOf(trial.target_prob, trial.draft_prob))],
    ], longest(c, said)),
    formula: ["x passes with probability min(1, p(x) / q(x))", "what the target itself proposed passes", "of the paths that passed the longest is kept"],
    code: ["passed = u < min(1, p[x] / q[x])", "path = max(passed_paths, key=len)"],
  };

  const typical = {
    words(c) {
      const [p, bar] = S.compared(c.target_prob, number(c.terms.bar));
      return `The target gives ${q(c.token)} ${p}, ${c.accepted ? "above" : "not above"} the bar of ${bar} that its own uncertainty sets: ${verdict(c)}.`;
    },
    numbers(c) {
      const { entropy, bar } = c.terms;
      const { epsilon, delta } = c.options;
      const scaled = number(delta) === null || number(entropy) === null ? null : delta * Math.exp(-entropy);
      const [p, against] = S.compared(c.target_prob, number(bar));
      return [["H", S.ratio(entropy), "entropy of the target here, in nats: how undecided it is"], ["δe⁻ᴴ", S.prob(scaled), `δ = ${S.ratio(delta)}, less the more undecided it is`], ["ε", S.prob(epsilon), "more than this always passes"],
        ["bar", against, scaled !== null && scaled < epsilon ? "the smaller one: δe⁻ᴴ" : "the smaller one: ε"], ["p", p, `${c.accepted ? ">" : "≤"} ${against}: ${c.accepted ? "accepted" : "refused"}; no coin`]];
    },
    steps(c, said) {
      const tried = triedBelow(c, parentOf(c), said);
      return tried.length < 2 ? null : { title: "siblings, each held against the same bar", head: ["", "p", "bar"], rows: tried.map((trial) => ({ trial, cells: [S.prob(trial.target_prob), S.prob((trial.terms || {}).bar)] })), foot: longest(c, said) };
    },
    formula: ["x passes when p(x) > min(ε, δ · exp(−H(p)))", "of the paths that passed the longest is kept"],
    code: ["passed = p[x] > min(epsilon, delta * exp(-entropy(p)))", "path = max(passed_paths, key=len)"],
  };

  const greedy = {
    words: (c) => (c.accepted
      ? `The target's first choice here is ${q(c.token)} as well: kept.`
      : `The target's first choice here is ${c.first === null ? "another token" : q(c.first)}, not ${q(c.token)}: refused.`),
    numbers: (c) => [["target", c.first ?? "–", "its first choice"], ["draft", c.token, c.accepted ? "the same: accepted" : "another token: refused"]],
    steps: (c, said) => plainly(c, said),
    formula: ["accept x exactly when x = argmax p"],
    code: ["accepted = x == p.argmax()", "if not accepted: token = p.argmax()"],
  };

  const naive = {
    words: (c) => (c.accepted
      ? `The target drew its own token, and it is ${q(c.token)}: kept.`
      : `The target drew ${c.drawn === null ? "its own token" : q(c.drawn)}; ${q(c.token)} is something else: refused.`),
    numbers: (c) => [
      ["drawn", c.drawn ?? "–", "by the target itself"], ["p", S.prob(c.target_prob), "the chance that the draw would be this token"],
      ["draft", c.token, c.accepted ? "the same: accepted" : "another token: refused"],
    ],
    steps: (c, said) => plainly(c, said),
    formula: ["draw y from p; accept x exactly when x = y"],
    code: ["y = draw(p)", "accepted = x == y"],
  };

  /** Siblings by name alone, where no number decides. */
  function plainly(c, said) {
    const tried = triedBelow(c, parentOf(c), said);
    return tried.length < 2 ? null : { title: "tried here, in this order", head: [], rows: tried.map((trial) => ({ trial, cells: [] })) };
  }

  const NAMES = { parent_reach: "A", reach: "A′", left: "s", rho: "ρ", beta: "β", entropy: "H", bar: "bar", share: "p / max p", given: "given" };
  const anyRule = {
    words(c) {
      if (c.u === null) return `${q(c.token)} was ${verdict(c)}.`;
      const { u, threshold } = coin(c);
      return `The chance of ${q(c.token)} to stay is ${threshold}; the coin says ${u}: ${verdict(c)}.`;
    },
    numbers(c) {
      const judged = c.u === null ? ["threshold", S.prob(c.threshold), c.accepted ? "accepted" : "refused"] : coin(c).row;
      const terms = Object.entries(c.terms).map(([name, value]) => [Object.hasOwn(NAMES, name) ? NAMES[name] : name, S.ratio(value), name.replace(/_/g, " ")]);
      return [["p", S.prob(c.target_prob), "target"], ["q", S.prob(c.draft_prob), "draft"], ...terms, judged];
    },
    steps: (c, said) => siblings(c, said, "tried here, in this order", [["p", (trial) => S.prob(trial.target_prob)], ["q", (trial) => S.prob(trial.draft_prob)], ["chance", (trial) => S.prob(trial.threshold)]]),
    formula: [], code: [], rest: "what the refusals left", restFormula: "",
  };

  const rules = { sequential, specinfer: sequential, lenience, kseq, block, traversal, longest_path: longestPath, typical, greedy, naive };
  const ruleOf = (round) => ({ ...anyRule, ...(Object.hasOwn(rules, round.judged.rule) ? rules[round.judged.rule] : {}) });

  Object.assign(S, { quote: q, rules, ruleOf, effect, capital: cap });
})(globalThis.SpecViz);

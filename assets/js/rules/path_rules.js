/* Rules that judge whole paths, each in its own terms; see sibling_rules.js. Pure. */
// needs: numbers, sibling_rules
const pathRules = (function (S) {
  "use strict";

  const { quote, verdict, number, atMostOne, ratioOf, triedBelow, parentOf, uniform, drawCell, pAndQ, siblings } =
    S.ruleParts;

  const { sequential } = S.siblingRules;

  /** P of every prefix of a chain: as the trials have it, and by the same product where none was made.
      @param {Facts} facts */
  function running(facts) {
    const told = new Map(
      facts.round.judged.trials.flatMap((trial) => [
        [trial.node, (trial.terms || {}).reach],
        [facts.round.nodes[trial.node].parent, (trial.terms || {}).parent_reach],
      ]),
    );
    const reach = [1];
    for (const node of facts.round.nodes.slice(1))
      reach[node.id] = told.get(node.id) ?? atMostOne(ratioOf(reach[node.parent] * node.target_prob, node.draft_prob));
    return reach;
  }

  const prefix = (depth) => (depth === 1 ? "the first token alone" : `the first ${S.spelled(depth)} tokens together`);
  const block = {
    words(facts) {
      const { u, threshold } = uniform(facts);
      const end = number(facts.terms.left) === null;
      const what = end
        ? `The whole draft down to ${quote(facts.token)} is judged as one`
        : `Now ${prefix(facts.depth)}, down to ${quote(facts.token)}`;
      const why = end
        ? `the target bears ${threshold} of the probability the draft gave it`
        : `after what the longer draft has taken, the probability left is ${threshold}`;
      const next = facts.accepted
        ? "all of it is kept"
        : facts.depth > 1
          ? "rejected; one token less is tried next"
          : "rejected, and nothing shorter is left";
      return `${what}: ${why}. The uniform draw u is ${u}: ${next}.`;
    },
    numbers(facts) {
      const { left, reach, parent_reach: above } = facts.terms;
      const { row, threshold } = uniform(facts);
      const product =
        `min(1, ${S.prob(above)} · ${S.prob(facts.target_prob)}/${S.prob(facts.draft_prob)}): P so ` + `far · p/q`;
      const list = [
        ["p", S.prob(facts.target_prob), "target"],
        ["q", S.prob(facts.draft_prob), facts.kind === "point_mass" ? "proposed as certain" : "draft"],
        ["P", S.prob(reach), product],
      ];
      if (number(left) === null) list.push(["h", threshold, "P itself, at the end of the chain"]);
      else
        list.push(
          ["s", S.prob(left), "Σ max(0, P·p − q), for the token after it"],
          ["h", threshold, `s/(s + 1 − P) = ${S.prob(left)}/(${S.prob(left)} + 1 − ${S.prob(reach)})`],
        );
      return [...list, row];
    },
    steps(facts, said) {
      const reach = running(facts);
      const tried = new Map(facts.round.judged.trials.slice(0, said).map((trial) => [trial.node, trial]));
      const rows = facts.round.nodes.slice(1).map((node) => {
        const trial = tried.get(node.id);
        return {
          node: node.id,
          trial,
          cells: [
            S.ratio(ratioOf(node.target_prob, node.draft_prob)),
            S.prob(reach[node.id]),
            trial ? S.prob(trial.threshold) : "",
            trial ? drawCell(trial) : "",
          ],
        };
      });
      return {
        title: "P runs down the chain, token by token; the verdicts come up from its end",
        head: ["candidate", "p/q", "P", "h", "u"],
        rows,
      };
    },
  };

  /** [A before, A after] at the parent of a rejected node; null where the trace does not say.
      @param {Facts} facts @param {trace.Trial} trial */
  function effect(facts, trial) {
    const parent = facts.round.nodes[trial.node].parent;
    const { trials, final_node: final, residual_mass: mass } = facts.round.judged;
    const below = trials.filter((other) => facts.round.nodes[other.node].parent === parent);
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
    words(facts) {
      const { u, threshold } = uniform(facts);
      const parent = quote(facts.labels[parentOf(facts)]);
      const leaf = number(facts.terms.left) === null;
      const what = leaf
        ? `The path down to the leaf ${quote(facts.token)} is tried as a whole`
        : `All below ${quote(facts.token)} was rejected, so it is a leaf itself now`;
      if (facts.threshold === 0)
        return `${what}, but nothing of the target is left for it on the way: probability 0, rejected.`;
      if (facts.accepted)
        return `${what}: acceptance probability ${threshold}. The uniform draw u is ${u}: the whole path is kept.`;
      const change = effect(facts, facts.trial);
      const then = !change
        ? ""
        : change[1] === null
          ? ` The target at ${parent} loses what this leaf had offered.`
          : ` The target at ${parent} loses what this leaf had offered, and the probability to end there goes from ` +
            `${S.prob(change[0])} to ${S.prob(change[1])}.`;
      return (
        `${what}: acceptance probability ${threshold}. The uniform draw u is ${u}: ` +
        `rejected.${parentOf(facts) ? then : " The root's target loses what it had offered."}`
      );
    },
    numbers(facts) {
      const { left, reach, parent_reach: above } = facts.terms;
      const { row, threshold } = uniform(facts);
      const first = atMostOne(ratioOf(above * facts.target_prob, facts.draft_prob));
      const list = [
        ...pAndQ(facts),
        ["A", S.prob(above), "probability of the path to its parent"],
        [
          "A·p/Q",
          S.prob(first),
          `min(1, ${S.prob(above)} · ${S.prob(facts.target_prob)} / ${S.prob(facts.draft_prob)}): probability of the ` +
            "path to it",
        ],
      ];
      if (number(left) !== null)
        list.push(
          ["A′", S.prob(reach), "before its last child was rejected"],
          ["s", S.prob(left), "Σ max(0, A′·p − Q), what that child left"],
          ["A″", threshold, `s/(s + 1 − A′) = ${S.prob(left)}/(${S.prob(left)} + 1 − ${S.prob(reach)})`],
        );
      return [...list, row];
    },
    steps(facts, said) {
      const tried = facts.round.judged.trials.slice(0, said);
      const change = (trial) => {
        const found = effect(facts, trial);
        return found ? `${S.prob(found[0])} → ${S.prob(found[1])}` : "";
      };
      return tried.length < 2
        ? null
        : {
            title: "from the leaves up, in the order they were tried",
            head: ["path to", "probability", "u", "A of parent"],
            rows: tried.map((trial) => ({ trial, cells: [S.prob(trial.threshold), drawCell(trial), change(trial)] })),
          };
    },
  };

  /** @param {trace.Round} round */
  const passedPaths = (round) => {
    const passed = new Set(round.judged.trials.filter((trial) => trial.accepted).map((trial) => trial.node));
    return [...passed].filter((node) => !round.nodes.some((child) => child.parent === node && passed.has(child.id)))
      .length;
  };
  /** @param {Facts} facts */
  const longest = (facts, said) =>
    said < facts.round.judged.trials.length
      ? { foot: "", plain: "" }
      : passedPaths(facts.round)
        ? {
            foot:
              `${S.count(passedPaths(facts.round), "path")} passed in this round; the longest has ` +
              `${S.count(facts.round.judged.path.length, "token")} and is kept.`,
            plain:
              `${S.count(passedPaths(facts.round), "way through", "ways through")} could stay in this round; the ` +
              `longest has ${S.count(facts.round.judged.path.length, "token")}, and it stays.`,
          }
        : { foot: "No path passed in this round.", plain: "No way through could stay in this round." };
  const longestPath = {
    words(facts) {
      if (facts.terms.given)
        return `${quote(facts.token)} was proposed by the target itself: it passes and nothing is asked.`;
      const { u, threshold } = uniform(facts);
      const likes =
        facts.threshold >= 1
          ? "at least as much as the draft did, so it passes without a doubt"
          : `${S.ratio(facts.ratio)} times as much as the draft did: acceptance probability ${threshold}, and u is ` +
            `${u}: ${facts.accepted ? "it passes" : "rejected"}`;
      return `By itself, whatever its siblings did: the target likes ${quote(facts.token)} ${likes}.`;
    },
    numbers: (facts) =>
      facts.terms.given
        ? [["p", S.prob(facts.target_prob), "target, which proposed it: passes"]]
        : sequential.numbers(facts),
    steps: (facts, said) =>
      siblings(
        facts,
        said,
        "siblings, each tried by itself against the same p",
        [
          ["p", (trial) => S.prob(trial.target_prob)],
          ["q", (trial) => S.prob(trial.draft_prob)],
          ["p/q", (trial) => S.ratio(ratioOf(trial.target_prob, trial.draft_prob))],
        ],
        longest(facts, said),
      ),
  };

  const typical = {
    words(facts) {
      const [p, bar] = S.compared(facts.target_prob, number(facts.terms.bar));
      return (
        `The target gives ${quote(facts.token)} ${p}, ${facts.accepted ? "above" : "not above"} the bar of ` +
        `${bar} that its own uncertainty sets: ${verdict(facts)}.`
      );
    },
    numbers(facts) {
      const { entropy, bar } = facts.terms;
      const { epsilon, delta } = facts.options;
      const scaled = number(delta) === null || number(entropy) === null ? null : delta * Math.exp(-entropy);
      const [p, against] = S.compared(facts.target_prob, number(bar));
      return [
        ["H", S.ratio(entropy), "entropy of the target here, in nats: how undecided it is"],
        ["δe⁻ᴴ", S.prob(scaled), `${S.ratio(delta)} · exp(−${S.ratio(entropy)}): less the more undecided it is`],
        ["ε", S.prob(epsilon), "more than this always passes"],
        ["bar", against, scaled !== null && scaled < epsilon ? "the smaller one: δe⁻ᴴ" : "the smaller one: ε"],
        [
          "p",
          p,
          `${facts.accepted ? ">" : "≤"} ${against}: ${facts.accepted ? "passes" : "rejected"}; nothing is drawn`,
        ],
      ];
    },
    steps(facts, said) {
      const tried = triedBelow(facts, said);
      return tried.length < 2
        ? null
        : {
            title: "siblings, each held against the same bar",
            head: ["candidate", "p", "bar"],
            rows: tried.map((trial) => ({
              trial,
              cells: [S.prob(trial.target_prob), S.prob((trial.terms || {}).bar)],
            })),
            ...longest(facts, said),
          };
    },
  };

  const pathRules = { block, traversal, longest_path: longestPath, typical };
  return { effect, pathRules };
})(SpecViz);
Object.assign(SpecViz, pathRules);

// Each verifier told in its own terms, on rounds small enough to work out by hand.
const test = require("node:test");
const assert = require("node:assert");
const { S, sample } = require("./load.js");

const plain = (text) => text.replace(/[\u2068\u2069]/g, "");

/** A round from [parent, p, q] per node and the trials as the trace would have them. */
function told(rule, tree, trials, more = {}, options = {}) {
  const depths = [0];
  const nodes = [{ id: 0, parent: -1, depth: 0, target: { tokens: [], probs: [], rest: 1 } }];
  tree.forEach(([parent, p, q, kind = "iid"], at) => {
    depths.push(depths[parent] + 1);
    nodes.push({
      id: at + 1,
      parent,
      depth: depths[at + 1],
      kind,
      source: "model",
      target_prob: p,
      draft_prob: q,
      target: nodes[0].target,
    });
  });
  const judged = { rule, trials, path: [], final_node: 0, residual_mass: null, origin: "bonus", ...more };
  const labels = nodes.map((_, id) => "rabcdefg"[id]);
  labels[S.END] = "z";
  labels.after = () => new Uint8Array();
  const trace = { started: { verifier: { options }, sampling: { temperature: 1 } }, vocab: {} };
  const at = (place) => S.trialFacts(trace, { nodes, judged }, labels, trials[place]);
  const { words, numbers, steps } = S.ruleOf({ judged });
  return {
    words: (place) => plain(words(at(place))),
    numbers: (place) => numbers(at(place)).map(([name, value]) => `${name} ${value}`),
    steps: (place, said = trials.length) => {
      const found = steps(at(place), said);
      return (
        found && {
          ...found,
          rows: found.rows.map((row) => [labels[row.node ?? row.trial.node], ...row.cells].join(" ")),
        }
      );
    },
  };
}
const trial = (node, p, q, threshold, u, terms = {}) => ({
  node,
  target_prob: p,
  draft_prob: q,
  threshold,
  u,
  accepted: u === null ? threshold > 0.5 : u < threshold,
  terms,
});

test("sequential: the chain of siblings shows what each rejection left, and what the correction came from", () => {
  // p = (.2 a, .3 b), q = (.4 a, .3 b): after a is rejected p(b) = .3 / .8 = .375, and without replacement Q(b) = .3 /
  // .6 = .5
  const trials = [trial(1, 0.2, 0.4, 0.5, 0.7), trial(2, 0.375, 0.5, 0.75, 0.8)];
  const round = told(
    "sequential",
    [
      [0, 0.2, 0.4, "without_replacement"],
      [0, 0.3, 0.3, "without_replacement"],
    ],
    trials,
    { origin: "correction", residual_mass: 0.42 },
  );
  assert.deepEqual(round.steps(1).head, ["candidate", "p left", "Q", "p/Q", "u"]);
  assert.deepEqual(round.steps(1).rows, ["a 0.20 0.40 0.50 0.70", "b 0.38 0.50 0.75 0.80"]);
  assert.match(round.steps(1).foot, /0\.42 is left/);
  assert.equal(round.steps(1, 1), null, "one trial alone is no chain yet");
  assert.equal(
    round.words(1),
    "What the rejected sibling left of the target likes b only 0.75 times as much as the draft did. Its acceptance " +
      "probability is 0.75; the uniform draw u is 0.80: rejected.",
  );
});

test("lenience: the factor, the exact rule's probability beside the lenient one, the drift where it decided", () => {
  const round = told("lenience", [[0, 0.2, 0.8]], [trial(1, 0.2, 0.8, 0.5, 0.3)], {}, { lenience: 0.5 });
  assert.deepEqual(round.numbers(0), ["p 0.20", "q 0.80", "p/Q 0.25", "l 0.50", "p/lQ 0.50", "u 0.30"]);
  assert.match(
    round.words(0),
    /would keep a with probability 0\.25; lenience 0\.50 .* makes it 0\.50\..* u is 0\.30: accepted\. The exact rule/,
  );
});

test("lenience at temperature 0: the share of the first choice, and nothing is drawn", () => {
  const round = told(
    "lenience",
    [[0, 0, 1, "point_mass"]],
    [trial(1, 0, 1, 1, 0.3, { share: 0.6 })],
    {},
    { lenience: 0.5 },
  );
  assert.deepEqual(round.numbers(0), ["share 0.60", "l 0.50"]);
  assert.match(
    round.words(0),
    /a has 0\.60 of the probability .* and lenience asks for 0\.50: accepted\. .* would have rejected it/,
  );
});

test("kseq: one ρ for all siblings, and the acceptance probabilities of one and of any", () => {
  // K = 2, β = .5: 1 − .25 = .75 = ρ β with ρ = 1.5
  const terms = { rho: 1.5, beta: 0.5 };
  const round = told(
    "kseq",
    [
      [0, 0.3, 0.4],
      [0, 0.1, 0.2],
    ],
    [trial(1, 0.3, 0.4, 0.5, 0.9, terms), trial(2, 0.1, 0.2, 1 / 3, 0.5, terms)],
  );
  assert.deepEqual(round.numbers(0), ["p 0.30", "q 0.40", "ρ 1.50", "β 0.50", "any 0.75", "p/ρq 0.50", "u 0.90"]);
  assert.deepEqual(round.steps(1).rows, ["a 0.30 0.40 0.50 0.90", "b 0.10 0.20 0.33 0.50"]);
  assert.match(round.words(0), /one of 2 siblings that are all judged alike, with p divided by ρ = 1\.50/);
});

test("block: P runs down the whole chain, h and the draws come up from its end", () => {
  // p/q = .5, 2, .4: P = .5, 1 (capped), .4; the last rejected, s = .3 for the prefix of two: h = .3 / (.3 + 1 − 1) = 1
  const trials = [
    trial(3, 0.2, 0.5, 0.4, 0.6, { parent_reach: 1, reach: 0.4 }),
    trial(2, 0.8, 0.4, 1, 0.9, { parent_reach: 0.5, reach: 1, left: 0.3 }),
  ];
  const round = told(
    "block",
    [
      [0, 0.3, 0.6],
      [1, 0.8, 0.4],
      [2, 0.2, 0.5],
    ],
    trials,
    { order: "bottom_up" },
  );
  assert.deepEqual(round.steps(1).rows, ["a 0.50 0.50  ", "b 2.00 1 1 0.90", "c 0.40 0.40 0.40 0.60"]);
  assert.deepEqual(round.steps(0, 1).rows[1], "b 2.00 1  ", "no verdict shows before it was spoken");
  assert.deepEqual(round.numbers(1), ["p 0.80", "q 0.40", "P 1", "s 0.30", "h 1", "u 0.90"]);
  assert.equal(
    round.words(0),
    "The whole draft down to c is judged as one: the target bears 0.40 of the probability the draft gave " +
      "it. The uniform draw u " +
      "is 0.60: rejected; one token less is tried next.",
  );
  assert.equal(
    round.words(1),
    "Now the first two tokens together, down to b: after what the longer draft has taken, the probability left is 1. " +
      "The uniform draw u is 0.90: all of it is kept.",
  );
});

test("traversal: which leaf was tried, and how its rejection changed its parent", () => {
  // root → a → (b, c); A(a) = .8. b rejected: s = .2 leaves A(a) = .2/(.2 + 1 − .8) = .5; c rejected: s = .25 leaves
  // .25/.75 = 1/3
  const trials = [
    trial(2, 0.1, 0.4, 0.2, 0.5, { parent_reach: 0.8 }),
    trial(3, 0.2, 0.5, 0.2, 0.9, { parent_reach: 0.5 }),
    trial(1, 0.4, 0.5, 1 / 3, 0.1, { parent_reach: 1, reach: 0.5, left: 0.25 }),
  ];
  const round = told(
    "traversal",
    [
      [0, 0.4, 0.5],
      [1, 0.1, 0.4],
      [1, 0.3, 0.5],
    ],
    trials,
    { order: "bottom_up" },
  );
  assert.deepEqual(round.steps(2).rows, ["b 0.20 0.50 0.80 → 0.50", "c 0.20 0.90 0.50 → 0.33", "a 0.33 0.10 "]);
  assert.equal(
    round.words(0),
    "The path down to the leaf b is tried as a whole: acceptance probability 0.20. The uniform draw u is " +
      "0.50: rejected. The target at a " +
      "loses what this leaf had offered, and the probability to end there goes from 0.80 to 0.50.",
  );
  assert.deepEqual(round.numbers(2), [
    "p 0.40",
    "q 0.50",
    "A 1",
    "A·p/Q 0.80",
    "A′ 0.50",
    "s 0.25",
    "A″ 0.33",
    "u 0.10",
  ]);
  assert.match(
    round.words(2),
    /^All below a was rejected, .* leaf itself now: .* 0\.33\..* u is 0\.10: the whole path is kept\.$/,
  );
});

test(
  "traversal: where the walk ends at the parent, the mass that is left gives its new probability; else it is not " +
    "known",
  () => {
    const trials = [trial(1, 0.1, 0.4, 0.25, 0.5, { parent_reach: 0.5 })];
    const context = (final) => ({
      round: { nodes: [{ id: 0 }, { id: 1, parent: 0 }], judged: { trials, final_node: final, residual_mass: 0.5 } },
    });
    assert.deepEqual(S.effect(context(0), trials[0]), [0.5, 0.5]);
    assert.deepEqual(S.effect(context(7), trials[0]), [0.5, null]);
  },
);

test("typical: the bar comes from the entropy where that is lower than ε, and nothing is drawn", () => {
  // δ e^(−ln 6) = .3 / 6 = .05 < ε = .09
  const terms = { entropy: Math.log(6), bar: 0.05 };
  const round = told(
    "typical",
    [[0, 0.07, 0.2]],
    [trial(1, 0.07, 0.2, 1, null, terms)],
    { order: "longest" },
    { epsilon: 0.09, delta: 0.3 },
  );
  assert.deepEqual(round.numbers(0), ["H 1.79", "δe⁻ᴴ 0.050", "ε 0.090", "bar 0.050", "p 0.070"]);
  assert.match(round.words(0), /gives a 0\.070, above the bar of 0\.050 that its own uncertainty sets: accepted/);
});

test("longest path: siblings by themselves, and in the end how many paths passed", () => {
  const trials = [trial(1, 0.5, 0.5, 1, 0.2), trial(2, 0.2, 0.4, 0.5, 0.4), trial(3, 0.3, 0.6, 0.5, 0.1)];
  const round = told(
    "longest_path",
    [
      [0, 0.5, 0.5],
      [0, 0.2, 0.4],
      [1, 0.3, 0.6],
    ],
    trials,
    { order: "longest", path: [1, 3] },
  );
  assert.deepEqual(round.steps(1).rows, ["a 0.50 0.50 1.00 0.20", "b 0.20 0.40 0.50 0.40"]);
  assert.equal(round.steps(1).foot, "2 paths passed in this round; the longest has 2 tokens and is kept.");
  assert.equal(round.steps(1, 2).foot, "", "not before the last trial");
  const given = told("longest_path", [[0, 0.5, 0.9]], [trial(1, 0.5, 0.9, 1, 0.2, { given: 1 })], {
    order: "longest",
    path: [1],
  });
  assert.equal(given.words(0), "a was proposed by the target itself: it passes and nothing is asked.");
});

test("a trace of version 1.0 without order, terms or policies reads under every rule", () => {
  for (const rule of [...Object.keys(S.rules), "constructor", "from the future"]) {
    const trace = sample();
    delete trace.started.verifier.options;
    for (const round of trace.rounds) {
      round.judged.rule = rule;
      for (const one of round.judged.trials) {
        delete one.terms;
        if (one.u === null) one.u = 0.5;
      }
      const labels = S.nodeLabels(trace, round.index);
      round.judged.trials.forEach((one, at) => {
        const facts = S.trialFacts(trace, round, labels, one);
        const found = S.ruleOf(round);
        const all = JSON.stringify([
          found.words(facts),
          found.numbers(facts),
          (found.steps(facts, at + 1) || {}).rows?.map((row) => row.cells) ?? [],
        ]);
        assert.ok(!/undefined|null|NaN/.test(all), `${rule}: ${all}`);
      });
    }
  }
});

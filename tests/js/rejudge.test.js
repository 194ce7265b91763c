// A round judged again, on distributions small enough to work out by hand.
const test = require("node:test");
const assert = require("node:assert");
const { S, sample, greedy } = require("./load.js");

const NONE = { temperature: 1, topK: 0, topP: 1, gamma: null, lenience: 1 };
const head = (probs, stored = probs.length) => ({
  tokens: probs.map((_, token) => token).slice(0, stored),
  probs: probs.slice(0, stored),
  rest: Number(
    probs
      .slice(stored)
      .reduce((a, b) => a + b, 0)
      .toFixed(6),
  ),
});
const near = ([low, high], wanted, by = 2e-5) =>
  assert.ok(low <= wanted && wanted <= high && high - low <= by, `${wanted} is not what [${low}, ${high}] says`);
const covers = ([low, high], [from, to]) =>
  assert.ok(Math.abs(low - from) < 2e-4 && Math.abs(high - to) < 2e-4, `[${low}, ${high}] is not [${from}, ${to}]`);
const at = (probs, stored, size, a, topK = 0, topP = 1) => {
  const spread = S.reshaped(head(probs, stored), new Map(), size, a, topK, topP);
  return (token) => S.probAt(spread, token);
};

test("three tokens, all stored: half the temperature squares and makes whole again", () => {
  const p = at([0.5, 0.3, 0.2], 3, 3, 2); // .25, .09, .04 of .38
  near(p(0), 0.25 / 0.38);
  near(p(2), 0.04 / 0.38);
});

test("top-k within what is stored is exact, whatever the temperature and however long the rest", () => {
  const p = at([0.5, 0.3, 0.1], 3, 4096, 1, 2);
  near(p(0), 0.625);
  near(p(1), 0.375);
  near(p(2), 0);
  near(p(77), 0);
  near(at([0.4, 0.2, 0.1], 3, 4096, 2, 2)(0), 0.8); // .16 of .16 + .04
});

test("top-p within the stored mass is exact: the set ends at the token that reaches it", () => {
  const p = at([0.5, 0.3, 0.1], 3, 4096, 1, 0, 0.7); // .5 < .7, so .3 stays too
  near(p(0), 0.625);
  near(p(1), 0.375);
  near(p(2), 0);
});

test("top-p beyond the stored mass leaves bounds: the set has that mass, and one token more at most", () => {
  const p = at([0.5, 0.3, 0.1, 0.1], 2, 4096, 1, 0, 0.9); // kept mass between .9 and 1
  covers(p(0), [0.5, 0.5 / 0.9]);
  covers(p(9), [0, 0.2]); // one unlisted token may have all of the rest, and then everything stays
});

test("another temperature with a rest: from one token that has it all to equal shares, and nothing narrower", () => {
  // stored .6 and .2, rest .2 in two tokens, none above .2: squared the rest is between 2 · .1² = .02 and .2² = .04
  covers(at([0.6, 0.2, 0.1, 0.1], 2, 4, 2)(0), [0.36 / 0.44, 0.36 / 0.42]);
  // hotter, a = 1/2: between √.2 = .4472 and 2 · √.1 = .6325
  const roots = Math.sqrt(0.6) + Math.sqrt(0.2);
  covers(at([0.6, 0.2, 0.1, 0.1], 2, 4, 0.5)(0), [
    Math.sqrt(0.6) / (roots + 0.6325),
    Math.sqrt(0.6) / (roots + 0.4472),
  ]);
  near(at([0.6, 0.2, 0.1, 0.1], 2, 4, 1)(0), 0.6);
});

test("a cut through tokens of equal stored probability leaves open which of them stays", () => {
  const p = at([0.4, 0.3, 0.3], 3, 3, 1, 2);
  assert.equal(p(1)[0], 0);
  assert.equal(p(2)[0], 0);
  assert.ok(p(2)[1] > 0.4);
});

test("after a rejection p is what max(0, p − q) leaves; a point mass only takes its token away", () => {
  const p = S.asStored(head([0.5, 0.3, 0.2]), new Map());
  // 0, .1, .1
  const left = S.afterRejection(p, S.asStored({ tokens: [0, 1, 2], probs: [0.7, 0.2, 0.1], rest: 0 }, new Map()), 0);
  near(S.probAt(left, 0), 0);
  near(S.probAt(left, 1), 0.5, 1e-4);
  near(S.probAt(S.afterRejection(p, null, 0), 1), 0.6, 1e-4);
});

test("without the rejected sibling its mass goes to the others", () => {
  near(S.probAt(S.withoutTokens(S.asStored(head([0.5, 0.3, 0.2]), new Map()), [0]), 1), 0.6);
});

/** A chain or siblings below the root: candidates as [parent, token, u, accepted], p and q at every node alike. */
function told(rule, p, q, candidates, settings, more = {}) {
  const nodes = [{ id: 0, parent: -1, depth: 0, token: 0, kind: "root", target: p, draft: q }];
  candidates.forEach(([parent, token], place) =>
    nodes.push({
      id: place + 1,
      parent,
      depth: nodes[parent].depth + 1,
      token,
      kind: q ? "iid" : "point_mass",
      source: "model",
      target: p,
      draft: q,
      target_prob: p.probs[token],
      draft_prob: q ? q.probs[token] : 1,
      target_raw: more.raw || null,
    }),
  );
  nodes[0].target_raw = more.raw || null;
  const trials = candidates
    .map(([, token, u, accepted], place) => ({
      node: place + 1,
      target_prob: p.probs[token],
      draft_prob: q ? q.probs[token] : 1,
      threshold: 0.5,
      u,
      accepted,
    }))
    .filter((trial) => trial.accepted !== undefined);
  const trace = {
    started: {
      sampling: { temperature: 1, top_k: 0, top_p: 1, ...more.sampling },
      verifier: { name: rule, options: more.options || {} },
      target: { vocab_size: more.size || p.probs.length },
      drafter: {},
    },
  };
  return S.rejudge(trace, { nodes, judged: { rule, trials, path: [] } }, { ...NONE, ...settings });
}
const now = (found) => [...found.all.values()].map((one) => one.now);
const ownP = head([0.5, 0.3, 0.2]),
  ownQ = head([0.6, 0.3, 0.1]);

test("colder, a token that the draft liked more is rejected: p/q falls below u", () => {
  // p = .5, q = .6: p/q = .833 > u = .8. Squared: .25/.38 = .658, .36/.46 = .783: .841; a = 4: .0625/.0722 = .866,
  // .1296/.1378 = .940: .921
  assert.deepEqual(now(told("sequential", ownP, ownQ, [[0, 0, 0.8, true]], {})), ["accepted"]);
  assert.deepEqual(now(told("sequential", ownP, ownQ, [[0, 0, 0.84, false]], { temperature: 0.5 })), ["accepted"]);
  // hotter, a = 1/2: .7071/1.7021 = .4154, .7746/1.6385 = .4728: .879; token 2: p .4472/1.7021 = .263, q .3162/1.6385
  // = .193
  const hotter = told(
    "sequential",
    ownP,
    ownQ,
    [
      [0, 0, 0.87, false],
      [0, 1, 0.1, true],
    ],
    { temperature: 2 },
  );
  assert.deepEqual(now(hotter), ["accepted", "untried"]);
  assert.equal(
    S.rejudged(hotter),
    "1 of 2 verdicts flips; 1 is no longer tried. Accepted candidates: 0 recorded, 1 now.",
  );
});

test("lenience divides: u ≤ p/(l q), and l alone changes neither p nor q", () => {
  const found = told("sequential", ownP, ownQ, [[0, 0, 0.9, false]], { lenience: 0.9 }); // .833 / .9 = .926
  assert.deepEqual(now(found), ["accepted"]);
  assert.deepEqual(
    [found.all.get(1).p, found.all.get(1).q],
    [
      [0.5, 0.5],
      [0.6, 0.6],
    ],
  );
});

test("a smaller gamma cuts the draft; what was tried beyond it has no verdict", () => {
  const found = told(
    "sequential",
    ownP,
    ownQ,
    [
      [0, 0, 0.1, true],
      [1, 0, 0.9, false],
    ],
    { gamma: 1 },
  );
  assert.deepEqual(now(found), ["accepted", "cut"]);
  assert.equal(S.rejudged(found), "0 of 2 verdicts flip; 1 is cut off. Accepted candidates: 0 recorded, 1 now.");
});

test("at temperature 0 the first choice is accepted and everything else rejected", () => {
  assert.deepEqual(now(told("sequential", ownP, ownQ, [[0, 0, 0.9, false]], { temperature: 0 })), ["accepted"]);
  assert.deepEqual(now(told("sequential", ownP, ownQ, [[0, 1, 0.1, true]], { temperature: 0 })), ["rejected"]);
  assert.deepEqual(
    now(told("sequential", head([0.4, 0.4, 0.2]), ownQ, [[0, 1, 0.1, true]], { temperature: 0 })),
    ["untold"],
    "two first choices of equal stored probability",
  );
});

test("from temperature 0 upwards there is no uniform draw: the probability is told, the verdict is not", () => {
  const point = { tokens: [0], probs: [1], rest: 0 };
  const found = told(
    "greedy",
    point,
    null,
    [[0, 0, null, true]],
    { temperature: 1 },
    { raw: ownP, sampling: { temperature: 0 } },
  );
  assert.deepEqual([found.all.get(1).now, found.all.get(1).why], ["untold", "undrawn"]);
  near(found.all.get(1).acceptance, 0.5);
  assert.equal(
    S.rejudged(found),
    "0 of 1 verdict flip; 1 cannot be told because no u was drawn. Accepted candidates: 0 recorded, " + "now not told.",
  );
});

test("at temperature 0 lenience compares with the first choice", () => {
  const point = { tokens: [0], probs: [1], rest: 0 };
  const found = (lenience) =>
    now(
      told(
        "greedy",
        point,
        null,
        [[0, 1, null, false]],
        { temperature: 0, lenience },
        { raw: ownP, sampling: { temperature: 0 } },
      ),
    );
  assert.deepEqual(found(0.7), ["rejected"]); // .3 / .5 = .6
  assert.deepEqual(found(0.5), ["accepted"]);
});

test(
  "where the stored top-k row leaves the probability on both sides of u, the verdict and all that hangs on " +
    "it are not " +
    "told",
  () => {
    const short = { tokens: [0, 1], probs: [0.4, 0.2], rest: 0.4 };
    const point = told(
      "sequential",
      short,
      null,
      [
        [0, 0, 0.2, true],
        [1, 1, 0.3, false],
      ],
      { temperature: 2 },
      { size: 4096 },
    );
    assert.deepEqual(
      [...point.all.values()].map((one) => one.why),
      ["bounds", "before"],
    );
    assert.equal(
      S.rejudged(point),
      "0 of 2 verdicts flip; 1 cannot be told from the stored top 2; 1 cannot be told because of one before. " +
        "Accepted candidates: 0 recorded, now not told.",
    );
  },
);

test("a candidate that was never tried is told where no number is needed, and else its probability alone", () => {
  const candidates = [
    [0, 0, 0.9, false],
    [1, 1],
    [1, 0],
  ];
  const found = told("sequential", ownP, ownQ, candidates, { lenience: 0.9 });
  assert.deepEqual(now(found), ["accepted", "accepted", "untried"], "p/q = 1 / .9: no number can reject it");
  assert.equal(found.fresh, 1);
  const unsure = told(
    "sequential",
    ownP,
    ownQ,
    [
      [0, 0, 0.9, false],
      [1, 0],
    ],
    { lenience: 0.95, topK: 0 },
  );
  assert.deepEqual(now(unsure), ["rejected", "untried"]);
});

test("nothing moved is nothing changed, for every rule that can be judged again; the others say so", () => {
  for (const trace of [sample(), greedy()]) {
    for (const round of trace.rounds.filter(S.canRejudge)) {
      const found = S.rejudge(trace, round, S.recorded(trace));
      assert.deepEqual([...found.all.values()].map(S.changeOf).filter(Boolean), []);
      assert.equal(found.accepted[1], round.judged.path.length);
    }
  }
  for (const rule of ["block", "traversal", "kseq", "typical", "naive", "from the future"]) {
    const round = { nodes: [], judged: { rule, trials: [{}] } };
    assert.equal(S.canRejudge(round), false);
    assert.match(S.whyNot({ round, at: { drawn: true } }), /one candidate at a time/);
  }
});

test("the panel moves what there is: recorded values are among the choices, and gamma only goes down", () => {
  const trace = sample();
  trace.started.sampling.temperature = 0.83;
  const choices = Object.fromEntries(S.controls(trace, trace.rounds[0]).map(([name, , values]) => [name, values]));
  assert.ok(choices.temperature.includes(0.83) && choices.temperature[0] === 0);
  assert.deepEqual(choices.gamma, [1, 2, 3, null]);
  assert.equal(choices.topK.at(-1), 0);
  assert.deepEqual(choices.lenience.at(-1), 1);
});

test("a changed verdict shows its numbers before and after, and an interval where there is one", () => {
  const one = { p: [0.5, 0.5], q: [0.5, 0.8], acceptance: [0.62, 1], u: 0.7, now: "untold" };
  assert.deepEqual(S.changedNumbers(one, { target_prob: 0.3, draft_prob: 0.6, threshold: 0.5 }), [
    ["p", "0.30", "0.50"],
    ["q", "0.60", "0.50 to 0.80"],
    ["p/q", "0.50", "0.63 to 1.00"],
    ["acceptance probability", "0.50", "0.62 to 1"],
    ["u", null, "0.70"],
  ]);
});

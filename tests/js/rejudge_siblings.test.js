// Siblings judged again: what an earlier rejection leaves of p and of q, and what a verdict at its very bound is.
const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const near = ([low, high], wanted) =>
  assert.ok(low <= wanted && wanted <= high && high - low < 2e-4, `${wanted} is not what [${low}, ${high}] says`);
const head = (probs) => ({ tokens: probs.map((_, token) => token), probs, rest: 0 });
const ownP = [0.2, 0.5, 0.3],
  ownQ = [0.5, 0.3, 0.2];

/** Siblings below the root as [token, u, accepted, kind, source], recorded at temperature 1 and judged again. */
function again(siblings, settings, rule = "sequential", lenience = undefined) {
  const nodes = [{ id: 0, parent: -1, depth: 0, token: 0, kind: "root", target: head(ownP), draft: head(ownQ) }];
  for (const [token, , , kind, source] of siblings)
    nodes.push({
      ...{ id: nodes.length, parent: 0, depth: 1, token, kind, source, target: head(ownP), draft: head(ownQ) },
      ...{ target_prob: ownP[token], draft_prob: kind === "point_mass" ? 1 : ownQ[token] },
    });
  const trials = siblings.flatMap(([token, u, accepted, kind], place) =>
    accepted === undefined
      ? []
      : [
          {
            node: place + 1,
            target_prob: ownP[token],
            draft_prob: kind === "point_mass" ? 1 : ownQ[token],
            u,
            accepted,
          },
        ],
  );
  const trace = {
    started: {
      sampling: { temperature: 1, top_k: 0, top_p: 1 },
      verifier: { name: rule, options: lenience === undefined ? {} : { lenience } },
      target: { vocab_size: 3 },
      drafter: {},
    },
  };
  const now = { temperature: 1, topK: 0, topP: 1, gamma: null, lenience: 1, ...settings };
  return [...S.rejudge(trace, { nodes, judged: { rule, trials, path: [] } }, now).all.values()];
}
const COLDER = { temperature: 0.5 }; // squares: p .04, .25, .09 of .38, q .25, .09, .04 of .38
const drawn = (token, u, accepted, source = "model") => [token, u, accepted, "without_replacement", source];

test("without replacement a rejected sibling of the same draw is taken out of q, and p is what it left", () => {
  const [first, second] = again([drawn(0, 0.3, true), drawn(1)], COLDER);
  assert.deepEqual([first.now, second.now], ["rejected", "accepted"], "p/q was .4 and is .16; then p/q is over one");
  near(second.q, 0.09 / (0.09 + 0.04));
  near(second.p, (0.25 - 0.09) / (0.25 - 0.09 + (0.09 - 0.04)));
});

test("a candidate that was never tried has the p that the rejection before it leaves", () => {
  const [first, second] = again([drawn(0, 0.9, false), drawn(1)], { lenience: 0.99 }); // max(0, p − q): 0, .2, .1
  assert.equal(first.now, "rejected");
  near(second.p, 2 / 3);
});

test("two rejected siblings are both out of the third one's q", () => {
  const [first, second, last] = again([drawn(0, 0.3, true), drawn(2, 0.9, false), drawn(1)], { temperature: 0.4 });
  assert.deepEqual([first.now, second.now, last.now], ["rejected", "rejected", "accepted"]);
  near(last.q, 1);
});

test("a rejected point mass leaves q as it is, and of p it takes its own token alone", () => {
  const [first, second] = again([[0, 0.11, true, "point_mass", "model"], drawn(1)], COLDER);
  assert.equal(first.now, "rejected", "p was .2 and is .105");
  near(second.q, 0.09 / 0.38);
  near(second.p, 0.25 / 0.34);
});

test("i.i.d. siblings are each drawn from all of q", () => {
  const [, second] = again(
    [
      [0, 0.3, true, "iid", "model"],
      [1, undefined, undefined, "iid", "model"],
    ],
    COLDER,
  );
  near(second.q, 0.09 / 0.38);
});

test("of siblings that several models drew the row that is kept is one model's: q is not told", () => {
  const [first, second] = again([drawn(0, 0.3, true), drawn(1, undefined, undefined, "model_2")], COLDER);
  assert.deepEqual([first.q, first.now, first.why], [[0, 1], "untold", "bounds"]);
  near(first.p, 0.04 / 0.38);
  assert.deepEqual([second.now, second.why], ["untold", "before"]);
});

test("at the bound itself a candidate is rejected, just below it accepted", () => {
  const of = (u) => again([[0, u, false, "point_mass", "model"]], { lenience: 0.4 })[0]; // .2 ÷ (.4 · 1) = .5
  assert.deepEqual([of(0.5).acceptance, of(0.5).now], [[0.5, 0.5], "rejected"]);
  assert.equal(of(0.4999).now, "accepted");
  const sure = again([[1, null, false, "point_mass", "model"]], { lenience: 0.5 })[0]; // .5 ÷ .5 = 1
  assert.deepEqual([sure.acceptance[0], sure.now], [1, "accepted"], "what has probability one needs no number");
  const never = again([[2, 0.999, true, "point_mass", "model"]], { topK: 1 })[0];
  assert.deepEqual([never.acceptance[1], never.now], [0, "rejected"]);
});

test("where the longest accepted path is kept, siblings of an accepted one are judged too", () => {
  const drawnBoth = [
    [1, 0.1, true, "point_mass", "model"],
    [2, 0.1, true, "point_mass", "model"],
  ];
  const verdicts = (rule) => again(drawnBoth, { temperature: 0.9 }, rule).map((one) => one.now);
  assert.deepEqual(verdicts("longest_path"), ["accepted", "accepted"]);
  assert.deepEqual(verdicts("sequential"), ["accepted", "untried"]);
});

test("a token outside the stored row has its recorded probability, taken back to temperature 1", () => {
  // .5, .3, .2 at temperature 1, of which two are stored; recorded at 1/2: .25, .09, .04 of .38, and now judged at 1
  const raw = { tokens: [0, 1], probs: [0.5, 0.3], rest: 0.2 };
  const cut = { tokens: [0, 1], probs: [0.25 / 0.38, 0.09 / 0.38], rest: 0.04 / 0.38 };
  const root = { id: 0, parent: -1, depth: 0, token: 0, kind: "root", target: cut, target_raw: raw, draft: null };
  const child = { id: 1, parent: 0, depth: 1, token: 2, kind: "point_mass", source: "ngram", target_prob: 0.04 / 0.38 };
  const leaf = { ...child, draft_prob: 1, target: { tokens: [0], probs: [1], rest: 0 }, draft: null };
  const trial = { node: 1, target_prob: 0.04 / 0.38, draft_prob: 1, u: 0.15, accepted: false };
  const trace = {
    started: {
      sampling: { temperature: 0.5, top_k: 3, top_p: 1 }, // a cut row says nothing at another temperature
      verifier: { name: "sequential", options: {} },
      target: { vocab_size: 3 },
      drafter: {},
    },
  };
  const judged = { rule: "sequential", trials: [trial], path: [] };
  const now = { temperature: 1, topK: 0, topP: 1, gamma: null, lenience: 1 };
  const found = S.rejudge(trace, { nodes: [root, leaf], judged }, now);
  const one = found.all.get(1);
  assert.ok(one.p[0] <= 0.2 && 0.2 <= one.p[1] && one.p[1] - one.p[0] < 0.002, `${one.p}`);
  assert.equal(one.now, "accepted", ".105 became .2, and u is .15");
  assert.equal(found.top, 2, "the longest row that is stored");
});

// The editor of rules: its language's errors, its bars, and the worker that judges.
const test = require("node:test");
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { S } = require("./load.js");

const cases = JSON.parse(fs.readFileSync(path.join(__dirname, "..", "written_rules", "cases.json"), "utf-8"));
const WORLD = { p: [0.5, 0.3, 0.2], q: [0.2, 0.45, 0.35], gamma: 1, siblings: 1, draw: "iid" };
const EXACT = "accept = min(1, p / q)\nreplacement = max(0, p - q)";

test("an error says its place and what to write", () => {
  for (const [text, sentence] of cases.errors)
    assert.throws(() => S.judgeRule(text, WORLD), { message: sentence }, text);
});

test("a verdict names what a rule is", () => {
  const verdict = (text, world = WORLD) => S.judgeRule(text, world).verdict;
  assert.equal(verdict(EXACT), "Exact: the law is p, to rounding.");
  assert.equal(
    verdict("accept = min(1, p / q)\nreplacement = p"),
    "Biased towards b (+0.090), away from a (−0.150); total variation 0.150.",
  );
  assert.equal(
    verdict("accept = min(1, p / q)\nreplacement = p - q"),
    "Loses mass: with probability 0.300 nothing is left to draw a token from.",
  );
  assert.equal(
    verdict("accept = min(1, p / Q)\nreplacement = max(0, r - Q)", { ...WORLD, q: WORLD.p, siblings: 2 }),
    "Exact for these p and q, but not for every: it is not for p = 0.5, 0.3, 0.2 and q = 0.2, 0.45, 0.35.",
  );
  assert.equal(
    verdict(`${EXACT}\nbonus = p`),
    "The first token has the law p, but what follows it does not: look at the pairs.",
  );
});

test("what is kept, and what a pass gives, are those worked out by hand", () => {
  const judged = S.judgeRule(EXACT, WORLD);
  assert.ok(Math.abs(judged.acceptance - 0.7) < 1e-12);
  assert.ok(Math.abs(judged.tokens - 1.7) < 1e-12);
  assert.equal(
    S.numbersLine(judged, WORLD, false),
    "The candidate is kept with probability 0.700; an exact rule keeps at most Σ min(p, q) = 0.700. " +
      "A pass gives 1.700 tokens on average.",
  );
});

test("a bar that moves takes from the others in proportion, and the sum stays 1", () => {
  assert.deepEqual(S.movedRow([0.5, 0.3, 0.2], 0, 0.6), [0.6, 0.24, 0.16]);
  assert.deepEqual(S.movedRow([0.5, 0.3, 0.2], 0, 2), [1, 0, 0]);
  assert.deepEqual(S.movedRow([1, 0, 0], 0, 0.5), [0.5, 0.25, 0.25]);
  assert.deepEqual(S.movedRow([0.334, 0.333, 0.333], 1, 0.5), [0.25, 0.5, 0.25]);
  assert.deepEqual(S.resizedRow([0.5, 0.3, 0.2], 4), [0.4, 0.24, 0.16, 0.2]);
  assert.deepEqual(S.resizedRow([0.5, 0.3, 0.1, 0.1], 3), [0.556, 0.333, 0.111]);
});

test("a bar obeys its keys and no others", () => {
  const near = (one, other) => assert.ok(Math.abs(one - other) < 1e-12);
  near(S.steppedBy("ArrowRight", 0.5), 0.51);
  near(S.steppedBy("PageDown", 0.5), 0.4);
  assert.equal(S.steppedBy("Home", 0.5), 0);
  assert.equal(S.steppedBy("End", 0.5), 1);
  assert.equal(S.steppedBy("n", 0.5), null);
});

test("what the browser kept is taken back where it is sound", () => {
  const kept = { text: "accept = 1", world: { ...WORLD, gamma: 3 }, task: "", pairs: true };
  assert.deepEqual(S.readDraft(JSON.stringify(kept)), kept);
  for (const damaged of ["", "{", "null", '{"text": 1}', JSON.stringify({ ...kept, world: { p: [1], q: [1] } })])
    assert.equal(S.readDraft(damaged).text, "accept = min(1, p / q)\nreplacement = p\n", damaged);
});

test("a link holds the rule, its p and q and its task, and of an unsound one nothing is taken", async () => {
  const draft = { text: "accept = p", world: { ...WORLD, p: [0.25, 0.25, 0.5], siblings: 2 }, task: "", pairs: false };
  assert.deepEqual(await S.unpackDraft(await S.pack(draft)), draft);
  const asked = { ...draft, task: "honest_stop" };
  const shaped = { ...draft.world, gamma: 2, siblings: 1 }; // a task has a shape of its own
  assert.deepEqual(await S.unpackDraft(await S.pack(asked)), { ...asked, world: shaped });
  const unsound = [
    { text: "x".repeat(1001) },
    { world: { ...WORLD, p: [0.5, 0.5, 0.5] } },
    { world: { ...WORLD, p: [1.5, -0.5, 0] } },
    { world: { ...WORLD, gamma: 40 } },
    { world: { ...WORLD, draw: "<b>" } },
  ];
  for (const wrong of unsound)
    await assert.rejects(S.unpackDraft(await S.pack({ ...draft, ...wrong })), /rule cannot be read/);
  await assert.rejects(S.unpackDraft("no such thing"), /rule cannot be read/);
  assert.equal(S.soundDraft({ ...draft, task: "nobody's" }).task, "");
});

test("the worker judges a rule, checks a task, and hands errors of the rule back with their place", () => {
  const said = [];
  const port = { onmessage: null, postMessage: (message) => said.push(message) };
  S.serveRules(port);
  port.onmessage({ data: { id: 1, text: EXACT, world: WORLD } });
  port.onmessage({ data: { id: 2, text: EXACT, task: "exact" } });
  port.onmessage({ data: { id: 3, text: "accept = P", world: WORLD } });
  assert.deepEqual(
    said.map(({ id }) => id),
    [0, 1, 2, 3],
  );
  assert.equal(said[1].judged.kind, "exact");
  assert.equal(said[2].judged.passed, true);
  assert.deepEqual([said[3].fault.line, said[3].fault.column], [1, 10]);
});

test("a rule that takes too long is stopped, and the next one starts a worker anew", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const workers = [];
  class SlowWorker {
    constructor() {
      this.asked = [];
      workers.push(this);
    }
    postMessage(asked) {
      this.asked.push(asked);
    }
    terminate() {
      this.ended = true;
    }
  }
  globalThis.Worker = SlowWorker;
  globalThis.document = { querySelectorAll: () => [] };
  const heard = [];
  const asker = S.ruleAsker((kind, answer) => heard.push([kind, answer]));
  asker.ask("law", { text: "first" });
  workers[0].onmessage({ data: { id: 0 } });
  asker.ask("law", { text: "second" });
  asker.ask("law", { text: "third" });
  context.mock.timers.tick(3000);
  assert.equal(workers[0].ended, true);
  workers[1].onmessage({ data: { id: 0 } });
  assert.deepEqual(workers[1].asked, [{ id: 2, text: "third" }]);
  assert.deepEqual(heard, []);
  context.mock.timers.tick(3000);
  assert.match(heard[0][1].fault.message, /more than three seconds/);
  delete globalThis.Worker;
  delete globalThis.document;
});

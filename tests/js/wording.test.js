// Plain and technical words: one table of labels, and no word of the field left where plain words are asked for.
const test = require("node:test");
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { S, sample, greedy, recorded } = require("./load.js");

const FIELD = new RegExp(
  "\\b(targets?|draft(s|ed|er|ers|ing)?|verifiers?|verdicts?|candidates?|siblings?|residual|accept(s|ed|ance)?|" +
    "reject(s|ed|ion|ions)?|unreached|corrections?|bonus(es)?|commit(s|ted)?|nodes?|root|mask|caches?|rows|lossless|" +
    "lossy|law|(?<!in a )row|argmax|acceptance|distributions?|probability)\\b",
  "i",
);
const folder = path.join(__dirname, "..", "..", "assets", "js");
const scripts = ["page", "panels", "player", "rules"].flatMap((room) =>
  fs
    .readdirSync(path.join(folder, room))
    .flatMap((name) => (name === "plain_names.js" ? [] : [path.join(folder, room, name)])),
);
const source = scripts.map((file) => fs.readFileSync(file, "utf-8")).join("\n");

/** Names of code, and tokens of the run, are no words of the sentence. */
const spoken = (text) => text.replace(/\u2068[^\u2069]*\u2069|`[^`]*`|'[^']*'|if\([^)]*\)/g, "");
const isPlain = (text, where) => assert.doesNotMatch(spoken(text), FIELD, `${where}: ${text}`);

/** Runs `look` while plain words are chosen. */
function inPlainWords(look) {
  globalThis.document = { querySelectorAll: () => [] };
  S.setWording("plain", false);
  try {
    look();
  } finally {
    S.setWording("technical", false);
    delete globalThis.document;
  }
}

test("every label that a script draws has a plain wording, and every plain wording a label that is drawn", () => {
  const drawn = [...source.matchAll(/S\.word(?:ed)?\(\s*"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text);
  assert.ok(drawn.length > 50);
  assert.deepEqual(
    drawn.filter((text) => !(text in S.PLAIN_NAMES)),
    [],
  );
  const unused = Object.keys(S.PLAIN_NAMES).filter(
    (text) => !source.includes(`"${text}"`) && !source.includes(`${text}:`),
  );
  assert.deepEqual(unused, []);
});

test("no plain wording has a word of the field", () => {
  for (const [technical, plain] of Object.entries({ ...S.PLAIN_NAMES, ...S.PLAIN_NUMBERS }))
    if (technical !== "In plain words") isPlain(plain, technical);
});

test("every fate, every symbol that a verifier declares, and every phase has a plain wording", () => {
  const names = [...Object.values(S.FATES), ...S.PHASES.map((phase) => (phase === "target" ? "target pass" : phase))];
  for (const name of names) assert.ok(name in S.PLAIN_NAMES, name);
  for (const [rule, { terms }] of Object.entries(S.DECLARED))
    for (const symbol of Object.values(terms)) assert.ok(symbol in S.PLAIN_NUMBERS, `${rule}: ${symbol}`);
});

test("tasks and mistakes of written rules have both wordings", () => {
  for (const { id, plain } of S.WRITTEN.tasks)
    for (const part of ["title", "ask", "hint", "look"]) isPlain(plain[part], `${id}, ${part}`);
  for (const { id, plain } of S.WRITTEN.mistakes) for (const part of ["name", "why"]) isPlain(plain[part], id);
  for (const [id, { plain }] of Object.entries(S.WRITTEN.missing)) isPlain(plain, id);
});

test("a verdict on a written rule is said in plain words too", () => {
  const world = { p: [0.5, 0.3, 0.2], q: [0.2, 0.45, 0.35], gamma: 1, siblings: 1, draw: "iid" };
  const said = (text, others = {}) => S.judgeRule(text, { ...world, ...others }).plain;
  assert.equal(
    said("accept = min(1, p / q)\nreplacement = p"),
    "Wrong: too often b (+0.090), too seldom a (−0.150). 15.0% of the tokens should be others.",
  );
  for (const rule of Object.values(S.WRITTEN.built_in)) isPlain(said(rule), rule);
  isPlain(said("accept = min(1, p / q)\nreplacement = p - q"), "loses");
});

/** Everything that the card says of a round, at every beat and of every node.
    @param {trace.Trace} trace */
function cardTexts(trace, index) {
  const round = trace.rounds[index];
  const labels = S.nodeLabels(trace, index);
  const trials = new Map(round.judged.trials.map((trial) => [trial.node, trial]));
  const texts = [];
  for (let beat = 0; beat <= S.lastBeat(round); beat++) {
    const at = S.view(round, beat);
    const states = S.nodeStates(round, at);
    const said = new Set(round.judged.trials.slice(0, at.trials).map((trial) => trial.node));
    const now = { trace, round, labels, at, cursor: { round: index, beat } };
    Object.assign(now, { stateOf: (id) => states[id], trialOf: (id) => trials.get(id), judged: (id) => said.has(id) });
    texts.push(S.sayMoment(trace, round, labels, at));
    for (const { plain } of S.why(now)) texts.push(plain.title, plain.text);
    for (const id of [...round.nodes.map((node) => node.id), ...(at.drawn ? [S.END] : [])]) {
      const { words, numbers, steps } = S.explain(now, id);
      texts.push(words, ...numbers.map((row) => `${S.word(row[0])}: ${S.sayNumber(row)}`));
      if (steps) texts.push(S.word(steps.title), ...steps.head.map(S.word), steps.foot ? steps.plain : "");
    }
  }
  return texts;
}

test("captions, cards, reasons, counters and the timeline of recorded runs are all said in plain words", () => {
  inPlainWords(() => {
    const rules = new Set();
    for (const trace of [sample(), greedy(), ...recorded().map(([, run]) => run)]) {
      const index = trace.rounds.findIndex(({ judged }) => judged.trials.some((trial) => !trial.accepted));
      const { rule } = trace.rounds[Math.max(0, index)].judged;
      if (rules.has(rule)) continue;
      rules.add(rule);
      for (const text of cardTexts(trace, Math.max(0, index))) isPlain(text || "", rule);
      for (const { name, note } of S.counterList(trace)) isPlain(`${name}: ${note}`, rule);
      isPlain(S.timelineWords(S.timelineNumbers(S.timeline(trace.rounds)), "measured", true, true), rule);
    }
    assert.ok(rules.size > 5, [...rules].join());
  });
});

test("a model that is called what it is is named once", () => {
  assert.equal(S.inRole("target", "target"), "target");
  assert.equal(S.inRole("target", "smollm2"), "target smollm2");
  inPlainWords(() => assert.equal(S.inRole("target", "target"), "big model"));
});

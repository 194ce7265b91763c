// Comments pinned to moments, the card of a moment, and plain words: what they say of the golden trace.
const test = require("node:test");
const assert = require("node:assert");
const { S, sample, greedy } = require("./load.js");

const PINS = [
  { round: 0, beat: 2, node: 1, text: "Look here: it is the first" },
  { round: 1, beat: 0, node: "end", text: "<img src=x onerror=alert(1)>" },
];

test("comments come back from their text as they were written", () => {
  const text = S.writePins("0123abcd", PINS);
  assert.equal(text, "0123abcd\n1.3.1 Look here: it is the first\n2.1.end <img src=x onerror=alert(1)>");
  assert.deepEqual(S.readPins(text), { run: "0123abcd", pins: PINS });
  assert.equal(S.writePins("0123abcd", []), "");
});

test("of a text that is none nothing is taken, and a line that is none is left out", () => {
  for (const text of ["", "hello", "XYZ\n1.1.0 hi", null]) assert.deepEqual(S.readPins(text), { run: "", pins: [] });
  const mixed = "0123abcd\n0.1.0 before the first round\nhello\n1.1.x no node\n1.1.0  \u202e\u0000 \n1.1.0 kept";
  assert.deepEqual(
    S.readPins(mixed).pins.map(({ text }) => text),
    ["kept"],
  );
});

test("a run takes twenty comments of 280 characters, without what nobody could see", () => {
  const many = ["0123abcd", ...Array(30).fill("1.1.0 x")].join("\n");
  assert.equal(S.readPins(many).pins.length, 20);
  assert.equal(Array.from(S.commentText("🙂".repeat(400))).length, 280);
  assert.equal(S.commentText(" a\u202eb\n\u0000 c "), "a b c");
});

test("comments are shown on the run whose text they were written on, at places that there are", () => {
  const trace = sample();
  const run = S.textHash(trace.finished.text);
  S.takePins(`${run}\n1.1.0 here\n999.1.0 nowhere\n1.1.77 no such node`);
  assert.deepEqual(
    S.pinsOf(trace).map(({ text }) => text),
    ["here"],
  );
  assert.deepEqual(S.pinsOf(greedy()), []);
  assert.equal(S.pinsText(trace), `${run}\n1.1.0 here`);
  S.takePins(run);
  assert.deepEqual(S.pinsOf(trace), []);
});

test("the card says a round in one line, in plain words or in technical ones", () => {
  const [round] = sample().rounds;
  assert.equal(S.roundLine(round, true), "4 guessed, 2 kept, one pass");
  assert.equal(S.roundLine(round, false), "4 drafted, 2 accepted: 3 tokens from one target pass");
});

test("the card shows the accepted tokens, those rejected at the path's end, and the last one", () => {
  for (const trace of [sample(), greedy()])
    trace.rounds.forEach((round, index) => {
      const tokens = S.cardTokens(trace, round, S.nodeLabels(trace, index));
      const fates = tokens.map(({ fate }) => fate);
      const over = S.endsText(round); // what lies behind the end of the text is no part of it
      const accepted = over ? round.committed.tokens.length : round.judged.path.length;
      assert.equal(fates.filter((fate) => fate === "accepted").length, accepted);
      assert.equal(fates.at(-1), over ? "accepted" : round.judged.origin);
    });
  const text = S.textBefore(sample(), 1);
  assert.ok(Array.from(text).length <= 52 && !/[\n␣]/.test(text), text);
});

test("in plain words no caption has a letter of a formula or a word of the field", () => {
  const field = /\b[pqur]\b|\b(draft\w*|target|verdict|residual|candidate|node|cache|row|bonus|correction)s?\b/i;
  for (const trace of [sample(), greedy()])
    trace.rounds.forEach((round, index) => {
      const labels = S.nodeLabels(trace, index);
      S.beats(round).forEach((_, beat) => {
        const said = S.plainCaption(trace, round, labels, S.view(round, beat)).replace(/\u2068[^\u2069]*\u2069/g, "…");
        assert.doesNotMatch(said, field);
        assert.match(said, /^[A-Z0-9“…].*\.$/);
      });
    });
});

/** What plain words do without. */
const FIELD = /\b[pqur]\b|\b(draft\w*|target|verdict|residual|candidate|node|cache|row|bonus|correction|sibling)s?\b/i;
const withoutTokens = (text) => text.replace(/\u2068[^\u2069]*\u2069/g, "…");

test("in plain words no reason of the card, no question of guess mode and no unreached guess speaks otherwise", () => {
  let [reasons, questions, unreached] = [0, 0, 0];
  for (const trace of [sample(), greedy()])
    trace.rounds.forEach((round, index) => {
      const labels = S.nodeLabels(trace, index);
      S.beats(round).forEach((_, beat) => {
        const at = S.view(round, beat);
        for (const { plain } of S.why({ trace, round, labels, at, cursor: { round: index, beat } })) {
          assert.doesNotMatch(withoutTokens(`${plain.title} ${plain.text}`), FIELD);
          reasons += 1;
        }
      });
      for (const trial of round.judged.trials) {
        const question = withoutTokens(S.plainQuestion(S.trialFacts(trace, round, labels, trial)));
        assert.doesNotMatch(question, FIELD);
        assert.match(question, /\? yes \/ no$/);
        questions += 1;
      }
      for (const node of round.nodes.filter(({ fate }) => fate === "unreached")) {
        assert.doesNotMatch(withoutTokens(S.plainUnreached(trace, round, labels, node.id)), FIELD);
        unreached += 1;
      }
    });
  assert.ok(reasons > 20 && questions > 10 && unreached > 2, `${reasons} ${questions} ${unreached}`);
});

test("a guess that was never checked says which guess before it went, or stayed in its place", () => {
  const trace = sample();
  const index = trace.rounds.findIndex((round) => round.nodes.some(({ fate }) => fate === "unreached"));
  const round = trace.rounds[index];
  const { id } = round.nodes.find(({ fate }) => fate === "unreached");
  const labels = S.nodeLabels(trace, index);
  const [plain, technical] = [S.plainUnreached, S.unreached].map((say) => say(trace, round, labels, id));
  const named = (text) => text.match(/\u2068[^\u2069]*\u2069/g);
  assert.deepEqual(named(plain), named(technical));
  assert.match(withoutTokens(technical), /^Unreached: … on the way to it was rejected\.$/);
  assert.match(withoutTokens(plain), /^Never checked: … on the way to it went\.$/);
});

test("a plain verdict says in how many of a hundred cases a guess stays", () => {
  const facts = (more) => ({ token: "cat", u: 0.5, round: { judged: { rule: "sequential" } }, ...more });
  const plain = (more) => S.plainVerdict(facts(more)).replace(/[\u2068\u2069]/g, "");
  assert.equal(
    plain({ threshold: 0.62, accepted: true }),
    "cat stays in 62 of 100 such cases. This time chance lets it stay.",
  );
  assert.equal(
    plain({ threshold: 0.004, accepted: false }),
    "cat stays in fewer than 1 of 100 such cases. This time it goes.",
  );
  assert.equal(
    plain({ threshold: 1, accepted: true }),
    "The big model likes cat well enough for it to stay whatever chance says.",
  );
  assert.equal(plain({ threshold: 0, accepted: false }), "cat had no way to stay: it goes.");
});

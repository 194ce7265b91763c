const test = require("node:test");
const assert = require("node:assert");
const { S, sample } = require("./load.js");

const trace = {
  vocab: { 1: { bytes: Buffer.from("a").toString("base64") }, 2: { bytes: Buffer.from(" ").toString("base64") } },
};
const row = { label: "line", tokens: [1, 2], marks: [1], nodes: [3], position: 7, scores: [0.5, 0.25] };

test("an exhibit is its rows of tokens with marks and scores, its nodes and its place", () => {
  const round = { drafted: { knew: [{ title: "matched", rows: [row], marked: "frozen" }] } };
  assert.deepEqual(S.exhibits(trace, round, { committed: false }), [
    {
      title: "matched",
      learned: false,
      marked: "frozen",
      more: 0,
      rows: [
        {
          label: "line",
          chips: [
            { text: "a", marked: false, score: 0.5 },
            { text: "␣", marked: true, score: 0.25 },
          ],
          more: 0,
          nodes: [3],
          position: 7,
          count: 2,
        },
      ],
    },
  ]);
});

test("what was learned shows when the round is over, not before", () => {
  const round = { drafted: { learned: [{ title: "rewritten", rows: [{ label: "bare", tokens: [1] }] }] } };
  assert.deepEqual(S.exhibits(trace, round, { committed: false }), []);
  assert.equal(S.exhibits(trace, round, { committed: true })[0].rows[0].position, null);
  assert.equal(S.exhibits(trace, round, { committed: true })[0].learned, true);
});

test("long exhibits are cut and say by how much; a trace without any has none", () => {
  const long = { title: "t", rows: Array.from({ length: 30 }, () => ({ label: "l", tokens: Array(40).fill(1) })) };
  const [shown] = S.exhibits(trace, { drafted: { knew: [long] } }, { committed: false });
  assert.deepEqual([shown.rows.length, shown.more, shown.rows[0].chips.length, shown.rows[0].more], [24, 6, 32, 8]);
  assert.deepEqual(S.exhibits(sample(), sample().rounds[0], { committed: true }), []);
});

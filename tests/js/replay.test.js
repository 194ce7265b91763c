const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const runner = (label, finish_s, arrivals, segments = []) => ({
  label,
  finish_s,
  segments,
  arrivals: arrivals.map((time) => [time, "x", "draft"]),
});
const race = {
  longest_s: 8,
  runners: [
    runner("plain", 8, [2, 4, 6, 8]),
    runner(
      "fast",
      3,
      [3, 3],
      [
        [0, 1, "draft", 0],
        [1, 2.5, "target", 0],
        [2.5, 3, "commit", 0],
      ],
    ),
  ],
};
const [plain, fast] = race.runners;

test("a token is there from the moment its round was committed", () => {
  assert.deepStrictEqual(
    [0, 2, 2.9, 8, 9].map((t) => S.written(plain, t)),
    [0, 1, 1, 4, 4],
  );
  assert.deepStrictEqual(
    [2.9, 3].map((t) => S.written(fast, t)),
    [0, 2],
  );
});

test("a runner drafts, is verified, commits, and then does nothing", () => {
  assert.deepStrictEqual(
    [0, 1, 2.4, 2.5, 3].map((t) => S.doing(fast, t)),
    ["drafting", "target pass", "target pass", "committing", null],
  );
});

test("the arrow keys stop at every commit of anyone, and hold at the ends", () => {
  const times = S.moments(race);
  assert.deepStrictEqual(times, [0, 2, 3, 4, 6, 8]);
  assert.deepStrictEqual(
    [S.neighbour(times, 2, 1), S.neighbour(times, 2.5, -1), S.neighbour(times, 8, 1), S.neighbour(times, 0, -1)],
    [3, 2, 8, 0],
  );
});

test("the pace is the fastest that lasts four seconds", () => {
  assert.deepStrictEqual(
    [8, 1, 0.5, 0.01].map((longest_s) => S.paceFor({ longest_s }).name),
    ["real time", "1/4", "1/10", "1/50"],
  );
});

test("lanes are drawn to scale, each phase in its own", () => {
  assert.strictEqual(S.lanePath(fast, ["draft"], 10, 5, 8), "M0.00 5h10.00v8h-10.00z");
  assert.strictEqual(
    S.lanePath(fast, ["target", "commit"], 10, 5, 8),
    "M10.00 5h15.00v8h-15.00zM25.00 5h5.00v8h-5.00z",
  );
});

test("a drafter beside the target is drawn when it drafted, with a cross where that was thrown away", () => {
  const both = {
    ...runner(
      "beside",
      4,
      [4],
      [
        [1, 3, "target", 0],
        [3.5, 4, "commit", 0],
      ],
    ),
    lanes: [
      [0, 2, "draft", 0, 2],
      [2, 2, "roll back", 0, 2],
    ],
  };
  assert.deepStrictEqual(
    [0, 1, 2, 3, 3.5, 4].map((t) => S.doing(both, t)),
    ["drafting", "drafting and target pass", "target pass", "waiting", "committing", null],
  );
  assert.strictEqual(S.lanePath(both, ["draft"], 10, 5, 8), "M0.00 5h20.00v8h-20.00z");
  assert.strictEqual(S.lanePath(both, ["target"], 10, 5, 8), "M10.00 5h20.00v8h-20.00z");
  assert.strictEqual(S.crossPath(both, 10, 12, 8), "M16.00 8l8 8m0 -8l-8 8");
  assert.strictEqual(S.crossPath(fast, 10, 12, 8), "", "in turn nothing is drafted ahead");
});

test("the order of finishing is told, and equal times share a place", () => {
  assert.deepStrictEqual([S.placeOf(race, plain), S.placeOf(race, fast)], [2, 1]);
  assert.strictEqual(S.placeOf({ runners: [plain, plain] }, plain), 1);
  assert.deepStrictEqual(
    [1, 3, 8].map((t) => S.standing(race, t)),
    ["Nobody has finished yet.", "Finished: fast at 3.00 s.", "All have finished: fast at 3.00 s, plain at 8.00 s."],
  );
});

test("keys of the browser stay with the browser", () => {
  assert.strictEqual(S.raceCommand({ key: "ArrowRight", shiftKey: true }), "leap");
  assert.strictEqual(S.raceCommand({ key: "PageDown" }), "leap");
  assert.strictEqual(S.raceCommand({ key: "PageUp" }), "leapBack");
  assert.strictEqual(S.raceCommand({ key: " " }), "play");
  assert.strictEqual(S.raceCommand({ key: "ArrowRight", ctrlKey: true }), null);
  assert.strictEqual(S.raceCommand({ key: "a" }), null);
});

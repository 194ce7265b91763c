const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

test("of an event's calls that come at once only the last goes out, with its own values", async () => {
  const calls = [S.lastCall(1, ["old"]), S.lastCall(2, ["another event's"]), S.lastCall(1, ["new"])];
  const ended = await Promise.allSettled(calls);
  assert.deepEqual(
    ended.map((call) => (call.status === "fulfilled" ? call.value : call.status)),
    ["rejected", ["another event's"], ["new"]],
  );
  assert.deepEqual(await S.lastCall(1, ["later"]), ["later"]);
});

test("a list that was left without a choice gives its call nothing", () => {
  assert.deepEqual([S.onlyChosen(["ngram", 7]), S.hasChosen()], [[null, null], false]);
});

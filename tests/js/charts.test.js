const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

test("a link keeps the page's own query and names tab and chart", () => {
  assert.equal(
    S.linkTo("http://x/?__theme=dark&chart=old#top", { tab: "speedup", chart: "plane" }),
    "http://x/?__theme=dark&chart=plane&tab=speedup#top",
  );
});

test("what is put into a link cannot leave its place", () => {
  assert.equal(new URL(S.linkTo("http://x/", { chart: "a&tab=b#c" })).searchParams.get("chart"), "a&tab=b#c");
});

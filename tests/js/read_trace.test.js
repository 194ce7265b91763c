// Traces of earlier formats open in the scripts as in Python: two runs of each, with a tree policy and a stop policy.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const zlib = require("node:zlib");
const { S } = require("./load.js");

const folder = path.join(__dirname, "..", "golden", "policies");

for (const version of ["1.0", "1.1", "1.2"])
  for (const [name, was, now] of [
    ["growth-chain", "growth", "tree_policy"],
    ["stop-entropy", "stopping", "stop_policy"],
  ])
    test(`a trace of format ${version}: ${was} is the ${now}, and the rounds are as they were`, () => {
      const file = path.join(folder, `trace-${version}-${name}.json.gz`);
      const text = zlib.gunzipSync(fs.readFileSync(file)).toString("utf-8");
      const [old, trace] = [JSON.parse(text), S.readTrace(text)];
      assert.equal(old.version, version);
      assert.equal(trace.version, "1.3");
      assert.deepEqual(trace.started[now], old.started[was]);
      assert.equal(trace.started[was], undefined);
      assert.equal(trace.started.seed, old.started.seed);
      assert.deepEqual(trace.rounds, old.rounds);
    });

test("a trace of a later minor format stays as it is", () => {
  const later = { version: "1.4", started: { growth: 1 } };
  assert.deepEqual(S.readTrace(JSON.stringify(later)), later);
});

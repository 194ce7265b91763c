// Every recorded run: what the player prints of a verdict agrees with the u and the threshold beside it.
const test = require("node:test");
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const zlib = require("node:zlib");
const { S } = require("./load.js");

const folder = path.join(__dirname, "..", "..", "assets", "traces");
const recorded = fs.readdirSync(folder).filter((name) => name.endsWith(".json.gz"));
const read = (name) => S.readTrace(zlib.gunzipSync(fs.readFileSync(path.join(folder, name))).toString("utf-8"));

const bare = (shown) => Number(shown.replace(/^[<>]/, "")); // such as >0.9999

/** Of every trial that had a u: the trial, its sentence, and the line of its card that compares u. */
function told(trace) {
  return trace.rounds.flatMap((round, index) => {
    const labels = S.nodeLabels(trace, index);
    const { words, numbers } = S.ruleOf(round);
    return round.judged.trials
      .filter((trial) => trial.u !== null && !trial.terms.given) // what the target proposed passes unasked
      .map((trial) => {
        const facts = S.trialFacts(trace, round, labels, trial);
        return { trial, words: words(facts), line: numbers(facts).find(([name]) => name === "u") };
      });
  });
}

for (const name of recorded)
  test(`${name}: below the threshold is said of what passed, and of nothing that was rejected`, () => {
    for (const { trial, words, line } of told(read(name))) {
      const [, u, compared] = line;
      const [, sign, threshold, verdict] = /^([<≥]) ([^:]+): (.*)$/.exec(compared);
      assert.equal(sign === "<", trial.accepted, `node ${trial.node}: u ${u} ${compared}`);
      assert.equal(bare(u) < bare(threshold), trial.accepted, `node ${trial.node}: u ${u} ${compared}`);
      assert.match(verdict, trial.accepted ? /^(accepted|passes)/ : /^(rejected|rejected)/);
      if (trial.accepted) assert.doesNotMatch(words, /: (rejected|rejected)\.$/);
      else assert.doesNotMatch(words, /: (accepted|kept)\.$/);
    }
  });

test("many of the runs have verdicts with a u", () => {
  assert.ok(recorded.filter((name) => told(read(name)).length > 0).length > 10);
});

// A script's lines "// needs: …" list the scripts whose names it uses, all of them and no other.
const path = require("node:path");
const test = require("node:test");
const assert = require("node:assert");
const { files, givers, needs, twice, used } = require("./load.js");

const room = (script) => path.basename(path.dirname(files[script]));

test("a script needs those whose names it uses, and no other", () => {
  for (const [script, names] of Object.entries(used)) {
    const from = new Set([...names].map((name) => givers[name]).filter((giver) => giver && giver !== script));
    assert.deepStrictEqual(needs[script], [...from].sort(), `the lines "// needs: …" of ${script}.js`);
  }
});

test("rules need nothing else, the engine rules alone, player and panels nothing of the page around them", () => {
  for (const [script, others] of Object.entries(needs))
    for (const other of others) {
      const allowed = {
        rules: ["rules"],
        engine: ["rules", "engine"],
        player: ["rules", "panels", "player"],
        panels: ["rules", "panels", "player"],
      };
      const known = (allowed[room(script)] || ["rules", "panels", "player", "page"]).includes(room(other));
      assert.ok(known, `${room(script)}/${script}.js needs ${room(other)}/${other}.js`);
    }
});

test("no name is given by two scripts", () => {
  assert.deepStrictEqual(twice, []);
});

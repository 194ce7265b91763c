// The target in eight bits: products over compiled and plain kernels, and what is said of what it costs.
const test = require("node:test");
const assert = require("node:assert");
const { S, compiled, load, engine, run } = require("./engine.js");

/** Rows of 16 numbers times a weight of two lines, in eight bits. */
function product(binaries, rows) {
  const arena = new S.Arena(binaries, 4096);
  const [x, short, scales] = [arena.take(16 * rows.length), arena.take(8 * rows.length), arena.take(rows.length)];
  const [weight, weightScales, out] = [arena.take(8), arena.take(2), arena.take(2 * rows.length)];
  rows.forEach((row, at) => arena.view(x + 64 * at, 16).set(row));
  const line = Int8Array.from({ length: 16 }, (_, place) => place - 8);
  new Int8Array(arena.buffer).set([...line, ...line.map((value) => 2 * value)], weight);
  arena.view(weightScales, 2).set([0.5, 1]);
  arena.kernels.quantise(x, rows.length, 16, short, scales);
  arena.kernels.multiplyEight(short, scales, rows.length, 16, weight, weightScales, 2, out, false);
  return { scales: [...arena.view(scales, rows.length)], out: [...arena.view(out, 2 * rows.length)] };
}

test("a row is scaled by its largest number, and products are those of whole numbers times both scales", () => {
  const row = [...Array(15).keys(), 127]; // of scale 1: the numbers as they are
  const due = row.reduce((sum, value, place) => sum + value * (place - 8), 0);
  for (const binaries of [compiled(), []]) {
    const { scales, out } = product(binaries, [row, row.map((value) => value / 4)]);
    assert.deepEqual(scales, [1, 0.25]);
    assert.deepEqual(out, [due / 2, 2 * due, due / 8, due / 2]);
  }
});

test("rows taken four at a time and one by one come to the same, compiled and plain", () => {
  const rows = Array.from({ length: 5 }, (_, row) =>
    Array.from({ length: 16 }, (__, place) => Math.sin(7 * row + place)),
  );
  const [fast, plain] = [product(compiled(), rows), product([], rows)];
  fast.out.forEach((value, at) => assert.ok(Math.abs(value - plain.out[at]) < 1e-4));
  rows.forEach((row, at) => {
    const [alone] = product(compiled(), [row]).out;
    assert.equal(alone, fast.out[2 * at]);
  });
});

test("a model in eight bits says nearly what it says in float32, and again the same when they are taken away", () => {
  const model = load(["drafter-weak"], compiled(), 4e6).get("drafter-weak");
  const said = (eights) => {
    model.eights = eights;
    return model.forward([5, 6, 7], model.newCache())[2];
  };
  const whole = said(null);
  const eight = said(S.eightBits(model));
  assert.notDeepEqual(eight, whole);
  const apart = eight.reduce((most, value, id) => Math.max(most, Math.abs(value - whole[id])), 0);
  const spread = Math.max(...whole) - Math.min(...whole);
  assert.ok(apart < 0.1 * spread, `${apart} of ${spread}`);
  assert.deepEqual(said(null), whole);
});

test("a run in int8 says so, and a draft leaves the int8 target's text as it is", async () => {
  const loaded = await engine(["drafter", "drafter-weak"]);
  const asked = { prompt: "One day Leo was in the garden.", max_new_tokens: 24 };
  const draft = { drafter: "model", drafter_model: "drafter-weak" };
  const [plain, drafted] = [
    await run(loaded, { ...asked, dtype: "int8" }),
    await run(loaded, { ...asked, ...draft, dtype: "int8" }),
  ];
  for (const { started } of [plain, drafted])
    assert.deepEqual([started.target.dtype, started.machine.dtype], ["int8", "int8"]);
  assert.deepEqual(drafted.finished.output_ids, plain.finished.output_ids);
  assert.ok(drafted.rounds.length < plain.rounds.length);
  const whole = await run(loaded, asked);
  assert.deepEqual([whole.started.target.dtype, loaded.target.eights], ["float32", null]);
  assert.notDeepEqual(whole.started.step_times, plain.started.step_times);
  assert.match(S.provenance(plain.started).parts[0].text, / in int8$/);
  assert.doesNotMatch(S.provenance(whole.started).parts[0].text, /int8/);
  await assert.rejects(run(loaded, { ...asked, dtype: "bfloat16" }), /has no number format 'bfloat16'/);
});

test("both targets are timed in turns, and of each is said what a round costs and brings", async () => {
  const turns = [];
  const loaded = await engine(["drafter-weak", "drafter"]);
  const costs = await S.costsOfTargets(loaded, async (over, of) => void turns.push([over, of]), {
    turns: 1,
    tokens: 8,
  });
  assert.deepEqual(
    costs.map(({ dtype, gamma }) => [dtype, gamma]),
    [
      ["float32", 4],
      ["int8", 4],
    ],
  );
  assert.deepEqual(turns, [
    [0, 1],
    [1, 1],
  ]);
  for (const { plain, drafted, rows, step, perPass } of costs)
    assert.ok([plain, drafted, rows, step].every((value) => value > 0) && perPass >= 1 && perPass <= 5);
});

const cost = (dtype, plain, drafted, text = "a") => {
  return { dtype, gamma: 4, plain, drafted, rows: 1.8, step: 0.2, perPass: 3, text };
};

test("a target's two speeds stand beside what a round costs and brings", () => {
  assert.equal(
    S.costWords(cost("float32", 100, 150)),
    "float32: 100 tokens a second plain, 150 with a draft of 4. A round brings 3.00 tokens and takes as long as 2.00 " +
      "plain ones: 1.50×. A pass over 5 rows takes 1.80 times one row, one of the drafter 0.20.",
  );
});

test("the lesson says what was measured, whatever came out", () => {
  const words = (drafted, text) => S.cheapWords([cost("float32", 100, 150), cost("int8", 200, drafted, text)]);
  assert.match(
    words(140, "a"),
    /^Make the target cheap, and speculation stops paying: .* Both wrote the same text here.$/,
  );
  assert.match(words(240, "b"), /^Make the target cheap, and speculation pays less: .* wrote different texts here.$/);
  assert.match(words(320, "a"), /^Here the cheaper target gains no less from a draft./);
});

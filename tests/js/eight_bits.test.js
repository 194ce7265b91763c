// The target in eight bits: products over compiled and plain kernels, and what is said of what it costs.
const test = require("node:test");
const assert = require("node:assert");
const { S, compiled, load } = require("./engine.js");

/** Rows of 16 numbers times a weight of two lines, in eight bits. */
function product(binary, rows) {
  const arena = new S.Arena(binary, 4096);
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
  for (const binary of [compiled(), null]) {
    const { scales, out } = product(binary, [row, row.map((value) => value / 4)]);
    assert.deepEqual(scales, [1, 0.25]);
    assert.deepEqual(out, [due / 2, 2 * due, due / 8, due / 2]);
  }
});

test("rows taken four at a time and one by one come to the same, compiled and plain", () => {
  const rows = Array.from({ length: 5 }, (_, row) =>
    Array.from({ length: 16 }, (__, place) => Math.sin(7 * row + place)),
  );
  const [fast, plain] = [product(compiled(), rows), product(null, rows)];
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

test("the lesson says what was measured, whatever came out", () => {
  const words = (drafted) =>
    S.hereWords({
      say: "costs",
      costs: [
        { eight: false, plain: 100, drafted: 150, rows: 1.8 },
        { eight: true, plain: 200, drafted, rows: 3.5 },
      ],
    });
  assert.match(words(140), /draft of four makes it × 0.70. Make the target cheap, and speculation stops paying.$/);
  assert.match(words(240), /× 1.20. Make the target cheap, and speculation pays less.$/);
  assert.match(words(320), /× 1.60. Here the cheaper target gains no less from a draft.$/);
});

// The reasons in the card, and what they say of the caches, against the recorded runs.
const test = require("node:test");
const assert = require("node:assert");
const { S, sample, recorded: read } = require("./load.js");

const recorded = read();

function at(trace, index, wanted) {
  const round = trace.rounds[index];
  const beat = S.beats(round).findIndex(wanted);
  const view = S.view(round, beat);
  const labels = S.nodeLabels(trace, index);
  return { trace, round, cursor: { round: index, beat }, at: view, labels };
}
const text = (now) =>
  S.why(now)
    .map((one) => `${one.title} ${one.text}`)
    .join(" ");

test("the drafter's cache after a commit is the cache its next pass finds, in every recorded run that tells", () => {
  let told = 0;
  let lacking = 0;
  for (const [name, trace] of recorded)
    trace.rounds.slice(0, -1).forEach((round, index) => {
      const cache = S.drafterCache(trace, index);
      const next = trace.rounds[index + 1].drafted.passes[0];
      if (!cache || !next) return;
      told += 1;
      lacking += cache.missing.length;
      assert.equal(cache.kept, next.cached_rows, `${name}, round ${index + 1}`);
      if (round.committed.trimmed === "open") return; // its last token is not read before it is settled
      assert.equal(cache.missing.length + 1, next.rows, `${name}, round ${index + 1}`);
    });
  assert.ok(told > 50 && lacking > 10, `${told} rounds, ${lacking} missing rows`);
});

test("after full acceptance the drafter lacks the last token's row, and the card says so", () => {
  const found = recorded.flatMap(([, trace]) =>
    trace.rounds.flatMap((round, index) =>
      round.judged.origin === "bonus" && S.drafterCache(trace, index)?.missing.length ? [[trace, index]] : [],
    ),
  );
  assert.ok(found.length > 0);
  const [trace, index] = found[0];
  const said = text(at(trace, index, (beat) => beat.phase === "commit"));
  assert.match(said, /its cache lacks that row; the target's has it/);
});

test("the pass says why it has one row more than the draft, and that a mask makes it one pass", () => {
  const said = text(at(sample(), 0, (beat) => beat.phase === "target"));
  assert.match(said, /Why γ \+ 1 = 4 \+ 1 = 5 rows\?/);
  assert.match(said, /mask/);
});

test("a correction says why it is drawn from the residual, a bonus where it comes from", () => {
  const trace = sample();
  const corrected = trace.rounds.findIndex((round) => round.judged.residual);
  assert.match(text(at(trace, corrected, (beat) => beat.drawn)), /Why from r and not from p\?.*add up to p/);
  const index = trace.rounds.findIndex((round) => round.judged.origin === "bonus");
  const count = trace.rounds[index].judged.path.length;
  assert.match(text(at(trace, index, (beat) => beat.drawn)), new RegExp(`${count} \\+ 1 = ${count + 1} token`));
});

test("a rejected sibling says what the next one is tested against, with that one's own p and Q", () => {
  const trace = sample();
  const round = trace.rounds[1];
  const [first, second] = round.judged.trials;
  assert.ok(!first.accepted && round.nodes[first.node].parent === round.nodes[second.node].parent);
  const said = text(at(trace, 1, (beat) => beat.trial === 0));
  assert.ok(said.includes(`p ${S.prob(second.target_prob)}, Q ${S.prob(second.draft_prob)}`), said);
});

test("a draft that a stop policy ended keeps what was drawn", () => {
  const stopped = recorded.flatMap(([, trace]) =>
    trace.rounds.flatMap((round, index) => {
      const deepest = Math.max(...round.nodes.map((node) => node.depth));
      const gamma = trace.started.drafter.options.gamma;
      return trace.started.stop_policy && deepest && deepest < gamma ? [[trace, index, deepest]] : [];
    }),
  );
  assert.ok(stopped.length > 0);
  const [trace, index, deepest] = stopped[0];
  const said = text(at(trace, index, (beat) => beat.phase === "draft" && beat.level === deepest));
  assert.match(said, /What was drawn stays/);
});

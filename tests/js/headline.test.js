const test = require("node:test");
const assert = require("node:assert/strict");
const { S, sample } = require("./load.js");

const timed = (ratio) => {
  const trace = sample();
  trace.started.source = "recorded";
  const decode_s = ratio * trace.finished.decode_s;
  trace.finished.plain = { output_tokens: trace.finished.output_ids.length, decode_s, runs: 3, same_text: true };
  return trace;
};

test("the question is of the round at hand: its chain, its tree, or that nothing is guessed", () => {
  const trace = sample();
  trace.started.source = "recorded";
  const ask = (round) => S.question(trace, trace.rounds[round]);
  assert.equal(ask(4), "Nothing is guessed in this round: the big model's pass writes one token.");
  trace.started.drafter.model = { name: "drafter" };
  assert.equal(ask(5), "A small model guesses 4 tokens ahead. How many will the big one keep?");
  assert.match(ask(1), /^A small model guesses a tree of 15 tokens, up to 3 ahead\./);
  trace.started.drafter.model = null;
  trace.started.drafter.pass_reads = "";
  assert.match(ask(5), /^A drafter without a model \(sample\) guesses 4 tokens ahead/);
  trace.started.drafter.pass_reads = "its layer and the head";
  assert.match(ask(5), /^The drafter sample guesses 4 tokens ahead/);
  trace.started.source = "simulated";
  assert.equal(ask(5), "A simulated drafter guesses 4 tokens ahead. How many will the simulated target keep?");
});

test("the answer says how many were kept and who wrote the last token", () => {
  const trace = sample();
  const told = (round) => S.answer(trace.rounds[round]);
  assert.equal(told(5), "It keeps all 4 and adds one of its own: 5 tokens from one pass.");
  assert.equal(told(3), "It keeps none and writes the next one itself: 1 token from one pass.");
  assert.equal(told(2), "It keeps 1 of 3 and writes the next one itself: 2 tokens from one pass.");
  assert.equal(told(7), "It keeps 2 and the text ends there: 2 tokens from one pass.");
});

test("a round that leaves its last token open does not end the text", () => {
  const round = sample().rounds[5];
  Object.assign(round.committed, { tokens: round.committed.tokens.slice(0, -1), trimmed: "open", trimmed_tokens: 1 });
  assert.equal(S.answer(round), "It keeps all 4 and leaves the next one to the next round: 4 tokens from one pass.");
});

const turns = (...ratios) => {
  const trace = timed(1);
  Object.assign(trace.finished.plain, { ratios, runs: ratios.length });
  return trace;
};

test("passes come first, and a gain is said only where plain decoding was timed, slower as plainly as faster", () => {
  assert.equal(S.outcome(sample()).said, undefined);
  assert.equal(S.outcome(sample()).text, "8 passes of the big model instead of 20");
  assert.equal(S.outcome(timed(1.5)).said, "1.50× as fast as plain decoding, measured");
  const slow = S.outcome(timed(0.85));
  assert.deepEqual([slow.said, slow.slower], ["0.85× as fast: slower than plain decoding, measured", true]);
  assert.equal(S.outcome(timed(1)).said, "no faster than plain decoding, measured");
  const simulated = timed(1.5);
  simulated.started.source = "simulated";
  assert.equal(S.gain(simulated), null);
});

test("a run that broke off says so, and what went wrong, where its gain would stand", () => {
  const ended = (reason, message, rounds = 8) => {
    const trace = timed(1.5);
    Object.assign(trace.finished, { reason, message });
    trace.rounds.length = rounds;
    return trace;
  };
  const failed = S.outcome(ended("failed", "the device has no memory left."));
  assert.equal(failed.said, "the run failed: the device has no memory left");
  assert.equal(failed.slower, true);
  assert.equal(S.outcome(ended("cancelled", null)).said, "stopped before its end");
  assert.equal(S.outcome(ended("eos", null)).said, "1.50× as fast as plain decoding, measured");
  assert.equal(S.outcome(ended("failed", "x".repeat(5000))).said.length, 216);
  assert.equal(S.nothingToShow(null), "No run to show yet.");
  const before = S.nothingToShow(ended("failed", "the device has no memory left.", 0));
  assert.equal(before, "The run failed before its first round: the device has no memory left.");
  assert.equal(S.nothingToShow(ended("cancelled", null, 0)), "Stopped before its first round.");
});

test("a slower run says which factor it was, and no other run does", () => {
  const slow = timed(0.85);
  for (const round of slow.rounds) round.drafted.seconds *= 100;
  assert.match(
    S.outcome(slow).why,
    /^Drafting costs most: it takes \d+\.\d\d times as long as a plain token, and were it free /,
  );
  assert.equal(S.outcome(timed(1.5)).why, null);
  assert.equal(S.outcome(timed(1)).why, null);
});

test("a gain is the median of its turns, with the least and the largest", () => {
  const { said, noisy } = S.outcome(turns(1.4, 1.2, 1.9, 1.5));
  assert.deepEqual([said, noisy], ["1.45× as fast as plain decoding, measured (1.20 to 1.90)", undefined]);
});

test("what noise could have made is no gain: both sides of 1, more than tokens per pass, too few turns", () => {
  const words = "how much faster is too noisy to say here";
  assert.equal(S.outcome(turns(0.9, 1.4, 1.6)).said, `${words} (0.90 to 1.60)`);
  assert.equal(S.outcome(turns(2.6, 2.7, 2.8)).said, `${words} (2.60 to 2.80)`, "20 tokens in 8 passes: at most 2.5");
  assert.equal(S.outcome(turns(1.4, 1.5)).said, `${words} (1.40 to 1.50)`);
  const once = timed(1.3);
  once.finished.plain.runs = 1;
  assert.equal(S.outcome(once).said, `${words} (1.30×, timed once)`);
  assert.ok(S.outcome(once).noisy);
});

test("where a turn passes the tokens per pass, only the least is told", () => {
  const { said, noisy } = S.outcome(turns(2.1, 2.2, 2.6));
  assert.deepEqual([said, noisy], ["at least 2.10× as fast as plain decoding, measured", undefined]);
  assert.equal(S.gainAtLeast(turns(2.1, 2.2, 2.5)), null);
  assert.equal(S.gainAtLeast({ ...sample(), finished: null }), null, "a run that is still going on");
});

test("a run that drafted nothing claims no speedup", () => {
  const trace = timed(1.04);
  for (const round of trace.rounds) Object.assign(round, { nodes: round.nodes.slice(0, 1) });
  const { text, said } = S.outcome(trace);
  assert.deepEqual([text, said], ["8 passes of the big model, one token each: nothing was guessed", undefined]);
  assert.equal(S.gain(trace), null);
});

test("what is counted up to the cursor is what was committed", () => {
  const trace = sample();
  assert.equal(S.upTo(trace, { round: 0, beat: 0 }), "");
  assert.equal(S.upTo(trace, { round: 0, beat: 99 }), "up to here 3 tokens in 1 pass");
  assert.equal(S.upTo(trace, { round: 1, beat: 0 }), "up to here 3 tokens in 1 pass");
});

test("nodes that only ride along are no guesses", () => {
  const trace = sample();
  trace.started.source = "recorded";
  const round = trace.rounds[5];
  round.drafted.riding = [3, 4];
  assert.match(S.question(trace, round), /guesses 2 tokens ahead\./);
  const own = "that rode along, and adds one of its own: 5 tokens from one pass.";
  assert.equal(S.answer(round), `It keeps all 2 and 2 ${own}`);
  round.drafted.riding = [1, 2, 3, 4];
  assert.equal(S.answer(round), `It keeps 4 ${own}`);
  assert.equal(S.question(trace, round), "Nothing is guessed in this round: the big model's pass takes 4 nodes along.");
  assert.equal(S.plainCaption(trace, round, null, { phase: "target" }), "The big model makes one pass.");
});

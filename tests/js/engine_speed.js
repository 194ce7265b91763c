// How fast the browser's engine is under node, in processor time, which other programs on the machine disturb least:
//   node tests/js/engine_speed.js [PROMPTS]
// prints passes a second by rows and model, plain tokens a second, and what drafters gain over plain decoding in turns.
const { engine, request, json } = require("./engine.js");

const ROWS = [1, 2, 5, 8];
const DRAFTERS = [
  { drafter: "model" },
  { drafter: "model", drafter_options: { gamma: 2 } },
  { drafter: "model", drafter_model: "drafter-weak" },
  { drafter: "ngram" },
];
const [REPEATS, CACHED, TOKENS] = [15, 128, 64];
const upTo = (n) => [...Array(n).keys()];
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Processor seconds of what is done. */
function cost(what) {
  const before = process.cpuUsage();
  what();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Seconds per pass of so many rows: medians over turns in which every row count has its place. */
function passes(model) {
  const cache = model.newCache();
  model.forward(upTo(CACHED), cache, null, true);
  model.keep(cache, upTo(CACHED));
  const took = new Map(ROWS.map((rows) => [rows, []]));
  for (let turn = 0; turn < REPEATS; turn++)
    for (const rows of ROWS) {
      took.get(rows).push(cost(() => model.forward(upTo(rows), cache)));
      model.keep(cache, []);
    }
  return new Map(ROWS.map((rows) => [rows, median(took.get(rows))]));
}

/** Tokens, and processor seconds of the rounds alone. */
async function decoded(loaded, asked) {
  const { started, session } = await loaded.begin(request({ max_new_tokens: TOKENS, ...asked }));
  session.begin();
  const seconds = cost(() => {
    while (session.finished === null) session.round();
  });
  return { tokens: session.tokens.length - started.prompt_ids.length, seconds };
}

async function main(most) {
  const loaded = await engine();
  for (const [name, model] of loaded.models) {
    const took = passes(model);
    const words = ROWS.map(
      (rows) => `${rows}: ${(1 / took.get(rows)).toFixed(0)}/s ×${(took.get(rows) / took.get(1)).toFixed(2)}`,
    );
    console.log(`${name}, passes by rows: ${words.join(", ")}`);
  }
  const prompts = json("prompts", "prompts.json").prompts.map((prompt) => prompt.text);
  const chosen = prompts.filter((_, at) => at % Math.ceil(prompts.length / most) === 0);
  const plain = [];
  const gains = DRAFTERS.map(() => []);
  for (const prompt of chosen) {
    for (const [at, asked] of DRAFTERS.entries()) {
      const bare = await decoded(loaded, { prompt });
      const run = await decoded(loaded, { prompt, ...asked });
      plain.push(bare.tokens / bare.seconds);
      gains[at].push(run.tokens / run.seconds / (bare.tokens / bare.seconds));
    }
  }
  console.log(`plain: ${median(plain).toFixed(1)} tokens/s, median of ${plain.length} runs`);
  DRAFTERS.forEach((asked, at) => {
    const [low, high] = [Math.min(...gains[at]), Math.max(...gains[at])];
    console.log(
      `${JSON.stringify(asked)}: × ${median(gains[at]).toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
    );
  });
}

main(Number(process.argv[2] ?? 12));

// Answers questions to the browser's engine: reads {question: …} from stdin, writes the answer as JSON.
const { S, KERNELS, load, tokenizer, engine, run } = require("./engine.js");

const answers = {
  /** Ids of texts. */
  ids({ texts }) {
    const codec = tokenizer();
    return texts.map((text) => codec.encode(text));
  },

  /** Every token's bytes, in hexadecimal. */
  bytes({ size }) {
    const codec = tokenizer();
    return Array.from({ length: size }, (_, token) => Buffer.from(codec.tokenBytes(token)).toString("hex"));
  },

  /** Logits of passes over texts, each with a cache of its own: [[{tokens, parents, keep}]]. */
  logits({ model, texts, kernels = "relaxed" }) {
    const one = load([model], KERNELS[kernels]).get(model);
    return texts.map((passes) => {
      const cache = one.newCache();
      return passes.map(({ tokens, parents, keep }) => {
        const logits = one.forward(tokens, cache, parents);
        one.keep(cache, keep);
        return logits.map((row) => Array.from(row));
      });
    });
  },

  /** The uniform numbers of seeds and keys. */
  uniform: ({ cases }) => cases.map(([seed, key]) => S.sampling.uniform(seed, key)),

  /** The race that runs make, plain decoding first. */
  race: ({ ways, traces }) =>
    S.tabRace(
      ways,
      traces.map((trace, at) => ({ way: at ? ways[at - 1] : null, repeat: 0, trace })),
    ),

  /** The traces of requests, or why there is none. */
  async traces({ requests, unpacked = null }) {
    const loaded = await engine(undefined, unpacked);
    const traces = [];
    for (const asked of requests) traces.push(await run(loaded, asked).catch((error) => error.message));
    return traces;
  },
};

const asked = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
Promise.resolve(answers[asked.question](asked)).then((answer) => process.stdout.write(JSON.stringify(answer)));

// The browser's engine over the shipped files, under node.
const fs = require("node:fs");
const path = require("node:path");
const { S } = require("./load.js");

const assets = path.join(__dirname, "..", "..", "assets");
const read = (...parts) => new Uint8Array(fs.readFileSync(path.join(assets, ...parts)));
const json = (...parts) => JSON.parse(fs.readFileSync(path.join(assets, ...parts), "utf-8"));
const [relaxed, simd] = ["kernels_relaxed.wasm", "kernels.wasm"].map((name) => read("engine", name));
const compiled = () => [relaxed, simd]; // the fastest first, as they are shipped
const KERNELS = { relaxed: [relaxed], simd: [simd], plain: [] };

/** Name → model, all in one arena. `binaries`: the compiled kernels; none for plain JavaScript. `more`: room beside. */
function load(names, binaries = compiled(), more = 0) {
  const shapes = names.map((name) => S.llamaShape(json("models", name, "config.json"), name));
  const arena = new S.Arena(
    binaries,
    shapes.reduce((sum, shape) => sum + S.arenaNumbers(shape), more),
  );
  return new Map(
    names.map((name, at) => {
      const tensors = S.readSafetensors(read("models", name, "model.safetensors"));
      return [name, new S.Llama(arena, shapes[at], tensors, { name })];
    }),
  );
}

const tokenizer = (name = "target") => new S.Tokenizer(json("models", name, "tokenizer.json"), name);

/** The engine with these models, the target first. `unpacked`: a folder with trained modules as a browser fetches them;
    null for none. */
function engine(names = ["target", "drafter", "drafter-weak"], unpacked = null) {
  const module = (name) => ({
    card: json("modules", name, "module.json"),
    weights: new Uint8Array(fs.readFileSync(path.join(unpacked, `${name}.safetensors`))),
  });
  const files = (name) => ({
    config: json("models", name, "config.json"),
    weights: read("models", name, "model.safetensors"),
  });
  return S.BrowserEngine.load({
    kernels: compiled(),
    tokenizer: read("models", names[0], "tokenizer.json"),
    eosIds: [json("models", names[0], "generation_config.json").eos_token_id],
    version: "0.1.0",
    catalog: json("catalog.json"),
    vectors: json("acceptance_vector.json"),
    stops: Object.fromEntries(["decision", "disco", "specdecpp"].map((name) => [name, json("stops", `${name}.json`)])),
    models: Object.fromEntries(names.map((name) => [name, files(name)])),
    modules: unpacked === null ? {} : { eagle: module("eagle"), medusa: module("medusa") },
  });
}

/** A request with what is usual. */
const request = (more) => ({
  prompt: "",
  drafter: "none",
  temperature: 0,
  top_k: 0,
  top_p: 1,
  seed: 0,
  max_new_tokens: 32,
  ...more,
});

/** The trace of a run. */
async function run(loaded, asked) {
  const steps = [];
  for await (const step of loaded.run(request(asked))) steps.push(step);
  return S.traceOf(steps);
}

module.exports = { S, read, json, compiled, KERNELS, load, tokenizer, engine, request, run };

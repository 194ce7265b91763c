// The browser's engine over the shipped files, under node.
const fs = require("node:fs");
const path = require("node:path");
const { S } = require("./load.js");

const assets = path.join(__dirname, "..", "..", "assets");
const read = (...parts) => new Uint8Array(fs.readFileSync(path.join(assets, ...parts)));
const json = (...parts) => JSON.parse(fs.readFileSync(path.join(assets, ...parts), "utf-8"));
const compiled = () => read("engine", "kernels.wasm");

/** Name → model, all in one arena. `binary`: the compiled kernels; null for plain JavaScript. */
function load(names, binary = compiled()) {
  const shapes = names.map((name) => S.llamaShape(json("models", name, "config.json"), name));
  const arena = new S.Arena(
    binary,
    shapes.reduce((sum, shape) => sum + S.arenaNumbers(shape), 0),
  );
  return new Map(
    names.map((name, at) => {
      const tensors = S.readSafetensors(read("models", name, "model.safetensors"));
      return [name, new S.Llama(arena, shapes[at], tensors, { name })];
    }),
  );
}

const tokenizer = (name = "target") => new S.Tokenizer(json("models", name, "tokenizer.json"), name);

module.exports = { S, read, json, compiled, load, tokenizer };

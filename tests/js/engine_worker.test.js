// The worker's side of the browser's engine: what it says to what it is asked, over files that a test serves.
const test = require("node:test");
const assert = require("node:assert");
const crypto = require("node:crypto");
const { S, read } = require("./engine.js");

const MODEL = "drafter-weak"; // the smallest, as its own target
const KERNELS = ["engine/kernels.wasm"];
const NAMES = [...KERNELS, "catalog.json", "acceptance_vector.json",
  `models/${MODEL}/tokenizer.json`, `models/${MODEL}/config.json`,
  `models/${MODEL}/model.safetensors`]; // prettier-ignore

/** A network that serves the shipped files, and counts; `spoil` changes a file on the way. */
function network(spoil = (name, bytes) => bytes) {
  const files = NAMES.map((name) => {
    const bytes = read(...name.split("/"));
    return { name, bytes: bytes.length, sha256: crypto.createHash("sha256").update(bytes).digest("hex") };
  });
  const manifest = { version: "0.1.0", eos_ids: [0], kernels: KERNELS, models: [MODEL], modules: [], stops: [], files };
  const kept = new Map();
  const cache = {
    match: async (address) => kept.get(address)?.clone(),
    put: async (address, response) => void kept.set(address, response),
    delete: async (address) => kept.delete(address),
  };
  const asked = [];
  const fetch = async (address) => {
    const name = address.slice("https://here/engine/".length).split("?")[0];
    asked.push(name);
    if (name === "manifest.json") return Response.json(manifest);
    return new Response(spoil(name, read(...name.split("/"))));
  };
  return { fetch, caches: { open: async () => cache }, asked };
}

/** A worker over a network: `ask` sends a message with a number, and every answer must carry it; `wait` gives all
    messages of a word once there is one. */
function worker(over) {
  const said = [];
  let asked = 0;
  const hear = ({ id, ...one }) => {
    assert.equal(id, asked);
    said.push(one);
  };
  const port = { onmessage: null, postMessage: (one) => hear(structuredClone(one)) };
  S.serveEngine(port, over);
  const wait = async (word) => {
    while (!said.some((one) => one.say === word)) {
      const other = said.find(({ say }) => say === "failed" || (["ready", "fits"].includes(say) && word === "failed"));
      assert.equal(other, undefined);
      await new Promise((done) => setTimeout(done, 1));
    }
    return said.filter((one) => one.say === word);
  };
  const ask = (data) => port.onmessage({ data: data.ask === "cancel" ? data : { ...data, id: (asked += 1) } });
  return { ask, wait };
}

const LOAD = { ask: "load", base: "https://here/engine/" };
const request = (most) => ({
  ask: "run",
  request: { prompt: "One day", drafter: "ngram", temperature: 0, top_k: 0, top_p: 1, seed: 0, max_new_tokens: most },
});

test("it loads with progress, runs step by step, and ends with the whole trace", async () => {
  const { ask, wait } = worker(network());
  ask(LOAD);
  const [{ pass }] = await wait("ready");
  assert.ok(pass > 0, "seconds of a pass, timed before anything is run");
  const progress = await wait("progress");
  assert.equal(progress.at(-1).bytes, progress[0].of);
  ask(request(12));
  const [{ trace }] = await wait("done");
  const kinds = (await wait("step")).map((one) => one.step.kind);
  assert.deepEqual([kinds[0], kinds.at(-1)], ["started", "finished"]);
  assert.equal(trace.rounds.length, kinds.length - 2);
  assert.equal(trace.finished.output_ids.length, 12);
});

test("what was fetched once comes from the cache", async () => {
  const over = network();
  for (const expected of [["manifest.json", ...NAMES], ["manifest.json"]]) {
    const { ask, wait } = worker(over);
    ask(LOAD);
    await wait("ready");
    assert.deepEqual(over.asked.splice(0), expected);
  }
});

test("a file that arrives otherwise than it was sent is refused and asked for again", async () => {
  const damaged = { now: true };
  const over = network((name, bytes) => (damaged.now && name.endsWith(".wasm") ? bytes.with(9, 1) : bytes));
  const first = worker(over);
  first.ask(LOAD);
  const [{ message }] = await first.wait("failed");
  assert.match(message, /^engine\/kernels.wasm did not arrive as it was sent/);
  damaged.now = false;
  const second = worker(over);
  second.ask(LOAD);
  await second.wait("ready");
});

test("a run before the files are there is refused in a sentence", async () => {
  const { ask, wait } = worker(network());
  ask(request(1));
  assert.deepEqual(await wait("failed"), [{ say: "failed", message: "the engine's files are not loaded yet." }]);
});

test("a request is checked before anything large is fetched", async () => {
  const over = network();
  const first = worker(over);
  const asked = { ...request(1).request, target: MODEL };
  first.ask({ ask: "check", base: LOAD.base, request: asked });
  await first.wait("fits");
  const second = worker(over);
  second.ask({ ask: "check", base: LOAD.base, request: { ...asked, stop_policy: "hexagon" } });
  const [{ message }] = await second.wait("failed");
  assert.equal(message, "the browser's engine has no stop policy 'hexagon'; run it on the server.");
  assert.deepEqual(over.asked, ["manifest.json", "catalog.json", "manifest.json"]);
});

test("cancelling ends a run as cancelled, and its trace is whole", async () => {
  const { ask, wait } = worker(network());
  ask(LOAD);
  await wait("ready");
  ask(request(900));
  await wait("step");
  ask({ ask: "cancel" });
  const [{ trace }] = await wait("done");
  assert.equal(trace.finished.reason, "cancelled");
  assert.ok(trace.finished.output_ids.length < 900);
});

test("a series runs in its order with text and times alone, and says why it leaves anything out", async () => {
  const { ask, wait } = worker(network());
  ask(LOAD);
  await wait("ready");
  const { request: ngram } = request(6);
  ask({ ask: "series", requests: [{ ...ngram, drafter: "none" }, { ...ngram, drafter: "hydra" }, ngram] });
  const [{ refusals }] = await wait("series");
  assert.deepEqual(refusals, ["", "the browser's engine has no drafter 'hydra'; run it on the server.", ""]);
  const ran = await wait("ran");
  assert.deepEqual(
    ran.map(({ place, of, trace }) => [place, of, trace.started.drafter.name, trace.finished.output_ids.length]),
    [
      [0, 3, "none", 6],
      [2, 3, "ngram", 6],
    ],
  );
  assert.deepEqual(ran[0].trace.finished.output_ids, ran[1].trace.finished.output_ids);
  assert.deepEqual(ran[1].trace.rounds[0].nodes[0].target, { tokens: [], probs: [], rest: 1 });
});

test("a series of which no drafter can be run is refused before anything large is fetched", async () => {
  const over = network();
  const { ask, wait } = worker(over);
  const { request: plain } = request(1);
  const requests = ["none", "hydra"].map((drafter) => ({ ...plain, target: MODEL, drafter }));
  ask({ ask: "check", base: LOAD.base, requests });
  const [{ message }] = await wait("failed");
  assert.equal(message, "the browser's engine has no drafter 'hydra'; run it on the server.");
  assert.deepEqual(over.asked, ["manifest.json", "catalog.json"]);
});

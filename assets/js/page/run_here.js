/* A run in the visitor's own tab, on a site that carries the engine: a form, the worker behind it, and the trace for
   the player. What it costs is said before it is fetched. */
// needs: dom, numbers
const runHere = (function (S) {
  "use strict";

  const { h } = S;
  const DRAFTERS = [
    ["model", "a small model"],
    ["ngram", "copies from the text"],
    ["token_recycling", "token recycling"],
    ["none", "nobody: plain decoding"],
  ];
  const MB = 1e6;
  const [SEED, TOKENS] = [7, 64];

  /** What a message of the worker says to the visitor. */
  function words(said) {
    if (said.say === "progress")
      return `Loading the models: ${(said.bytes / MB).toFixed(0)} of ${(said.of / MB).toFixed(0)} MB.`;
    if (said.say === "ready") return `The models are here after ${said.seconds.toFixed(1)} s.`;
    if (said.say === "step")
      return said.step.kind === "round" ? `Round ${said.step.event.index + 1}.` : "Running here.";
    if (said.say === "failed") return `This did not work: ${said.message}`;
    const { output_ids: tokens, decode_s: seconds } = said.trace.finished;
    return `Run in this browser: ${S.count(tokens.length, "token")} in ${S.seconds(seconds)}.`;
  }

  /** The form; `show` is given each finished trace as text. `megabytes`: what the first run fetches. */
  function runHere(megabytes, show) {
    const prompt = h("input", { type: "text", "aria-label": "prompt", value: "Once upon a time" });
    const drafter = h(
      "select",
      { "aria-label": "who drafts" },
      DRAFTERS.map(([value, label]) => h("option", { value }, label)),
    );
    const warm = h("input", {
      type: "number",
      "aria-label": "temperature",
      min: "0",
      max: "2",
      step: "0.1",
      value: "0",
    });
    const said = h("p", { role: "status" }, `The first run fetches ${megabytes} MB, which the browser keeps.`);
    const button = h("button", { type: "submit" }, "Run here");
    /** @type {Worker | null} */
    let worker = null;
    let request = null;
    const run = () => worker.postMessage({ ask: "run", request });
    const tell = ({ data }) => {
      S.setText(said, words(data));
      button.disabled = data.say !== "done" && data.say !== "failed";
      if (data.say === "ready") run();
      if (data.say === "done") show(JSON.stringify(data.trace));
    };
    const ask = (event) => {
      event.preventDefault();
      button.disabled = true;
      const shape = { temperature: Number(warm.value), top_k: 0, top_p: 1, seed: SEED, max_new_tokens: TOKENS };
      request = { prompt: prompt.value, drafter: drafter.value, ...shape };
      if (worker) {
        run();
        return;
      }
      worker = new Worker("engine.js");
      worker.onmessage = tell;
      worker.postMessage({ ask: "load", base: new URL("engine/", location.href).href });
    };
    return h("form", { class: "svs-here", onsubmit: ask }, [prompt, drafter, warm, button, said]);
  }

  return { runHere };
})(SpecViz);
Object.assign(SpecViz, runHere);

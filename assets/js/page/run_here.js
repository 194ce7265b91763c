/* A run in the visitor's own tab: the worker behind it, what is said and shown as it goes on, and the two places that
   offer it: a form on a site that carries the engine, and a button beside Run on the served page. What it costs is said
   before it is fetched. */
// needs: dom, growing_run, numbers
const runHere = (function (S) {
  "use strict";

  const { h } = S;
  const DRAFTERS = [
    ["model", "a small model"],
    ["ngram", "copies from the text"],
    ["token_recycling", "token recycling"],
    ["eagle", "EAGLE: the target's own states"],
    ["medusa", "Medusa: heads on the last state"],
    ["none", "nobody: plain decoding"],
  ];
  const MB = 1e6;
  const [SEED, TOKENS] = [7, 64];
  const CHEAP = { ask: "cheap" };
  const STOPPED = { say: "failed", message: "you stopped it before it began." };
  const LOST = { say: "failed", message: "the engine's script engine.js did not load; reload the page." };

  /** What a message of the worker says to the visitor. Pure. */
  function words(said) {
    if (said.say === "fits") return "Loading the models, which your browser keeps.";
    if (said.say === "progress")
      return `Loading the models: ${(said.bytes / MB).toFixed(0)} of ${(said.of / MB).toFixed(0)} MB.`;
    if (said.say === "ready") return `The models are here after ${said.seconds.toFixed(1)} s.`;
    if (said.say === "step")
      return said.step.kind === "round"
        ? `Running in your browser: round ${said.step.event.index + 1}.`
        : "Running here.";
    if (said.say === "proved") return proof(said);
    if (said.say === "costs") return costs(said.costs);
    if (said.say === "failed") return said.message.slice(0, 1).toUpperCase() + said.message.slice(1);
    const { output_ids: tokens, decode_s: seconds } = said.trace.finished;
    return `Run in this browser: ${S.count(tokens.length, "token")} in ${S.seconds(seconds)}.`;
  }

  /** What was proved in the visitor's own browser. */
  const proof = ({ proved: { branches, texts, distance }, seconds }) =>
    `Every branch of the chain rule on two toy models was walked in this browser in ${S.seconds(seconds)}: ` +
    `${S.count(branches, "branch", "branches")}, ${texts} texts, and their probabilities are ` +
    `${distance.toExponential(0)} from the target's own.`;

  /** What a draft brings to a target as it is and to a cheap one, as it was measured: in a sentence, whatever came out.
      @param {{ eight: boolean, plain: number, drafted: number, rows: number }[]} measured */
  function costs(measured) {
    const [whole, cheap] = measured.map(({ plain, drafted, rows }) => ({ plain, rows, gain: drafted / plain }));
    const one = (name, { plain, rows, gain }) =>
      `${name}: ${plain.toFixed(0)} tokens a second plain, a pass over five rows takes ${rows.toFixed(1)} of one, ` +
      `and a draft of four makes it × ${gain.toFixed(2)}.`;
    const both = `${one("Float32", whole)} ${one("Eight bits", cheap)}`;
    if (cheap.gain >= whole.gain) return `${both} Here the cheaper target gains no less from a draft.`;
    const pays = cheap.gain < 1 ? "speculation stops paying" : "speculation pays less";
    return `${both} Make the target cheap, and ${pays}.`;
  }

  /** The engine in a worker, made with the first request: checks each one, fetches the models for the first that it can
      run, and runs it. `hear` is given every message of the worker. */
  function engineHere(hear) {
    const base = new URL("engine/", document.baseURI).href;
    /** @type {Worker | null} */
    let worker = null;
    let loaded = false;
    let request = null; // null again once the visitor has stopped it
    const ask = (asked) => worker.postMessage(asked);
    const next = {
      fits: () => ask(loaded ? { ask: "run", request } : { ask: "load", base }),
      ready: () => ask(request === CHEAP ? request : { ask: "run", request }),
    };
    function answer({ data }) {
      if (data.say === "ready") loaded = true;
      const goesOn = data.say in next;
      if (!request && (goesOn || data.say === "failed")) return hear(STOPPED);
      if (goesOn) next[data.say]();
      return hear(data);
    }
    function start() {
      if (worker) return;
      worker = new Worker(new URL("engine.js", document.baseURI));
      worker.onmessage = answer;
      worker.onerror = () => {
        worker = null;
        loaded = false;
        hear(LOST);
      };
    }
    return {
      run(asked) {
        request = asked;
        start();
        ask({ ask: "check", base, request });
      },
      /** Time the target as it is and in eight bits. */
      cheap() {
        request = CHEAP;
        start();
        ask(loaded ? CHEAP : { ask: "load", base });
      },
      /** Prove the chain rule, which takes no models. */
      prove() {
        start();
        ask({ ask: "prove" });
      },
      stop() {
        request = null;
        ask({ ask: "cancel" });
      },
    };
  }

  const isOver = ({ say }) => ["done", "proved", "costs", "failed"].includes(say);

  /** The form; `show` is given the run as text, while it grows and when it is whole. `megabytes`: what the first run
      fetches. */
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
    const buttons = [
      button,
      h("button", { type: "button", onclick: () => asking(engine.prove) }, "Prove the rule here"),
      h("button", { type: "button", onclick: () => asking(engine.cheap) }, "Make the target cheap"),
    ];
    const rest = (isBusy) => buttons.forEach((one) => (one.disabled = isBusy));
    const asking = (does) => {
      rest(true);
      does();
    };
    const grow = S.growingRun(show);
    const engine = engineHere((data) => {
      if (data.say === "step" && !grow(data.step)) return;
      S.setText(said, words(data));
      rest(!isOver(data));
      if (data.say === "done") show(JSON.stringify(data.trace));
    });
    const ask = (event) => {
      event.preventDefault();
      rest(true);
      const shape = { temperature: Number(warm.value), top_k: 0, top_p: 1, seed: SEED, max_new_tokens: TOKENS };
      engine.run({ prompt: prompt.value, drafter: drafter.value, ...shape });
    };
    return h("form", { class: "svs-here", onsubmit: ask }, [prompt, drafter, warm, ...buttons, said]);
  }

  // --- the served page ---

  const LABEL = "Run here";
  const BADGES = '<div class="sv-badges"><span class="sv-badge">in your browser, still running</span></div>';
  const stage = () => document.querySelector("#sv-player .sv-player").specviz;
  /** The page's button, once it is mounted.
      @type {{ start: (answer: string) => void, offer: () => void, line: string }} */
  const served = { start() {}, offer() {}, line: "" };

  /** The button beside Run. `tell("asked")`: what stands in the controls is wanted, and comes by `startHere`;
      `tell("said")`: `hereSays` has another line; `tell("began")`: the player shows the first of a run, and what stands
      around it is `hereBegins`; `tell("ran", {trace})`: a run, as text. */
  function mountHere(element, props, tell) {
    const label = h("span", {}, LABEL);
    const title = `Runs in your own browser; the first time it fetches ${props.megabytes} MB, which it keeps.`;
    const button = h("button", { type: "button", title, onclick: press }, label);
    let busy = false;
    const root = element.querySelector(".sv-here");
    root.replaceChildren(button);

    function say(text, tone) {
      const line = h("p", { class: `sv-message sv-message-${tone}`, role: "status", "aria-live": "polite" }, text);
      if (served.line === line.outerHTML) return;
      served.line = line.outerHTML;
      tell("said");
    }
    function rest(isBusy) {
      busy = isBusy;
      S.setText(label, busy ? "Stop" : LABEL);
    }
    const grow = S.growingRun((text) => stage().load(text));
    const engine = engineHere((data) => {
      if (data.say === "step" && !grow(data.step)) return;
      if (data.say === "step" && data.step.kind === "started") tell("began");
      rest(!isOver(data));
      say(words(data), data.say === "failed" ? "error" : "busy");
      if (data.say === "done") tell("ran", { trace: JSON.stringify(data.trace) });
    });
    function press() {
      root.classList.remove("is-offered");
      if (busy) {
        engine.stop();
        return;
      }
      served.line = "";
      tell("asked");
    }
    served.start = (answer) => {
      const { request, refusal } = JSON.parse(answer);
      if (refusal) {
        say(refusal, "error");
        return;
      }
      rest(true);
      engine.run(request);
    };
    served.offer = () => {
      root.classList.add("is-offered");
      root.closest(".sv-bar").dataset.open = "1"; // on a phone the bar hides all but the prompt and Run
    };
  }

  const startHere = (answer) => served.start(answer);
  /** The server has no room: its own browser is the visitor's next best. */
  const offerHere = () => served.offer();
  /** What is to be said of the run in the browser, as HTML. */
  const hereSays = () => served.line;
  /** Badges and panels of a run that has only begun: those of the run before are no longer true. */
  const hereBegins = () => [BADGES, ""];

  return { runHere, mountHere, startHere, offerHere, hereSays, hereBegins, hereWords: words };
})(SpecViz);
Object.assign(SpecViz, runHere);

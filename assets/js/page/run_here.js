/* A run in the visitor's own tab, shown as it goes on, and the two places that offer it: a form on a site that carries
   the engine, and a button beside Run on the served page. What it costs is said before it is fetched. */
// needs: cheap_panel, dom, growing_run, tab_engine
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
  const [SEED, TOKENS] = [7, 64];

  /** A control under its name. */
  const named = (name, control) => h("label", {}, h("span", {}, name), control);

  /** The number formats of the target, as a choice. */
  function formatChoice() {
    const title =
      "The numbers in which the target computes. In int8 its text may differ from float32's; verdicts are exact " +
      "for the target that ran.";
    const options = ["float32", "int8"].map((value) => h("option", { value }, value));
    return h("select", { title }, options);
  }

  /** The form; `show` is given the run as text, while it grows and when it is whole. `megabytes`: what the first run
      fetches. */
  function runHere(megabytes, show) {
    S.offerTab(megabytes);
    const prompt = h("input", { type: "text", value: "Once upon a time" });
    const drafter = h(
      "select",
      {},
      DRAFTERS.map(([value, label]) => h("option", { value }, label)),
    );
    const warm = h("input", { type: "number", min: "0", max: "2", step: "0.1", value: "0" });
    const format = formatChoice();
    const said = h("p", { role: "status" }, `The first run fetches ${megabytes} MB, which the browser keeps.`);
    const prove = () => ask({ ask: "prove" });
    const buttons = [
      h("button", { type: "submit" }, "Run here"),
      h("button", { type: "button", onclick: prove }, "Prove the rule here"),
    ];
    const grow = S.growingRun(show);
    function hear(data) {
      if (data.say === "step" && !grow(data.step)) return;
      S.setText(said, S.tabWords(data));
      if (S.tabIsOver(data)) buttons.forEach((button) => (button.disabled = false));
      if (data.say === "done") show(JSON.stringify(data.trace));
    }
    function ask(asked) {
      buttons.forEach((button) => (button.disabled = true));
      S.askTab(asked, hear);
    }
    function run(event) {
      event.preventDefault();
      const shape = { temperature: Number(warm.value), top_k: 0, top_p: 1, seed: SEED, max_new_tokens: TOKENS };
      const request = { prompt: prompt.value, drafter: drafter.value, dtype: format.value, ...shape };
      ask({ ask: "run", request });
    }
    const lesson = h("details", {}, h("summary", {}, "Make the target cheap"), S.cheapPanel().box);
    return h("form", { class: "svs-here", onsubmit: run }, [
      named("prompt", prompt),
      named("who drafts", drafter),
      named("temperature", warm),
      named("target in", format),
      ...buttons,
      said,
      lesson,
    ]);
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
    S.offerTab(props.megabytes);
    const label = h("span", {}, LABEL);
    const title = `Runs in your own browser; the first time it fetches ${props.megabytes} MB, which it keeps.`;
    const button = h("button", { type: "button", title, onclick: press }, label);
    const format = formatChoice();
    let stop = null; // while something is going on
    const root = element.querySelector(".sv-here");
    root.replaceChildren(button, named("target in", format));

    function say(text, tone) {
      const line = h("p", { class: `sv-message sv-message-${tone}`, role: "status", "aria-live": "polite" }, text);
      if (served.line === line.outerHTML) return;
      served.line = line.outerHTML;
      tell("said");
    }
    function rest() {
      stop = null;
      S.setText(label, LABEL);
    }
    const grow = S.growingRun((text) => stage().load(text));
    function hear(data) {
      if (data.say === "step" && !grow(data.step)) return;
      if (data.say === "step" && data.step.kind === "started") tell("began");
      if (S.tabIsOver(data)) rest();
      say(S.tabWords(data), data.say === "failed" ? "error" : "busy");
      if (data.say === "done") tell("ran", { trace: JSON.stringify(data.trace) });
    }
    function press() {
      root.classList.remove("is-offered");
      if (stop) {
        stop();
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
      S.setText(label, "Stop");
      stop = S.askTab({ ask: "run", request: { ...request, dtype: format.value } }, hear);
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

  return { runHere, mountHere, startHere, offerHere, hereSays, hereBegins };
})(SpecViz);
Object.assign(SpecViz, runHere);

/* The engine of the visitor's own tab: one worker for the whole page, made with the first request, and what its
   messages say in words. Whoever asks takes it over: what was going on ends.

   askTab(run) ─► check ─► load, once ─► run ─► step … ─► done      askTab(others) ─► load, once ─► … */
// needs: numbers
const tabEngine = (function (S) {
  "use strict";

  const MB = 1e6;
  const ENDS = ["done", "series", "proved", "costs", "dueled", "failed"];
  const NEEDS_NO_MODELS = ["prove"];
  const SLOWER = 1.5; // times as long as on the machine of the shipped curve: below that nobody would call it slow
  const STOPPED = { say: "failed", message: "you stopped it before it began." };
  const TAKEN = { say: "failed", message: "it was stopped, because this tab was asked for something else." };
  const LOST = { say: "failed", message: "the engine's script engine.js did not load; reload the page." };
  const ABSENT = {
    say: "failed",
    message: "this page carries no models; open the served page, or a site written with --engine, over http or https.",
  };
  const RUN_NUMBERS = {
    float32: "",
    int8: " The target computed in int8: its text may differ from float32's; verdicts are exact for the int8 target.",
  };

  /** @type {Worker | null} */
  let worker = null;
  let isLoaded = false;
  let megabytes = 0; // what the first request fetches; 0: this page has no engine
  let pass = null; // seconds of a pass of the target in this tab, once the models are here
  let last = 0;
  /** What is going on: what is asked for, who hears of it, and whether its asker stopped it.
      @type {{ id: number, asked: any, hear: (said: any) => void, isStopped: boolean } | null} */
  let going = null;

  /** The page has an engine, whose first use fetches so much. */
  const offerTab = (size) => (megabytes = size);
  const tabMegabytes = () => megabytes;

  const isOver = ({ say }) => ENDS.includes(say);

  function post(asked) {
    worker.postMessage({ ...asked, id: going.id, base: new URL("engine/", document.baseURI).href });
  }

  function hear(said) {
    const { hear: tell } = going;
    if (isOver(said)) going = null;
    tell(said);
  }

  function answer({ data }) {
    if (data.say === "ready") [isLoaded, pass] = [true, data.pass];
    if (data.id !== going?.id) return; // of what went on before
    const goesOn = data.say === "fits" || data.say === "ready";
    if (going.isStopped && (goesOn || data.say === "failed")) return hear(STOPPED);
    if (data.say === "fits" && !isLoaded) post({ ask: "load" });
    else if (goesOn) post(going.asked);
    hear(data);
  }

  function lost() {
    worker = null;
    isLoaded = false;
    if (going) hear(LOST);
  }

  /** Ask the tab's engine for something, with every message of its answer told to `tell`: `{ask: "run", request}`,
      `{ask: "series", requests}`,
      `{ask: "cheap"}`, `{ask: "duel", …}` or `{ask: "prove"}`. What is given back stops it. */
  function askTab(asked, tell) {
    if (going) hear(TAKEN);
    const mine = { id: (last += 1), asked, hear: tell, isStopped: false };
    going = mine;
    if (!megabytes)
      setTimeout(() => going === mine && hear(ABSENT)); // once the asker has what stops it
    else {
      if (!worker) {
        worker = new Worker(new URL("engine.js", document.baseURI));
        worker.onmessage = answer;
        worker.onerror = lost;
      }
      if (asked.ask === "run" || asked.ask === "series") post({ ...asked, ask: "check" });
      else post(isLoaded || NEEDS_NO_MODELS.includes(asked.ask) ? asked : { ask: "load" });
    }
    return () => {
      if (going !== mine) return;
      mine.isStopped = true;
      post({ ask: "cancel" });
    };
  }

  /** What to expect of a tab in which a pass of the target takes so long, beside the machine whose curve is shipped;
      empty where it is about as fast. Pure. */
  function paceWords(seconds, known = S.CLOCKS?.[0]?.seconds[0]) {
    if (!seconds || !known || seconds < SLOWER * known) return "";
    return (
      ` Expect it to be slower: a pass of the target takes ${S.seconds(seconds)} in this tab, measured just now, ` +
      `${S.ratio(seconds / known)} times as long as on the machine whose times are shipped; ` +
      `plain decoding writes about ${S.count(Math.max(1, Math.round(1 / seconds)), "token")} a second.`
    );
  }

  /** What was proved in the visitor's own browser. */
  const proof = ({ proved: { branches, texts, distance }, seconds }) =>
    `Every branch of the chain rule on two toy models was walked in this browser in ${S.seconds(seconds)}: ` +
    `${S.count(branches, "branch", "branches")}, ${texts} texts, and their probabilities are ` +
    `${distance.toExponential(0)} from the target's own.`;

  /** What a message of the worker says to the visitor, in a tab whose target takes `taken` seconds a pass. Pure. */
  function words(said, taken = pass) {
    const pace = paceWords(taken);
    if (said.say === "fits") return "Loading the models, which your browser keeps.";
    if (said.say === "progress")
      return `Loading the models: ${(said.bytes / MB).toFixed(0)} of ${(said.of / MB).toFixed(0)} MB.`;
    if (said.say === "ready")
      return `The models are here after ${said.seconds.toFixed(1)} s.${paceWords(said.pass ?? taken)}`;
    if (said.say === "step")
      return said.step.kind === "round"
        ? `Running in your browser: round ${said.step.event.index + 1}.${pace}`
        : `Running here.${pace}`;
    if (said.say === "ran") return `Running in your browser: ${said.place + 1} of ${S.count(said.of, "run")}.${pace}`;
    if (said.say === "timing") return `Timing in your browser: ${said.turn} of ${S.count(said.turns, "turn")}.`;
    if (said.say === "proved") return proof(said);
    if (["costs", "dueled", "series"].includes(said.say)) return "Timed in your browser.";
    if (said.say === "failed") return said.message.slice(0, 1).toUpperCase() + said.message.slice(1);
    const { output_ids: tokens, decode_s: seconds } = said.trace.finished;
    const numbers = RUN_NUMBERS[said.trace.started.target.dtype] ?? "";
    return `Run in this browser: ${S.count(tokens.length, "token")} in ${S.seconds(seconds)}.${numbers}`;
  }

  return { askTab, offerTab, tabMegabytes, tabIsOver: isOver, tabWords: words, paceWords };
})(SpecViz);
Object.assign(SpecViz, tabEngine);

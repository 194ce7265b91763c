/* A race or a sweep in the visitor's own tab: a button beside the one that has the server measure it. The server says
   which runs; the tab makes them one after the other and hands over their traces, which the server's own reader checks
   and its own charts show.

   press ─► asked ─► startSeries(answer) ─► the tab's engine: run after run ─► ran {tab, traces, refusals} */
// needs: dom, tab_engine
const seriesHere = (function (S) {
  "use strict";

  const { h } = S;
  const LABEL = "Run here";
  /** The buttons, by the tab that they stand in.
      @type {Map<string, { start: (answer: any) => void, line: string }>} */
  const mounted = new Map();

  /** The button of a tab. `tell("asked")`: the runs that the controls ask for are wanted, and come by `startSeries`;
      `tell("said")`: `seriesSays` has another line; `tell("ran", {runs})`: all that was run, as text. */
  function mountSeries(element, props, tell) {
    S.offerTab(props.megabytes);
    const size = `${props.megabytes} MB`;
    const title = `Runs all of it in your own browser; the first time it fetches ${size}, which it keeps.`;
    const button = h("button", { type: "button", title, onclick: press }, LABEL);
    element.querySelector(".sv-series").replaceChildren(button);
    const own = { start, line: "" };
    mounted.set(props.tab, own);
    let stop = null; // while something is going on
    let traces = [];

    function say(text, tone) {
      const line = h("p", { class: `sv-message sv-message-${tone}`, role: "status", "aria-live": "polite" }, text);
      if (own.line === line.outerHTML) return;
      own.line = line.outerHTML;
      tell("said");
    }
    function hear(said) {
      if (said.say === "ran") traces[said.place] = said.trace;
      if (S.tabIsOver(said)) {
        stop = null;
        S.setText(button, LABEL);
      }
      say(S.tabWords(said), said.say === "failed" ? "error" : "busy");
      if (said.say !== "series") return;
      const runs = said.refusals.map((refusal, place) => ({ refusal, trace: traces[place] ?? null }));
      tell("ran", { runs: JSON.stringify(runs) });
    }
    function press() {
      own.line = "";
      if (stop) stop();
      else tell("asked");
    }
    function start({ requests, refusal }) {
      if (refusal) {
        say(refusal, "error");
        return;
      }
      traces = [];
      S.setText(button, "Stop");
      stop = S.askTab({ ask: "series", requests }, hear);
    }
  }

  /** What the server answers to `asked`, as text: the tab, and its runs or why there are none. */
  function startSeries(answer) {
    const asked = JSON.parse(answer);
    mounted.get(asked.tab).start(asked);
  }

  /** What is to be said in a tab, as HTML. */
  const seriesSays = (tab) => mounted.get(tab).line;

  return { mountSeries, startSeries, seriesSays };
})(SpecViz);
Object.assign(SpecViz, seriesHere);

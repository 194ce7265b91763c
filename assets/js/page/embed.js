/* A player that is a page of its own: in an exported file, in a notebook's frame, and embedded in somebody's page,
   which drives it by messages. The protocol is written down in docs/exports.md. */
// needs: address, exercises, lesson, pins, rule_editor, specviz, state
const embed = (function (S) {
  "use strict";

  const FORMAT = "specviz-trace";

  /** Start the player over the data that lie in the document; returns its handle. */
  function standAlone(page) {
    const data = (id) => page.getElementById(id)?.textContent || "";
    const read = (id) => JSON.parse(data(id) || "null");
    const handle = S.mount(page.querySelector("main"), { value: data("sv-trace"), badge: true });
    const moment = read("sv-moment");
    if (moment?.pins) S.takePins(moment.pins);
    if (moment && handle.trace && !S.readMoment(location.hash)) handle.go(moment, false, moment.node);
    const lesson = read("sv-lesson");
    if (lesson) S.playLesson(handle, lesson);
    listen(handle, (trace) => handle.load(JSON.stringify(trace)));
    page.querySelector("main").append(S.ruleDrawer(), ...(lesson ? [] : [S.classDrawer()]));
    return handle;
  }

  /** What an embedding page is told: where the player stands. */
  const stateOf = (handle) => ({
    type: "specviz",
    event: "state",
    run: handle.trace ? handle.trace.started.run_id : null,
    rounds: handle.trace ? handle.trace.rounds.length : 0,
    round: handle.cursor.round + 1,
    beat: handle.cursor.beat + 1,
    node: handle.selected,
  });

  const looksLikeATrace = (one) =>
    one.format === FORMAT && !!one.started && !!one.vocab && Array.isArray(one.rounds) && one.rounds.length > 0;

  /** Obey messages of the page around: {type: "specviz", action: "load" | "go" | "select" | "run" | "state"}; each is
      answered, and every later step too, to the window that asked. Messages of any origin are taken: this page holds
      nothing but what its visitor may see, and can do nothing but show it. `open` loads a trace, or a recording by its
      name. */
  function listen(handle, open) {
    const askers = new Map(); // window → origin to answer to
    const tell = (message) => {
      for (const [who, origin] of askers) who.postMessage(message, origin);
    };
    handle.subscribe(() => tell(stateOf(handle)));
    addEventListener("message", async (event) => {
      const asked = event.data;
      if (!asked || asked.type !== "specviz" || !asked.action || !event.source) return;
      askers.set(event.source, event.origin === "null" || event.origin === "file://" ? "*" : event.origin);
      try {
        await obey(handle, asked, open);
        event.source.postMessage(stateOf(handle), askers.get(event.source));
      } catch (error) {
        const answer = { type: "specviz", event: "error", action: String(asked.action), message: error.message };
        event.source.postMessage(answer, askers.get(event.source));
      }
    });
  }

  async function obey(handle, asked, open) {
    const whole = (value) => (Number.isInteger(value) && value > 0 ? value : 1);
    switch (asked.action) {
      case "load": {
        if (asked.trace && !looksLikeATrace(asked.trace))
          throw new Error(`this is no ${FORMAT} with rounds; send one as \`specviz run --trace\` writes it.`);
        return open(asked.trace ?? asked.run);
      }
      case "go":
        return handle.go({ round: whole(asked.round) - 1, beat: whole(asked.beat) - 1 }, true, asked.node ?? null);
      case "select":
        if (asked.node !== S.END && !handle.trace?.rounds[handle.cursor.round]?.nodes[asked.node])
          throw new Error(`this round has no node ${asked.node}.`);
        return handle.select(asked.node);
      case "run":
        if (!S.COMMANDS.includes(asked.name))
          throw new Error(`there is no command '${asked.name}'; there are ${S.COMMANDS.join(", ")}.`);
        return handle.run(asked.name);
      case "state":
        return undefined;
      default:
        throw new Error(`there is no action '${asked.action}'; there are load, go, select, run and state.`);
    }
  }

  const COMMANDS = [
    ..."play next previous nextRound previousRound nextRejection previousRejection nextBonus start end fit".split(" "),
  ];

  return { standAlone, listen, COMMANDS };
})(SpecViz);
Object.assign(SpecViz, embed);

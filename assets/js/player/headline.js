/* What stands above the stage: the question of the round at hand, its answer once the verdicts are in, and what the
   whole run gained. Reads the trace through a player's handle, so it stands in the page, in exports and beside lessons
   alike. */
// needs: dom, gain, numbers, slowdown, state, wording
const headline = (function (S) {
  "use strict";

  const { h } = S;
  const many = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;
  const passesOf = (count) => `${count} pass${count === 1 ? "" : "es"}`;

  /** "A small model guesses 4 words ahead. How many will the big one keep?" of any round.
      @param {{ started: trace.Started }} trace @param {trace.Round} round */
  function question(trace, round) {
    const drafted = S.drafts(round).length;
    if (!drafted && S.riding(round))
      return (
        "Nothing is guessed in this round: the big model's pass takes " +
        `${S.count(S.riding(round), S.say("node", "token"))} along.`
      );
    if (!drafted) return "Nothing is guessed in this round: the big model's pass writes one token.";
    const { drafter } = trace.started;
    const simulated = trace.started.source === "simulated";
    const alone = drafter.pass_reads // a network on the target's states, or layers of the target
      ? S.say(`The drafter ${drafter.name}`, `“${drafter.name}”`)
      : S.say(`A drafter without a model (${drafter.name})`, `“${drafter.name}”, no model at all,`);
    const who = simulated
      ? S.say("A simulated drafter", "A simulated small model")
      : drafter.model
        ? "A small model"
        : alone;
    const deepest = Math.max(...S.drafts(round).map((node) => node.depth));
    const guesses =
      deepest === drafted
        ? `${many(drafted, "token")} ahead`
        : `a tree of ${many(drafted, "token")}, up to ${deepest} ahead`;
    const big = simulated ? S.say("simulated target", "simulated big one") : "big one";
    return `${who} guesses ${guesses}. How many will the ${big} keep?`;
  }

  /** The answer, once the round's last token is drawn.
      @param {trace.Round} round */
  function answer(round) {
    const { tokens, trimmed } = round.committed;
    const drafted = S.counted(round).length;
    const kept = S.acceptedDrafts(round);
    const rode = tokens.filter(({ node }) => (round.drafted.riding || []).includes(node)).length;
    if (!drafted && !rode) return question(null, round);
    const own = { bonus: "adds one of its own", correction: "writes the next one itself" }[round.judged.origin];
    const over = S.endsText(round); // of what lies behind the end nobody can say that it was kept, or that it was not
    const open = trimmed && "leaves the next one to the next round";
    const last = over ? "the text ends there" : open || own || "writes one itself";
    const keeps = kept === 0 ? "none" : kept === drafted && !over ? `all ${drafted}` : `${kept}`;
    const share = kept && kept < drafted && !over ? ` of ${drafted}` : "";
    const beside = rode ? `${drafted ? " and " : ""}${rode} that rode along,` : "";
    const what = `${drafted ? keeps + share : ""}${beside}`;
    return `It keeps ${what} and ${last}: ${many(tokens.length, "token")} from one pass.`;
  }

  const LONGEST = 200; // characters of what an engine says went wrong

  /** Why a run is over before its text is, in a sentence without its end; "" where the text ended.
      @param {trace.Trace} trace */
  function brokenOff({ rounds, finished }) {
    if (finished?.reason === "cancelled") return `stopped before ${rounds.length ? "its end" : "its first round"}`;
    if (finished?.reason !== "failed") return "";
    const message = Array.from(finished.message || "nothing was said of why")
      .slice(0, LONGEST)
      .join("");
    return `the run failed${rounds.length ? "" : " before its first round"}: ${message.replace(/\.$/, "")}`;
  }

  /** What stands in the place of a stage without rounds.
      @param {trace.Trace | null} trace */
  function nothingToShow(trace) {
    const why = trace ? brokenOff(trace) : "";
    return why ? `${why.slice(0, 1).toUpperCase()}${why.slice(1)}.` : "No run to show yet.";
  }

  /** The whole run in a sentence, its passes first: they are counted, times are only measured. What no plain decoding
      was timed beside speaks of passes alone, and a gain that noise could have made is not told. A slower run says why,
      and one that broke off that it did.
      @param {trace.Trace} trace */
  function outcome(trace) {
    const tokens = trace.rounds.reduce((sum, round) => sum + round.committed.tokens.length, 0);
    if (!trace.finished)
      return { text: `${passesOf(trace.rounds.length)} of the big model for ${many(tokens, "token")} so far` };
    const drafted = trace.rounds.some((round) => S.drafts(round).length);
    const text = drafted
      ? `${passesOf(trace.rounds.length)} of the big model instead of ${tokens}`
      : `${passesOf(trace.rounds.length)} of the big model, one token each: nothing was guessed`;
    const broken = brokenOff(trace);
    const failed = trace.finished.reason === "failed";
    if (broken) return { text, said: broken, slower: failed, noisy: !failed };
    if (!drafted) return { text };
    const ratio = S.gain(trace);
    if (ratio === null) return { text };
    const plain = trace.finished.plain;
    const turns = plain.runs === 1 ? "once" : `${plain.runs} times in turn with it`;
    const note =
      `${S.seconds(trace.finished.decode_s)} of engine time; ` +
      `plain decoding beside it: ${many(plain.output_tokens, "token")} in ${S.seconds(plain.decode_s)}, timed ${turns}`;
    const between = S.gainInterval(trace);
    const spread = between && plain.runs > 1 ? ` (${between.map((one) => one.toFixed(2)).join(" to ")})` : "";
    if (S.isNoisy(trace)) {
      const seen = spread || ` (${ratio.toFixed(2)}×, timed ${turns})`;
      return { text, said: `how much faster is too noisy to say here${seen}`, noisy: true, slower: false, note };
    }
    const least = S.gainAtLeast(trace); // above 1: a spread on both sides of it is noise
    if (least !== null) {
      const said = `at least ${least.toFixed(2)}× as fast as plain decoding, measured`;
      return { text, said, slower: false, why: null, note };
    }
    const speed = `${ratio.toFixed(2)}×`;
    const said =
      Math.abs(ratio - 1) < S.LEAST_GAIN
        ? "no faster than plain decoding, measured"
        : ratio > 1
          ? `${speed} as fast as plain decoding, measured`
          : `${speed} as fast: slower than plain decoding, measured`;
    return { text, said: said + spread, slower: S.isSlower(trace), why: S.whySlower(trace), note };
  }

  /** Tokens and passes up to the cursor, the round at hand once it is committed; empty before the first.
      @param {trace.Trace} trace @param {Cursor} cursor */
  function upTo(trace, cursor) {
    const whole = S.view(trace.rounds[cursor.round], cursor.beat).committed;
    const past = trace.rounds.slice(0, cursor.round + (whole ? 1 : 0));
    const tokens = past.reduce((sum, round) => sum + round.committed.tokens.length, 0);
    if (!tokens) return "";
    return `up to here ${many(tokens, "token")} in ${passesOf(past.length)}`;
  }

  /** Put the lines above the stage of a player and keep them up with its cursor. */
  function headline(root, handle) {
    const asked = h("p", { class: "sv-question" });
    const gained = h("p", { class: "sv-gained" });
    const box = h("div", { class: "sv-headline" }, asked, gained);
    root.prepend(box);
    let reserved = null; // {run, rounds, width}

    /** The first line is as tall as the run's longest, so that nothing below it moves from round to round. */
    function reserve({ started, rounds }) {
      const width = box.clientWidth;
      const now = { run: started.run_id, rounds: rounds.length, width };
      if (!width || (reserved && Object.keys(now).every((key) => now[key] === reserved[key]))) return;
      reserved = now;
      const all = new Set(rounds.flatMap((round) => [question({ started }, round), answer(round)]));
      const ruler = h("div", { class: "svp-ruler", "aria-hidden": "true" }); // as the caption's
      for (const text of all) ruler.append(h("p", { class: "sv-question" }, text));
      box.append(ruler);
      asked.style.minHeight = `${Math.max(...Array.from(ruler.querySelectorAll("p"), (one) => one.offsetHeight))}px`;
      ruler.remove();
    }

    function draw() {
      const { trace, cursor } = handle;
      box.hidden = !trace || !trace.rounds.length;
      if (box.hidden) return;
      reserve(trace);
      const round = trace.rounds[cursor.round];
      const told = S.view(round, cursor.beat).drawn && !root.dataset.guess;
      S.setText(asked, told ? answer(round) : question(trace, round));
      const { text, said, slower, noisy, why, note } = outcome(trace);
      gained.replaceChildren(
        h("span", { class: "sv-origin" }, trace.started.source),
        ` ${text}${said ? ": " : " "}`,
        ...(said
          ? [h("b", { class: noisy ? "sv-noisy" : slower ? "sv-loss" : "sv-win", title: note }, said), " "]
          : []),
        ...(why ? [h("span", { class: "sv-why" }, why), " "] : []),
        h("span", { class: "sv-sofar" }, upTo(trace, cursor)),
      );
    }
    handle.subscribe(draw);
    draw();
    if (globalThis.ResizeObserver) new ResizeObserver(draw).observe(box);
  }

  let waiting = null;

  /** "run_id round", or the same as JSON with the node whose verdict is meant and the rounds to step through. */
  function readAsked(moment) {
    const text = String(moment || "");
    if (text.startsWith("{")) return JSON.parse(text);
    const [run, round] = text.split(" ");
    return { run, round: Number(round) };
  }

  /** The beat of a node's verdict; the last token's where it has none of its own, the first without a node.
      @param {trace.Round} round */
  function beatOf(round, node) {
    if (node === null || node === undefined) return 0;
    const list = S.beats(round);
    const own = list.findIndex((beat) => beat.trial !== undefined && round.judged.trials[beat.trial].node === node);
    return own >= 0 ? own : list.findIndex((beat) => beat.drawn);
  }

  /** Go to a round of the run that `moment` names, once the page's player has it. */
  function openAt(moment) {
    const { run, round, node, found } = readAsked(moment);
    const handle = document.querySelector("#sv-player .sv-player").specviz;
    if (waiting) waiting();
    waiting = null;
    const arrived = () => {
      if (!run || !handle.trace || handle.trace.started.run_id !== run) return false;
      if (waiting) waiting();
      waiting = null;
      handle.set({ found: found || null });
      handle.go({ round, beat: beatOf(handle.trace.rounds[round], node) }, true, node ?? null);
      return true;
    };
    if (!arrived()) waiting = handle.subscribe(arrived);
  }

  return { question, answer, outcome, nothingToShow, upTo, headline, openAt };
})(SpecViz);
Object.assign(SpecViz, headline);

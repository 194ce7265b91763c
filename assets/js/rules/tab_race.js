/* A race that ran in the visitor's own tab as the data that race.js draws: what specviz/app/race/view.py makes of one
   on the server. Rounds stand end to end on the engine's clock; no drafter of the tab works beside the target. Its
   sentences are those for lossless methods in float32, which are all that a tab races. Pure. */
// needs: bytes, tab_sweep

const tabRace = (function (S) {
  "use strict";

  const PHASES = [
    ["draft", "drafted"],
    ["target", "scored"],
    ["judge", "judged"],
    ["commit", "committed"],
  ];
  const PROMPT_CHARS = 400;
  const FORMULA =
    "tokens a second over those of plain decoding in the same repeat; decoding alone, without reading the prompt";
  const SAMPLED =
    "texts are sampled, and drafting uses random numbers differently from plain decoding; both follow the target's " +
    "distribution.";
  const SHORTER = "one of the two ended earlier, which should not happen with a lossless method; please report it.";
  const TIE =
    "at temperature 0 in float32 only a tie within rounding excuses that; if it comes again, please report it with " +
    "the prompt.";

  /** [start, end, phase, round] of all that took time, and when each round ended.
      @param {trace.Round[]} rounds */
  function clockOf(rounds) {
    const segments = [];
    let now = 0;
    const ends = rounds.map((round) => {
      for (const [phase, part] of PHASES) {
        const start = now;
        now += round[part].seconds;
        if (now > start) segments.push([start, now, phase, round.index]);
      }
      return now;
    });
    return { segments, ends };
  }

  /** [time, text, origin] of every token, when its round ended; a character left unfinished shows as U+FFFD.
      @param {trace.Trace} trace @param {number[]} ends */
  function arrivalsOf(trace, ends) {
    const made = trace.rounds.flatMap(({ committed }, at) =>
      committed.tokens.map((token) => ({ token, end: ends[at] })),
    );
    const before = S.pieces(trace, trace.started.prompt_ids).pending;
    const { texts, pending } = S.pieces(trace, made.map(({ token }) => token.token), before); // prettier-ignore
    if (texts.length && pending.length) texts[texts.length - 1] += "\ufffd";
    return made.map(({ token, end }, at) => [end, texts[at], token.origin]);
  }

  /** The first token (from 0) that is not plain decoding's; null where there is none.
      @param {number[]} ids @param {number[]} plain */
  function firstDifference(ids, plain) {
    const at = ids.findIndex((id, place) => id !== plain[place]);
    return at >= 0 ? at : ids.length < plain.length ? ids.length : null;
  }

  /** Why a text is not plain decoding's.
      @param {trace.Trace} trace @param {trace.Trace} plain @param {number} at the first token that differs */
  function whyDifferent({ started, finished }, plain, at) {
    if (started.sampling.temperature > 0) return SAMPLED;
    return at === Math.min(finished.output_ids.length, plain.finished.output_ids.length) ? SHORTER : TIE;
  }

  /** Every method of a run.
      @param {trace.Started} started */
  const cardsOf = ({ drafter, tree_policy: tree, stop_policy: stop, verifier }) =>
    [drafter, tree, stop, verifier].filter(Boolean);
  /** An option's value as Python writes it. */
  function optionWords(value) {
    if (Array.isArray(value)) return `[${value.map(optionWords).join(", ")}]`;
    return typeof value === "boolean" ? (value ? "True" : "False") : String(value);
  }
  const methodWords = ({ name, options }) =>
    [name, ...Object.entries(options).map(([key, value]) => `${key}=${optionWords(value)}`)].join(" ");

  /** How fast, in words.
      @param {TabPoint} point */
  function verdictOf({ ratio, ratios, interval }) {
    const slower = ratio < 1 ? ", slower" : "";
    const spread = interval.map((value) => value.toFixed(2)).join(" to ");
    const over = ratios.length > 1 ? `, median of ${ratios.length} repeats (${spread})` : ", engine time";
    return `${ratio.toFixed(2)}× plain decoding${slower}${over}`;
  }

  /** A runner as it is drawn; of plain decoding `plain` is its own trace, and it has no point.
      @param {string} label @param {trace.Trace} trace @param {trace.Trace} plain @param {TabPoint | null} point */
  function runnerOf(label, trace, plain, point) {
    const { segments, ends } = clockOf(trace.rounds);
    const ids = trace.finished.output_ids;
    const differs = firstDifference(ids, plain.finished.output_ids);
    const same =
      differs === null
        ? `same output, ${plain.finished.output_ids.length} tokens`
        : `differs from plain decoding from token ${differs + 1} on: ${whyDifferent(trace, plain, differs)}`;
    return {
      label,
      methods: cardsOf(trace.started).map(methodWords).join("; "),
      lossless: cardsOf(trace.started).every((card) => card.lossless),
      segments,
      lanes: [],
      arrivals: arrivalsOf(trace, ends),
      finish_s: ends.at(-1) ?? 0,
      prefill_s: trace.finished.prefill_s,
      tokens: ids.length,
      passes: trace.rounds.length,
      tokens_per_pass: trace.rounds.length ? ids.length / trace.rounds.length : null,
      ratio: point ? point.ratio : null,
      differs_at: differs,
      verdict: point ? verdictOf(point) : "the baseline",
      formula: point ? FORMULA : "",
      output: point ? same : "",
    };
  }

  /** Whether all wrote the same, in a sentence. */
  function equalityOf(runners) {
    const [plain, ...others] = runners;
    if (!others.length) return "Plain decoding ran alone; there is nothing to compare.";
    const different = others.filter((runner) => runner.differs_at !== null);
    if (different.length) {
      const agree = `${others.length - different.length} of ${others.length} drafters gave plain decoding's output.`;
      return [agree, ...different.map(({ label, output }) => `${label} ${output}`)].join(" ");
    }
    const who = others.length === 1 ? "Both outputs" : `All ${others.length + 1} outputs`;
    return `${who} are the same, token for token: ${plain.tokens} tokens.`;
  }

  /** Of some runs the one with the median engine time; of an even number the faster of the two in the middle.
      @param {TabLap[]} laps */
  function middleRun(laps) {
    const ordered = laps.map(({ trace }) => trace).sort((a, b) => a.finished.decode_s - b.finished.decode_s);
    return ordered[(ordered.length - 1) >> 1];
  }

  /** The race as far as it was run; null where plain decoding was not.
      @param {Way[]} ways @param {TabLap[]} laps */
  function tabRace(ways, laps) {
    const lapsOf = (way) => laps.filter((lap) => lap.way === way);
    if (!lapsOf(null).length) return null;
    const plain = middleRun(lapsOf(null));
    const points = S.tabPoints(ways, laps);
    const drafted = ways.flatMap((way) => {
      const point = points.find(({ label }) => label === S.wayWords(way));
      return point ? [runnerOf(point.label, middleRun(lapsOf(way)), plain, point)] : [];
    });
    const runners = [runnerOf(S.wayWords(null), plain, plain, null), ...drafted];
    const { created, prompt_text: prompt, machine, sampling } = plain.started;
    const runs = lapsOf(null).length;
    const settings = [`temperature ${sampling.temperature}`, runs > 1 ? `median of ${runs} runs each` : "one run each"];
    return {
      source: "live, in your browser",
      provenance: [created.slice(0, 10), `your ${machine.processor}, ${machine.dtype}`, ...settings].join(" · "),
      prompt: prompt.length <= PROMPT_CHARS ? prompt : `…${prompt.slice(-PROMPT_CHARS)}`,
      runners,
      longest_s: Math.max(...runners.map((runner) => runner.finish_s)),
      equality: equalityOf(runners),
    };
  }

  return { tabRace };
})(SpecViz);
Object.assign(SpecViz, tabRace);

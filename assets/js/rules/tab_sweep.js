/* Ways to draft against plain decoding in the visitor's own tab: which runs are made, and what they come to. Plain
   decoding comes first in every repeat and each way after it in turn, so that both sides of a ratio are of the same
   minute. At temperature 0 every way writes the same text. Pure.

   ways × repeats ─► planned runs ─► (the tab's engine) ─► laps ─► points: ratio, tokens per pass, acceptance */
// needs: class_board, gain, numbers, race_line
/** @typedef {{ drafter: string, shape: string | null }} Way as in a race's line: who drafts, and `g4`, `t3,2,1` or
      `own`; null where what was written is no shape that this drafter takes
    @typedef {{ way: Way | null, repeat: number, request: object }} PlannedLap plain decoding has no way
    @typedef {{ way: Way | null, repeat: number, trace: trace.Trace }} TabLap a planned one that was run
    @typedef {{ label: string, ratios: number[], ratio: number, interval: number[], isNoise: boolean,
      perPass: number, rate: number | null }} TabPoint
      `ratios`: times as fast as plain decoding, one a repeat, then their median, least and largest, and whether these
      tell anything; `perPass`: tokens a target pass; `rate`: accepted ÷ drafted, null where nothing was drafted */

const tabSweep = (function (S) {
  "use strict";

  const [FEWEST, MOST, TOKENS] = [2, 4, 64];
  const SETTINGS = { top_k: 0, top_p: 1, seed: 0, max_new_tokens: TOKENS };
  const HEAD = [
    "drafter", "shape", "repeat", "tokens", "seconds", "ratio", "target passes", "drafted", "accepted",
    "temperature", "machine", "browser", "prompt",
  ]; // prettier-ignore

  /** Who runs, in words.
      @param {Way | null} way */
  const wayWords = (way) =>
    way === null ? "plain decoding" : `${S.RACERS[way.drafter].label}, ${S.shapeWords(way.shape)}`;

  /** Why these are no ways to race, in a sentence; empty where they are.
      @param {Way[]} ways */
  function waysProblem(ways) {
    if (ways.length < FEWEST || ways.length > MOST)
      return `Choose ${FEWEST} to ${MOST} ways to draft; plain decoding always runs beside them.`;
    const wrong = ways.find(({ drafter, shape }) => !shape || !S.raceShape(drafter, shape));
    if (wrong) {
      const { label, tree } = S.RACERS[wrong.drafter];
      const trees = tree ? ", or its tree levels such as 3,2,1 of at most 63 guesses" : "";
      return `γ of “${label}” must be a whole number from 1 to 32${trees}.`;
    }
    const names = ways.map(wayWords);
    const twice = names.find((name, at) => names.indexOf(name) < at);
    return twice ? `“${twice}” is chosen twice; give it another γ or leave it out.` : "";
  }

  /** Every run, in the order in which they are made.
      @param {Way[]} ways @param {string} prompt @param {number} repeats @param {number} temperature
      @returns {PlannedLap[]} */
  function plannedLaps(ways, prompt, repeats, temperature = 0) {
    const plain = { prompt, drafter: "none", temperature, ...SETTINGS };
    const asked = ({ drafter, shape }) => {
      return { ...plain, ...S.RACERS[drafter].asks, drafter_options: S.raceShape(drafter, shape) };
    };
    return Array.from({ length: repeats }, (_, repeat) => {
      const turned = ways.map((_, at) => ways[(at + repeat) % ways.length]);
      return [{ way: null, repeat, request: plain }, ...turned.map((way) => ({ way, repeat, request: asked(way) }))];
    }).flat();
  }

  /** Tokens a second over those of plain decoding.
      @param {trace.Trace} trace @param {trace.Trace} plain */
  const timesAsFast = ({ summary }, plain) => summary.tokens_per_second / plain.summary.tokens_per_second;

  /** Candidates drafted and accepted; the stored summary counts those behind the end of the text as well.
      @param {trace.Trace} trace */
  const draftedIn = (trace) => S.counters(trace.rounds).drafted;
  /** @param {trace.Trace} trace */
  const acceptedIn = (trace) => S.counters(trace.rounds).accepted;

  /** Plain decoding by repeat.
      @param {TabLap[]} laps @returns {Map<number, trace.Trace>} */
  const plainOf = (laps) => new Map(laps.filter(({ way }) => way === null).map(({ repeat, trace }) => [repeat, trace]));

  /** What each way came to; one that was never run beside plain decoding is left out.
      @param {Way[]} ways @param {TabLap[]} laps @returns {TabPoint[]} */
  function tabPoints(ways, laps) {
    const plain = plainOf(laps);
    return ways.flatMap((way) => {
      const counted = laps.filter((lap) => lap.way === way && plain.has(lap.repeat));
      if (!counted.length) return [];
      const ratios = counted.map(({ repeat, trace }) => timesAsFast(trace, plain.get(repeat)));
      const sum = (of) => counted.reduce((total, { trace }) => total + of(trace), 0);
      const drafted = sum(draftedIn);
      const perPass = sum(({ summary }) => summary.num_output_tokens) / sum(({ summary }) => summary.num_target_passes);
      const interval = [Math.min(...ratios), Math.max(...ratios)];
      return {
        label: wayWords(way),
        ratios,
        ratio: S.median(ratios),
        interval,
        isNoise: S.isNoise(ratios.length, interval, perPass) || interval[1] > perPass,
        perPass,
        rate: drafted ? sum(acceptedIn) / drafted : null,
      };
    });
  }

  /** Every run as a row for a spreadsheet.
      @param {TabLap[]} laps */
  function lapsCsv(laps) {
    const plain = plainOf(laps);
    const rows = laps.map(({ way, repeat, trace }) => {
      const { started, finished, summary } = trace;
      const beside = plain.get(repeat);
      return [
        way ? way.drafter : "none",
        way ? way.shape : "",
        repeat + 1,
        summary.num_output_tokens,
        finished.decode_s.toFixed(6),
        beside ? timesAsFast(trace, beside).toFixed(3) : "",
        summary.num_target_passes,
        draftedIn(trace),
        acceptedIn(trace),
        started.sampling.temperature,
        started.machine.processor,
        started.machine.system,
        started.prompt_text,
      ];
    });
    return S.csvText([HEAD, ...rows]);
  }

  return { wayWords, waysProblem, plannedLaps, tabPoints, lapsCsv };
})(SpecViz);
Object.assign(SpecViz, tabSweep);

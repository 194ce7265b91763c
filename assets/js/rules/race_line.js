/* The line of a race against oneself: what was raced and what the clock said, as the answer of a line to hand in, and
   read again as a row of the class's board. No ratio stands in it; whoever reads it works that out, and refuses what no
   tab can have measured. Pure.

   course=1&drafter=model&shape=g4&format=float32&tokens=96&passes=31&cpu=…&plain=0.91,0.9,0.92&drafted=0.6,0.59,0.61 */
// needs: hand_in, numbers
/** @typedef {{ drafter: string, shape: string, format: string, tokens: number, passes: number, plain: number[],
      drafted: number[], cpu: string }} RaceResult `shape`: `g4` a chain of four, `t3,2,1` a tree by levels, `own` the
      drafter's own; seconds of plain and drafted turns
    @typedef {{ drafter: string, shape: string, format: string, ratio: number, perPass: number, cpu: string }}
      RaceEntry */

const raceLine = (function (S) {
  "use strict";

  const TASK = "own-race";
  const COURSE = "1"; // the texts of assets/js/engine/duel.js; other texts have another number
  const [TURNS, MOST_TOKENS, MOST_ROWS, MOST_GAMMA] = [3, 96, 64, 32];
  const FORMATS = ["float32", "int8"];
  const OWN = "own";
  /** By drafter: its name, how it is asked for, and which shapes it takes; the most levels of a shape of its own. */
  const RACERS = {
    model: { label: "a small model", asks: { drafter: "model" }, chain: true, tree: true },
    weaker: {
      label: "a weaker model",
      asks: { drafter: "model", drafter_model: "drafter-weak" },
      chain: true,
      tree: true,
    },
    ngram: { label: "copies from the text", asks: { drafter: "ngram" }, chain: true },
    token_recycling: { label: "token recycling", asks: { drafter: "token_recycling" }, levels: 16 },
    eagle: { label: "EAGLE", asks: { drafter: "eagle" }, chain: true, tree: true },
    medusa: { label: "Medusa", asks: { drafter: "medusa" }, levels: 4 },
  };
  const AGAIN = "race again and copy the new line.";
  const LACKS = `this line of a race is not one that SpecViz writes; ${AGAIN}`;

  const whole = (text) => (/^\d{1,4}$/.test(text) ? Number(text) : NaN);

  /** A shape's levels: {gamma}, {branching}, {} for the drafter's own; null for none that this drafter takes.
      @param {string} name @param {string} shape @returns {{ gamma?: number, branching?: number[] } | null} */
  function raceShape(name, shape) {
    const racer = Object.hasOwn(RACERS, name) ? RACERS[name] : null;
    if (!racer) return null;
    if (shape === OWN) return racer.levels ? {} : null;
    const numbers = shape.slice(1).split(",").map(whole);
    if (numbers.some((number) => !(number >= 1 && number <= MOST_GAMMA))) return null;
    if (shape[0] === "g") return racer.chain && numbers.length === 1 ? { gamma: numbers[0] } : null;
    if (shape[0] !== "t" || !racer.tree) return null;
    let [level, rows] = [1, 1];
    for (const children of numbers) rows += level *= children;
    return rows <= MOST_ROWS ? { branching: numbers } : null;
  }

  /** A shape as it is chosen: γ or a tree of a drafter that takes them; null for none that it takes.
      @param {string} name */
  function chosenShape(name, gamma, tree) {
    const { chain, tree: grows } = RACERS[name];
    const levels = tree.replace(/\s/g, "");
    const shape = !chain ? OWN : grows && levels ? `t${levels}` : `g${gamma}`;
    return raceShape(name, shape) ? shape : null;
  }

  /** How many tokens a round can bring at most: its deepest path and one more.
      @param {string} name @param {{ gamma?: number, branching?: number[] }} levels */
  const mostTokens = (name, { gamma, branching }) => 1 + (gamma ?? branching?.length ?? RACERS[name].levels);

  /** A shape in words. */
  function shapeWords(shape) {
    if (shape === OWN) return "its own tree";
    return shape[0] === "g" ? `γ ${shape.slice(1)}` : `tree ${shape.slice(1)}`;
  }

  /** The answer of a line.
      @param {RaceResult} result */
  function raceAnswer({ plain, drafted, ...said }) {
    const times = (seconds) => seconds.map((value) => String(Number(value.toPrecision(5)))).join();
    const all = { course: COURSE, ...said, plain: times(plain), drafted: times(drafted) };
    return String(new URLSearchParams(Object.entries(all).map(([key, value]) => [key, String(value)])));
  }

  /** Seconds of all turns; null where they are no times. */
  function turnsOf(text) {
    const seconds = (text ?? "").split(",").map(Number);
    return seconds.length === TURNS && seconds.every((value) => value > 0 && value < Infinity) ? seconds : null;
  }

  /** How often as fast as plain decoding: the median over turns.
      @param {{ plain: number[], drafted: number[] }} times */
  const raceRatio = ({ plain, drafted }) => S.median(plain.map((seconds, turn) => seconds / drafted[turn]));

  /** The row of an answer as {entry}, or {problem}: a sentence. A check sum has shown by then that it was copied whole;
      here is what no tab can have measured.
      @returns {{ entry?: RaceEntry, problem?: string }} */
  function readRace(answer) {
    const said = Object.fromEntries(new URLSearchParams(answer));
    const { drafter, shape = "", format, cpu = "" } = said;
    if (said.course !== COURSE) return { problem: `this line is of a race over other texts; ${AGAIN}` };
    const levels = raceShape(drafter, shape);
    const [plain, drafted, tokens, passes] = [
      turnsOf(said.plain), turnsOf(said.drafted), whole(said.tokens), whole(said.passes),
    ]; // prettier-ignore
    if (!levels || !FORMATS.includes(format) || !plain || !drafted || !(tokens >= 1) || !(passes >= 1))
      return { problem: LACKS };
    const [perPass, most, ratio] = [tokens / passes, mostTokens(drafter, levels), raceRatio({ plain, drafted })];
    if (tokens > MOST_TOKENS || perPass > most || perPass < 1)
      return {
        problem:
          `this line says ${tokens} tokens, ${perPass.toFixed(2)} a pass, but the race has ${MOST_TOKENS} and this ` +
          `draft brings 1 to ${most} a pass; ${AGAIN}`,
      };
    if (ratio > perPass)
      return {
        problem:
          `this line says ${ratio.toFixed(2)} times as fast at ${perPass.toFixed(2)} tokens a pass, and no draft ` +
          `gains more than those; ${AGAIN}`,
      };
    return { entry: { drafter, shape, format, ratio, perPass, cpu: S.handInName(cpu) } };
  }

  return { RACE_TASK: TASK, RACERS, raceShape, chosenShape, shapeWords, raceAnswer, raceRatio, readRace };
})(SpecViz);
Object.assign(SpecViz, raceLine);

/* The run in numbers, each with its formula and the values of this run put in. Four of them are easily taken for one
   another, so they also stand side by side: alpha, acceptance rate, mean acceptance length, tokens per target pass. */
// needs: dom, gain, numbers, wording
const counters = (function (S) {
  "use strict";

  const { h } = S;
  S.bringsTerms({ sentences: [".svp-four tbody th", ".svp-four td:last-child"] });

  /** Pure: the four numbers, of the rounds at hand: [{name, formula, worked, value, counts}].
      @param {trace.Round[]} rounds */
  function fourNumbers(rounds) {
    const sum = S.counters(rounds);
    const none = S.word("nothing was drafted");
    const never = S.say(S.count(sum.unreached, "unreached node"), `${sum.unreached} that were never checked`);
    const alone = sum.passes - sum.spec;
    const kept = sum.without ? `(${sum.accepted} − ${sum.without})` : sum.accepted;
    return [
      {
        name: S.word("alpha (α)"),
        formula: S.word("accepted ÷ tested"),
        worked: sum.tested === null ? "–" : sum.tested ? `${sum.passed} ÷ ${sum.tested}` : none,
        value: sum.tested ? S.ratio(sum.passed / sum.tested) : "–",
        counts:
          sum.tested === null
            ? S.word("per tested candidate; this rule tries whole paths, so no candidate is tested by itself")
            : `${S.word("per tested candidate")}: the ${never} are not in it`,
      },
      {
        name: S.word("acceptance rate"),
        formula: S.word("accepted ÷ drafted"),
        worked: sum.drafted ? `${sum.accepted} ÷ ${sum.drafted}` : none,
        value: S.ratio(sum.rate),
        counts:
          `${S.word("per drafted candidate")}: the ${never} count as ${S.say("drafted", "guesses")}; ` +
          S.word("corrections and bonuses are not in it"),
      },
      {
        name: S.word("mean acceptance length"),
        formula: S.word("1 + accepted ÷ rounds that drafted"),
        worked: sum.spec ? `1 + ${kept} ÷ ${sum.spec}` : none,
        value: S.ratio(sum.length),
        counts:
          `${S.word("per round that drafted")}; ` +
          (alone
            ? `${S.count(alone, "round")} ${S.word("without a draft")} ${alone === 1 ? "is" : "are"} left out`
            : `rounds ${S.word("without a draft")} are left out (here there are none)`) +
          (sum.without ? `; ${S.count(sum.without, "last token")} did not stay in the text` : ""),
      },
      {
        name: S.word("tokens per target pass"),
        formula: S.word("tokens ÷ target passes"),
        worked: `${sum.tokens} ÷ ${sum.passes}`,
        value: S.ratio(sum.tokens / sum.passes),
        counts: S.word("per target pass: every round counts, and only tokens that stayed in the text"),
      },
    ];
  }

  /** Pure: the counters line, each with what it means.
      @param {trace.Trace} trace */
  function counterList(trace) {
    const sum = S.counters(trace.rounds);
    const list = [
      { name: S.word("target passes"), value: sum.passes.toLocaleString("en"), note: "one per round" },
      {
        name: "tokens",
        value: sum.tokens.toLocaleString("en"),
        note: S.word("committed so far, the prompt not counted"),
      },
      ...fourNumbers(trace.rounds).map(({ name, value, formula, worked, counts }) => ({
        name,
        value,
        note: value === "–" ? counts : `${formula} = ${worked} = ${value}; ${counts}`,
      })),
    ];
    if (!S.isSpeed(trace.started) || !(sum.seconds > 0)) return list;
    list.push({
      name: "tokens per second",
      value: S.ratio(sum.tokens / sum.seconds),
      note:
        `tokens ÷ engine seconds of the rounds = ${sum.tokens} ÷ ${S.seconds(sum.seconds)}; ` +
        "measured, drawing not in it",
    });
    const plain = S.plainToken(trace);
    if (plain && sum.drafted) list.push(speedup(trace, sum, plain));
    return list;
  }

  /** Over plain decoding timed in turns with the run, as the headline says it; else over one-token passes.
      @param {trace.Trace} trace */
  function speedup(trace, sum, plain) {
    const name = S.word(plain.beside ? "speedup over plain decoding" : "speedup over one-token passes");
    const between = S.gainInterval(trace);
    const turns = between
      ? `turn by turn from ${S.ratio(between[0])} to ${S.ratio(between[1])}, of ${trace.finished.plain.runs}; `
      : "";
    const own =
      `tokens · seconds of one plain token ÷ engine seconds = ${sum.tokens} · ${S.seconds(plain.seconds)} ÷ ` +
      `${S.seconds(sum.seconds)}; ${plain.from}. Below 1 is slower than plain decoding.`;
    if (plain.beside && S.isNoisy(trace))
      return { name, value: "too noisy", note: `${turns}too noisy to say here. ${own}` };
    const least = S.gainAtLeast(trace);
    if (plain.beside && least !== null)
      return { name, value: `≥ ${S.ratio(least)}×`, note: `${turns}only the least can be told. ${own}` };
    const ratio = between ? S.gain(trace) : (sum.tokens * plain.seconds) / sum.seconds;
    return {
      name,
      value: `${S.ratio(ratio)}×`,
      note: `${between ? `the median, ${turns}of this run alone: ` : ""}${own}`,
    };
  }

  /** @param {Act} act */
  function countersPanel(box, act) {
    let shown = null;
    const line = h("div", { class: "svp-counterline" });
    const table = h("div", { class: "svp-four-box" });
    const fold = h(
      "details",
      { class: "svp-four" },
      h("summary", {}, "Four numbers that are easily confused, from this run"),
      table,
    );
    box.append(line, fold);
    fold.addEventListener("toggle", () => act.draw());

    function compare(rounds) {
      const heads = ["number", "formula", "here", h("span", {}, "="), "what it counts"];
      return h(
        "table",
        {},
        S.columnHeads(heads),
        h(
          "tbody",
          {},
          fourNumbers(rounds).map((one) =>
            S.tableRow(one.name, [one.formula, one.worked, h("b", {}, one.value), one.counts]),
          ),
        ),
      );
    }

    let compared = null; // the run whose numbers the table shows
    return function draw(now) {
      const key = { trace: now.trace, plain: S.isPlain() };
      const same = (drawn) => !!drawn && drawn.trace === key.trace && drawn.plain === key.plain;
      if (fold.open && !same(compared)) {
        compared = key;
        table.replaceChildren(compare(now.trace.rounds));
      }
      if (same(shown)) return;
      shown = key;
      line.replaceChildren(
        ...counterList(now.trace).map((one, place) => {
          const id = `svp-note-${now.id}-${place}`;
          return h(
            "span",
            { class: "svp-counter", tabindex: "0", "aria-describedby": id },
            h("b", {}, one.value),
            ` ${one.name}`,
            h("span", { class: "svp-note", role: "tooltip", id }, one.note),
          );
        }),
      );
    };
  }

  return { countersPanel, counterList, fourNumbers };
})(SpecViz);
Object.assign(SpecViz, counters);

/* What a stored head (the most probable tokens and the mass outside) says about its distribution under another
   temperature, top-k and top-p, and after rejections: bounds that hold for every distribution with that head, never a
   guess. Pure. An interval is [low, high]. A spread is what is
   known of one distribution: {known: Map token → interval, most: what any other token has at most, rest: interval of
   all others' mass}. */
// needs: nothing
/** @typedef {{ token: number, value: number | null, weight: Interval, state: "in" | "out" | "maybe",
      whole?: Interval }} Item */
/** @typedef {{ known: Map<number, Interval>, most: number, rest: Interval }} Spread */

const bounds = (function () {
  "use strict";

  const SLACK = 1e-6; // top-k rows are stored to six decimals, and were computed in single precision
  /** @type {() => Spread} */
  const nothingKnown = () => ({ known: new Map(), most: 1, rest: [0, 1] });
  /** @type {(low: number, high: number) => Interval} */
  const unit = (low, high) => [Math.min(1, Math.max(0, low)), Math.min(1, Math.max(0, high))];
  /** @type {(value: number) => Interval} */
  const around = (value) => unit(value - SLACK, value + SLACK);
  /** @type {(intervals: Interval[]) => Interval} */
  const total = (intervals) => intervals.reduce(([low, high], [one, other]) => [low + one, high + other], [0, 0]);
  /** @type {(one: Interval, other: Interval) => Interval} */
  const less = ([low, high], [one, other]) => [Math.max(0, low - other), Math.max(0, high - one)];
  /** @type {(one: Interval, other: Interval) => Interval} */
  const both = ([low, high], [least, most]) => [Math.max(low, least), Math.min(high, most)];
  /** w / (w + others) for everything that w and the others can be.
      @type {(one: Interval, others: Interval) => Interval} */
  const share = ([low, high], [fewest, most]) => [
    low > 0 ? low / (low + most) : 0,
    high > 0 ? high / (high + fewest) : 0,
  ];
  /** @type {(spread: Spread, token: number) => Interval} */
  const probAt = (spread, token) => spread.known.get(token) || [0, spread.most];

  /** What the unlisted tokens of a head have together, and what one of them has at most. */
  function outside(head) {
    const error = SLACK * (head.probs.length + 1);
    const mass = unit(head.rest - error, head.rest + error);
    return { mass, most: Math.min(mass[1], head.probs.length ? head.probs.at(-1) + SLACK : 1) };
  }

  /** A spread whose rest is what its known tokens leave.
      @type {(known: Map<number, Interval>, most: number) => Spread} */
  function closed(known, most) {
    const [low, high] = total([...known.values()]);
    return { known, most, rest: most > 0 ? unit(1 - high, 1 - low) : [0, 0] };
  }

  /** A head as it is. `beside`: Map token → probability, for tokens outside it. */
  function asStored(head, beside) {
    const known = new Map([...beside].map(([token, value]) => [token, around(value)]));
    head.tokens.forEach((token, place) => known.set(token, around(head.probs[place])));
    return closed(known, outside(head).most);
  }

  /** Σ rᵃ over the `count` largest of `among` tokens, none above `most`, `mass` together. Hotter (a < 1) it is
      largest where all are equal, colder (a > 1) where few have everything; at a = 1 it is the mass itself. */
  function powers(mass, most, a, count, among) {
    if (count <= 0 || mass[1] <= 0) return [0, 0];
    const least = mass[0] * Math.min(1, count / among),
      top = Math.min(mass[1], count * most);
    return a >= 1
      ? [count * (least / count) ** a, top * most ** (a - 1)]
      : [least * most ** (a - 1), count * (top / count) ** a];
  }

  const sure = (items) => items.filter((item) => item.state === "in");
  /** @type {(items: Item[]) => Interval} */
  const weighed = (items) => [
    total(sure(items).map((item) => item.weight))[0],
    total(items.filter((item) => item.state !== "out").map((item) => item.weight))[1],
  ];

  /** Of tokens stored with the same value nobody can say which is larger: where a cut goes through them, each may be
     cut. */
  function ties(items) {
    const torn = items.filter(
      (item) => item.value !== null && items.some((other) => other.value === item.value && other.state !== item.state),
    );
    for (const item of torn) item.state = "maybe";
  }

  /** The spread behind `head` when its probabilities are raised to `a` (temperature before / temperature after) and
      cut by top-k and top-p, in this order. `size`: tokens in all; `extras`: Map token → interval, for tokens
      outside the head. */
  function reshaped(head, extras, size, a, topK, topP) {
    if (!head.probs.length || head.probs[0] <= SLACK) return nothingKnown();
    const { mass, most } = outside(head);
    const scale = head.probs[0],
      listed = head.probs.length;
    /** @type {(token: number, value: number | null, range: Interval) => Item} */
    const item = (token, value, [low, high]) => ({
      token,
      value,
      weight: [(low / scale) ** a, (high / scale) ** a],
      state: "in",
    });
    /** @type {[number, Interval][]} */
    const capped = [...extras].map(([token, [low, high]]) => [token, [Math.min(low, most), Math.min(high, most)]]);
    const items = [
      ...head.tokens.map((token, place) => item(token, head.probs[place], around(head.probs[place]))),
      ...capped.map(([token, own]) => item(token, null, own)),
    ];
    const others = Math.max(0, size - items.length);
    const cut = topK > 0 && topK < size;
    const room = cut ? Math.max(0, Math.min(others, topK - listed)) : others;
    const fewest = cut ? Math.max(0, room - capped.length) : others;
    const free = less(mass, total(capped.map(([, own]) => own)));
    /** @type {Interval} */
    const left = [free[0] / scale, free[1] / scale];
    const largest = Math.min(most / scale, left[1]);
    /** @type {Interval} */
    const beyond = [powers(left, largest, a, fewest, others)[0], powers(left, largest, a, room, others)[1]];
    if (cut)
      items.forEach((one, place) => {
        one.state = place < Math.min(topK, listed) ? "in" : place < listed || topK <= listed ? "out" : "maybe";
      });
    ties(items);
    return nucleus(items, listed, { mass: beyond, most: room > 0 ? largest ** a : 0 }, topP);
  }

  /** Keeps the most probable tokens up to the one at which their mass reaches `topP`, and makes what is left whole
      again.
      @type {(items: Item[], listed: number, beyond: { mass: Interval, most: number }, topP: number) => Spread} */
  function nucleus(items, listed, beyond, topP) {
    const others = (one) => total([weighed(items.filter((other) => other !== one)), beyond.mass]);
    let kept = [1, 1];
    if (topP < 1) {
      const whole = items.map((one) => share(one.weight, others(one)));
      const before = (place) =>
        share(weighed(items.slice(0, place)), total([weighed(items.slice(place)), beyond.mass]));
      /** @type {(place: number) => Interval} */
      const starting = (place) => (place < listed ? before(place) : [before(listed)[0], 1 - whole[place][0]]);
      const starts = items.map((_, place) => starting(place));
      if (before(listed)[0] >= topP) beyond = { mass: [0, 0], most: 0 };
      else beyond = { ...beyond, mass: [0, beyond.mass[1]] };
      items.forEach((one, place) => {
        if (starts[place][0] >= topP) one.state = "out";
        else if (starts[place][1] >= topP && one.state === "in") one.state = "maybe";
      });
      ties(items);
      items.forEach((one, place) => {
        one.whole = whole[place];
      });
      // the set may end here or later, so by at most this much above top-p
      const last = sure(items.slice(0, listed)).at(-1) || items[0];
      kept = [topP, Math.min(1, topP + last.whole[1])];
    }
    /** @type {(one: Item) => [token: number, range: Interval]} */
    const within = (one) => {
      if (one.state === "out") return [one.token, [0, 0]];
      const found = share(one.weight, others(one));
      const [low, high] = one.whole ? both(found, [one.whole[0] / kept[1], one.whole[1] / kept[0]]) : found;
      return [one.token, one.state === "in" ? [low, high] : [0, high]];
    };
    const known = new Map(items.map(within));
    const most = beyond.most > 0 ? share([0, beyond.most], [weighed(items)[0], 0])[1] : 0;
    const spread = closed(known, most);
    return most > 0 ? { ...spread, rest: both(spread.rest, share(beyond.mass, weighed(items))) } : spread;
  }

  /** What several top-k rows of one distribution say together; nothing where they contradict each other. */
  function together(spreads) {
    if (spreads.length < 2) return spreads[0] || nothingKnown();
    const known = new Map();
    for (const token of new Set(spreads.flatMap((spread) => [...spread.known.keys()]))) {
      const [low, high] = spreads.map((spread) => probAt(spread, token)).reduce(both);
      if (low > high + SLACK) return nothingKnown();
      known.set(token, [Math.min(low, high), Math.max(low, high)]);
    }
    return closed(known, Math.min(...spreads.map((spread) => spread.most)));
  }

  /** norm(max(0, p − Q)) after a rejection; Q null: a point mass on `token`. Where nothing is left, p itself. */
  function afterRejection(p, proposal, token) {
    const q = proposal || { known: new Map([[token, [1, 1]]]), most: 0, rest: [0, 0] };
    const tokens = [...new Set([...p.known.keys(), ...q.known.keys()])];
    const left = new Map(tokens.map((one) => [one, less(probAt(p, one), probAt(q, one))]));
    /** @type {(spread: Spread) => Interval} */
    const away = (spread) => {
      const [low, high] = total(tokens.map((one) => probAt(spread, one)));
      return spread.most > 0 ? unit(1 - high, Math.min(1 - low, spread.rest[1])) : [0, 0];
    };
    /** @type {Interval} */
    const beyond = [less(away(p), away(q))[0], away(p)[1]];
    const listed = total([...left.values()]);
    const empty = listed[0] + beyond[0] <= 0; // it may be that nothing is left
    /** @type {(entry: [number, Interval]) => [token: number, range: Interval]} */
    const whole = ([one, own]) => {
      const siblings = [...left].filter(([other]) => other !== one).map(([, value]) => value);
      const [low, high] = share(own, total([total(siblings), beyond]));
      return [one, empty ? [0, Math.max(high, probAt(p, one)[1])] : [low, high]];
    };
    const known = new Map([...left].map(whole));
    return closed(known, p.most > 0 ? Math.max(empty ? p.most : 0, share([0, p.most], [listed[0], 0])[1]) : 0);
  }

  /** q without `tokens`, made whole again: what the next of several draws without replacement comes from. */
  function withoutTokens(q, tokens) {
    const gone = total(tokens.map((token) => probAt(q, token)));
    const high = (value) => (value <= 0 ? 0 : gone[1] >= 1 ? 1 : Math.min(1, value / (1 - gone[1])));
    /** @type {Map<number, Interval>} */
    const known = new Map();
    for (const [token, own] of q.known)
      known.set(token, [gone[0] >= 1 ? 0 : Math.min(1, own[0] / (1 - gone[0])), high(own[1])]);
    for (const token of tokens) known.set(token, [0, 0]);
    return closed(known, high(q.most));
  }

  return { around, probAt, asStored, reshaped, together, afterRejection, withoutTokens, nothingKnown };
})();
Object.assign(SpecViz, bounds);

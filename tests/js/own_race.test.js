// A race against oneself: what a line holds, what the board makes of it, and which lines it refuses.
const test = require("node:test");
const assert = require("node:assert");
const { S, engine } = require("./engine.js");

const RESULT = {
  drafter: "model", shape: "g4", format: "float32", tokens: 96, passes: 32, plain: [1.2, 1, 1.1],
  drafted: [0.6, 0.8, 0.5], cpu: "Linux x86_64, 8 threads",
}; // prettier-ignore
const ENTRY = {
  drafter: "model", shape: "g4", format: "float32", ratio: 2, perPass: 3, cpu: "Linux x86_64, 8 threads",
}; // prettier-ignore
const answer = (change = {}) => S.raceAnswer({ ...RESULT, ...change });
const line = (name, change = {}) => S.handInLine({ task: S.RACE_TASK, name, answer: answer(change) });

test("a race is a line of times, and the board works the ratio out: the median of its turns", () => {
  assert.equal(
    answer(),
    "course=1&drafter=model&shape=g4&format=float32&tokens=96&passes=32&cpu=Linux+x86_64%2C+8+threads" +
      "&plain=1.2%2C1%2C1.1&drafted=0.6%2C0.8%2C0.5",
  );
  assert.deepEqual(S.readRace(answer()), { entry: ENTRY });
  assert.equal(S.readHandIn(line("Ada")).answer, answer());
});

test("what no tab can have measured is refused in a sentence that says why", () => {
  const why = (change) => S.readRace(answer(change)).problem;
  assert.match(
    why({ passes: 16 }),
    /says 96 tokens, 6.00 a pass, but the race has 96 and this draft brings 1 to 5 a pass/,
  );
  assert.match(why({ passes: 97 }), /says 96 tokens, 0.99 a pass/);
  assert.match(why({ tokens: 192, passes: 64 }), /says 192 tokens/);
  assert.match(why({ drafted: [0.3, 0.3, 0.3] }), /3.67 times as fast at 3.00 tokens a pass, and no draft gains more/);
  const foreign = "this line of a race is not one that SpecViz writes; race again and copy the new line.";
  for (const change of [
    { drafter: "constructor" },
    { shape: "g33" },
    { shape: "own" },
    { shape: "t8,8" },
    { format: "int4" },
    { plain: [1, 1] },
    { drafted: [0, 1, 1] },
    { passes: "many" },
    { drafter: "ngram", shape: "t2,1" },
  ])
    // prettier-ignore
    assert.equal(why(change), foreign, JSON.stringify(change));
  assert.match(S.readRace(answer().replace("course=1", "course=2")).problem, /over other texts/);
});

test("the board has a student's fastest race, the fastest first, and says which line it refuses", () => {
  const fast = { drafted: [0.5, 0.5, 0.5], format: "int8", drafter: "eagle", shape: "t3,2,1" };
  const lines = [line("Ada"), line("Bo", fast), line("Ada", { drafted: [1, 1, 1] }), `${line("Cy").slice(0, -1)}0`];
  const forged = S.handInLine({ task: S.RACE_TASK, name: "Di", answer: answer({ passes: 4 }) });
  const { races, problems, students, tasks } = S.readClass([...lines, forged].join("\n"), []);
  assert.deepEqual(races.map(({ name, ratio, format }) => [name, ratio, format]), [
    ["Bo", 2.2, "int8"], ["Ada", 2, "float32"],
  ]); // prettier-ignore
  assert.deepEqual([students, tasks], [[], []]);
  assert.deepEqual(
    problems.map((one) => one.line),
    [4, 5],
  );
  assert.match(problems[0].problem, /changed or cut on its way/);
  const csv = S.classCsv(S.readClass(line("=Ada"), [])).split("\r\n");
  assert.deepEqual(csv, [
    '"name","drafter","shape","ratio","tokens per pass","format","processor"',
    `"'=Ada","model","g4","2.000","3.000","float32","Linux x86_64, 8 threads"`,
    "",
  ]);
});

test("a shape is what the drafter takes of γ and a tree", () => {
  assert.deepEqual(
    [
      ["model", "4", ""],
      ["model", "4", "3, 2,1"],
      ["ngram", "6", "3"],
      ["medusa", "4", "3"],
      ["model", "40", ""],
    ].map((chosen) => S.chosenShape(...chosen)),
    ["g4", "t3,2,1", "g6", "own", null],
  );
  assert.deepEqual(["own", "g4", "t3,2"].map(S.shapeWords), ["its own tree", "γ 4", "tree 3,2"]);
});

test("the machine is what the browser tells, cut to what a line holds", () => {
  const told = { userAgent: "Mozilla/5.0 (X11) Chrome/120.0.0.0 Safari/537.36", platform: "Linux x86_64" };
  assert.equal(S.cpuGuess({ ...told, hardwareConcurrency: 8 }), "Linux x86_64, 8 threads, Chrome 120");
  assert.equal(S.cpuGuess({}), "unknown");
  assert.match(S.readRace(answer({ cpu: "a|b\u202e".repeat(40) })).entry.cpu, /^(a b ?){10}$/);
});

test("both sides are timed in turns over the course, and a pass brings what the line says", async () => {
  const loaded = await engine(["drafter", "drafter-weak"]);
  const draft = { drafter: "model", drafter_model: "drafter-weak", drafter_options: { gamma: 2 }, dtype: "int8" };
  const course = { prompts: ["One day Leo"], tokens: 12, turns: 2 };
  const told = [];
  const raced = await S.duel(loaded, draft, async (over, of) => void told.push(over / of), course);
  assert.deepEqual([raced.tokens, raced.plain.length, raced.drafted.length, told], [12, 2, 2, [0, 0.5, 1]]);
  assert.ok(raced.passes >= 4 && raced.passes < 12);
  assert.equal(loaded.dtype, "int8");
});

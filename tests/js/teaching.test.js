// What a class touches and hands in: the overlap in whole hundredths, the two clocks, the line with its check.
const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const [TARGET, DRAFT] = [
  [50, 30, 20],
  [20, 45, 35],
];

test("shares become hundredths that sum to 100, the largest remainders rounded up", () => {
  assert.deepEqual(S.hundredths([1, 1, 1]), [34, 33, 33]);
  assert.deepEqual(S.hundredths([0.5, 0.296, 0.204]), [50, 30, 20]);
  assert.deepEqual(S.hundredths([0, 0]), [50, 50]);
});

test("a dragged bar takes from the others in the ratio they had, and they share evenly where they had nothing", () => {
  assert.deepEqual(S.dragged([50, 30, 20], 0, 75), [75, 15, 10]);
  assert.deepEqual(S.dragged([50, 30, 20], 1, 0), [71, 0, 29]);
  assert.deepEqual(S.dragged([100, 0, 0], 0, 40), [40, 30, 30]);
  assert.deepEqual(S.dragged([50, 30, 20], 2, 140), [0, 0, 100]);
  assert.deepEqual(S.dragged([50, 30, 20], 2, -3), [63, 37, 0]);
});

test("what sticks out is as much as what is missing, and kept plus missing is p", () => {
  assert.deepEqual(S.overlapOf(TARGET, DRAFT), {
    kept: [20, 30, 20],
    over: [0, 15, 15],
    missing: [30, 0, 0],
    accepted: 70,
    left: 30,
  });
  for (let value = 0; value <= 100; value += 7) {
    const p = S.dragged(TARGET, 1, value);
    const { kept, over, missing, left } = S.overlapOf(p, DRAFT);
    assert.equal(
      over.reduce((all, share) => all + share, 0),
      left,
    );
    assert.deepEqual(
      kept.map((share, at) => share + missing[at]),
      p,
    );
  }
});

test("the steps say how many guesses stay, fall and are replaced, the last one with the formula", () => {
  const said = S.OVERLAP_STEPS.map((step) => S.overlapWords(step, TARGET, DRAFT, false));
  assert.match(said[1], /70 of 100 guesses are kept/);
  assert.match(said[2], /30 of 100 guesses stick out/);
  assert.match(said[3], /same 30 of 100 are missing/);
  assert.deepEqual(S.residualLines(["a", "b", "c"], TARGET, DRAFT), [
    "r(a) = max(0, p − q) / Σ max(0, p − q) = (0.50 − 0.20) / 0.30 = 1.00",
  ]);
  assert.deepEqual(S.residualLines(["a", "b"], [60, 40], [60, 40]), []);
  assert.match(S.overlapWords("refill", [60, 40], [60, 40], false), /nothing has to be replaced/);
});

test("in plain words no step speaks of p, q or a residual", () => {
  for (const step of S.OVERLAP_STEPS)
    assert.doesNotMatch(S.overlapWords(step, TARGET, DRAFT, true), /\b[pqr]\b|residual/);
});

const CLOCKS = [
  { machine: "small", times_are: "measured", seconds: [2, 3, 4, 8] },
  { machine: "large", times_are: "modelled", seconds: [5, 5, 5, 5] },
];

test("a clock shows a pass, how much longer than one row it takes, and its share of as many passes", () => {
  assert.deepEqual(S.clockAt(CLOCKS[0], 4), { seconds: 8, ratio: 4, share: 1 });
  assert.deepEqual(S.clockAt(CLOCKS[1], 4), { seconds: 5, ratio: 1, share: 0.25 });
  assert.equal(S.clockSector(0.25), "M50,50V6A44,44 0 0 1 94.00,50.00Z");
  assert.match(S.clockSector(1), /^M50,50V6A44,44 0 1 1 50\.00,6\.00Z$/);
});

test("the sentence under the clocks says which of them is measured and which modelled", () => {
  assert.equal(
    S.clockWords(CLOCKS, 2, false),
    "A pass over 2 rows takes 1.50 times as long as one row (measured) on the small machine, " +
      "1.00 times as long as one row (modelled) on the large one.",
  );
});

const HANDED = { task: "homework-trees", name: "Ada Lovelace", answer: "BA-" };

test("a line that is handed in is read as it was written", () => {
  const line = S.handInLine(HANDED);
  assert.equal(line, "specviz|1|homework-trees|Ada Lovelace|BA-|64e0fabb");
  assert.deepEqual(S.readHandIn(`  ${line}\n`), HANDED);
});

test("a line that was cut, mistyped or is of something else is refused with a sentence", () => {
  const line = S.handInLine(HANDED);
  const problem = (text) => S.readHandIn(text).problem;
  assert.match(problem(line.replace("BA-", "BB-")), /changed or cut/);
  assert.match(problem(line.slice(0, -1)), /changed or cut/);
  assert.match(problem(line.replace("|BA-", "")), /not copied whole/);
  assert.match(problem(line.replace("|1|", "|2|")), /another version/);
  assert.match(problem("hello"), /not a line of SpecViz/);
  assert.match(problem(S.handInLine({ ...HANDED, task: "<b>" })), /no task, name or answer/);
  assert.match(problem(S.handInLine({ ...HANDED, answer: "a b" })), /no task, name or answer/);
  assert.match(problem(S.handInLine({ ...HANDED, name: "" })), /no task, name or answer/);
});

test("a name loses what nobody could see and what would break the line", () => {
  assert.equal(S.handInName("  Ada|\u202eevil\n Lovelace "), "Ada evil Lovelace");
  assert.equal(Array.from(S.handInName("🙂".repeat(50))).length, 40);
});

const SETS = ["before", "after"].map((id) => ({
  id,
  exercises: ["passes", "rows"].map((about) => ({ about, choices: [{ right: false }, { right: true }] })),
}));
const lineOf = (task, name, answer) => S.handInLine({ task, name, answer });

test("answers are letters, and judged by the set they answer", () => {
  assert.equal(S.lettersOf([1, null, 0]), "B-A");
  assert.deepEqual(S.scoreOf(SETS[0], "BA"), { right: 1, of: 2, answers: [true, false] });
  assert.deepEqual(S.scoreOf(SETS[0], "-Z").right, 0);
  assert.equal(S.scoreOf(SETS[0], "B"), null);
});

test("pasted lines become a table of students; the last line of a task counts, and others' tasks are listed", () => {
  const text = [
    lineOf("before", "Bo", "AA"),
    "",
    lineOf("before", "Ada", "BA"),
    lineOf("before", "Bo", "BA"),
    lineOf("rule-exact", "Bo", "cDw-cQ"),
    "nonsense",
    lineOf("after", "Bo", "BBB"),
  ].join("\n");
  const read = S.readClass(text, SETS);
  assert.deepEqual(read.tasks, ["before", "rule-exact"]);
  assert.deepEqual(
    read.students.map(({ name, handed }) => [name, handed.get("before").right]),
    [
      ["Ada", 1],
      ["Bo", 1],
    ],
  );
  assert.equal(read.students[1].handed.get("rule-exact"), null);
  assert.deepEqual(
    read.problems.map(({ line }) => line),
    [6, 7],
  );
  assert.match(read.problems[1].problem, /another number of questions/);
});

test("the gain is of those who took both tests, and of what could be gained", () => {
  const handed = [
    lineOf("before", "Ada", "AA"),
    lineOf("after", "Ada", "BB"),
    lineOf("before", "Bo", "BA"),
    lineOf("after", "Bo", "BA"),
    lineOf("before", "Cy", "BB"),
  ];
  const gained = S.gainOf(S.readClass(handed.join("\n"), SETS), SETS);
  assert.deepEqual(gained, {
    students: 2,
    of: 2,
    before: 0.5,
    after: 1.5,
    gain: 2 / 3,
    subjects: [
      { about: "passes", before: 1, after: 2 },
      { about: "rows", before: 0, after: 1 },
    ],
  });
  assert.match(S.gainWords(gained), /2 students took both tests: 0\.50 of 2 .* 1\.50 after them\. .* 67% was/);
  assert.equal(S.gainOf(S.readClass(handed[4], SETS), SETS), null);
  const full = [lineOf("before", "Cy", "BB"), lineOf("after", "Cy", "BB")].join("\n");
  assert.equal(S.gainOf(S.readClass(full, SETS), SETS).gain, null);
});

test("a spreadsheet takes no name for a formula", () => {
  const csv = S.classCsv(S.readClass([lineOf("before", '=1+"1"', "BB"), lineOf("x", "Bo", "a")].join("\n"), SETS));
  assert.deepEqual(csv.split("\r\n"), ['"name","before","x"', '"\'=1+""1""","2",""', '"Bo","","handed in"', ""]);
});

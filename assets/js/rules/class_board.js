/* What a class has handed in: lines become a table of students and tasks, and what each subject gained from the test
   before the lessons to the one after them, and a file for a spreadsheet. Pure; answers are judged here, no line says
   its score. */
// needs: hand_in, race_line
/** @typedef {{ right: number, of: number, answers: boolean[] }} Score */

const classBoard = (function (S) {
  "use strict";

  const LETTERS = "ABCDEFGHI";
  const OTHER = "this line answers another number of questions; ask for it again.";
  const [BEFORE, AFTER] = ["before", "after"];
  const RACED = ["name", "drafter", "shape", "ratio", "tokens per pass", "format", "processor"];

  /** The letters of chosen answers; null stands for none. */
  const lettersOf = (chosen) => chosen.map((place) => (place === null ? "-" : LETTERS[place])).join("");

  /** Which answers of a set are right; null where the letters answer another number of questions.
      @param {page.ExerciseSet} set @returns {Score | null} */
  function scoreOf(set, letters) {
    if (letters.length !== set.exercises.length) return null;
    const answers = set.exercises.map((asked, at) => !!asked.choices[LETTERS.indexOf(letters[at])]?.right);
    return { right: answers.filter(Boolean).length, of: answers.length, answers };
  }

  /** Pasted lines as {tasks, students: [{name, handed: Map task → Score, or null for a task judged elsewhere}],
      races: [{name, …}], the fastest first, problems: [{line, problem}]}; of one student's lines for a task the last
      counts, of races the fastest. Empty lines are none.
      @param {page.ExerciseSet[]} sets */
  function readClass(text, sets) {
    const known = new Map(sets.map((set) => [set.id, set]));
    const students = new Map();
    const problems = [];
    const tasks = new Set();
    const races = new Map();
    for (const [at, line] of text.split("\n").entries()) {
      if (!line.trim()) continue;
      const { task, name, answer, problem } = S.readHandIn(line);
      if (task === S.RACE_TASK) {
        const { entry, problem: wrong } = S.readRace(answer);
        if (wrong) problems.push({ line: at + 1, problem: wrong });
        else if (!(races.get(name)?.ratio >= entry.ratio)) races.set(name, { name, ...entry });
        continue;
      }
      const set = known.get(task);
      const score = set ? scoreOf(set, answer) : null;
      if (problem || (set && !score)) problems.push({ line: at + 1, problem: problem || OTHER });
      else {
        tasks.add(task);
        if (!students.has(name)) students.set(name, { name, handed: new Map() });
        students.get(name).handed.set(task, score);
      }
    }
    const order = [...known.keys()].filter((id) => tasks.has(id));
    return {
      tasks: [...order, ...[...tasks].filter((id) => !known.has(id)).sort()],
      students: [...students.values()].sort((one, other) => one.name.localeCompare(other.name, "en")),
      races: [...races.values()].sort((one, other) => other.ratio - one.ratio),
      problems,
    };
  }

  /** What the students who took both tests knew before and after: {students, of, before, after (means of right
      answers), gain (what was gained of what could be, Hake's ⟨g⟩; null where nothing could), subjects: [{about,
      before, after}] (students who were right)}. Null where nobody took both.
      @param {ReturnType<typeof readClass>} read @param {page.ExerciseSet[]} sets */
  function gainOf(read, sets) {
    const both = read.students.filter(({ handed }) => handed.get(BEFORE) && handed.get(AFTER));
    const set = sets.find(({ id }) => id === BEFORE);
    if (!both.length || !set) return null;
    const mean = (task) => both.reduce((sum, { handed }) => sum + handed.get(task).right, 0) / both.length;
    const [before, after, of] = [mean(BEFORE), mean(AFTER), set.exercises.length];
    const right = (task, at) => both.filter(({ handed }) => handed.get(task).answers[at]).length;
    const subjects = set.exercises.map(({ about }, at) => ({
      about,
      before: right(BEFORE, at),
      after: right(AFTER, at),
    }));
    return {
      students: both.length,
      of,
      before,
      after,
      gain: before < of ? (after - before) / (of - before) : null,
      subjects,
    };
  }

  /** A field of a CSV file; one that a spreadsheet would take for a formula is kept from being one. */
  function csvField(value) {
    const text = String(value);
    return `"${(/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  }

  /** Rows of fields as the text of a CSV file. */
  const csvText = (rows) => rows.map((row) => `${row.map(csvField).join(",")}\r\n`).join("");

  /** The board for a spreadsheet; races stand in a table of their own below.
      @param {ReturnType<typeof readClass>} read */
  function classCsv({ tasks, students, races }) {
    const cell = (handed, task) => (!handed.has(task) ? "" : handed.get(task) ? handed.get(task).right : "handed in");
    const rows = students.map(({ name, handed }) => [name, ...tasks.map((task) => cell(handed, task))]);
    const raced = races.map(({ name, drafter, shape, ratio, perPass, format, cpu }) => {
      return [name, drafter, shape, ratio.toFixed(3), perPass.toFixed(3), format, cpu];
    });
    const lines = (head, body) => csvText([head, ...body]);
    const first = students.length || !races.length ? lines(["name", ...tasks], rows) : "";
    return first + (races.length ? `${first && "\r\n"}${lines(RACED, raced)}` : "");
  }

  return { lettersOf, scoreOf, readClass, gainOf, classCsv, csvText };
})(SpecViz);
Object.assign(SpecViz, classBoard);

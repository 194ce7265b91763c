// What the browser says of written rules, for tests/written_rules: {rules, tasks} in, the same out.
const fs = require("node:fs");
const { S } = require("./load.js");

const asked = JSON.parse(fs.readFileSync(0, "utf-8"));
const rules = asked.rules.map(({ text, world }) => {
  const judged = S.judgeRule(text, world);
  return { ...judged, mistakes: judged.mistakes.map(({ id }) => id) };
});
const tasks = asked.tasks.map(({ task, text }) => ({
  ...S.checkTask(S.taskOf(task), text),
  line: S.handInRule(task, "Anna", text),
}));
process.stdout.write(JSON.stringify({ rules, tasks }));

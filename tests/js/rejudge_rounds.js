// Judges rounds again: reads [{trace, settings}] from stdin, writes what became of every candidate of the first round.
const { S } = require("./load.js");
const cases = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
process.stdout.write(
  JSON.stringify(cases.map(({ trace, settings }) => [...S.rejudge(trace, trace.rounds[0], settings).all.values()])),
);

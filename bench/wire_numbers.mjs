// ns a number that JSON.parse and JSON.stringify take for the array in a file; CPU time, the best of several runs. Prints one JSON array.
import { readFileSync } from "node:fs";

const text = readFileSync(process.argv[2], "utf8");
const runs = 7;

function best(run, count) {
  const took = [];
  for (let i = 0; i < runs; i++) {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    took.push(((user + system) * 1000) / count);
  }
  return Math.min(...took);
}

const numbers = JSON.parse(text);
const read = best(() => JSON.parse(text), numbers.length);
const write = best(() => JSON.stringify(numbers), numbers.length);
console.log(JSON.stringify([read, write, process.version]));

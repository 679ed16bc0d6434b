// run.mjs: the page's tests in a real browser. Prints TAP.
//
//   node tests/browser/run.mjs [PART OF A NAME]

import { run } from "./harness.mjs";
import "./numbers.mjs";
import "./captions.mjs";
import "./input.mjs";
import "./views.mjs";
import "./look.mjs";
import "./long.mjs";
import "./yours.mjs";
import "./export.mjs";
import "./figures.mjs";
import "./image.mjs";
import "./accessibility.mjs";
import "./docs.mjs";
import "./rules.mjs";
import "./server.mjs";
import "./source.mjs";

await run(process.argv[2]);

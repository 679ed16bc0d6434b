// code.js: the request as a curl command, as Python and JavaScript that send it, and as PyTorch that computes the same.

import { app } from "./app.js";
import { base } from "./api.js";
import { hasKey } from "./key.js";
import { isLong, overview } from "./long.js";
import { pytorch } from "./pytorch.js";
import { plainRequest } from "./request.js";
import { python } from "./pytorch_values.js";

const RETURN = ["weights", "output"]; // of a request that names none
const JSON_POOL_MAX = 512; // rows and columns of pooled weights that are asked for as text

const isPooled = (request) => !request.return?.length && isLong(request);
const namesOf = (request) => (request.return?.length ? request.return : isPooled(request) ? ["pooled_weights"] : RETURN);
const poolOf = (request) => (isPooled(request) ? { pool: overview(request).fields.pool.map((n) => Math.min(n, JSON_POOL_MAX)), pool_by: "max" } : {});
const asJson = (request) => JSON.stringify({ ...plainRequest(request), return: namesOf(request), ...poolOf(request) });

export const url = () => new URL("attention", base).href;

export function curl(request) {
    const keyHeader = hasKey() ? " -H \"X-API-Key: $ATTND_KEY\"" : "";
    return `curl -s ${url()} -H 'Content-Type: application/json'${keyHeader} -d '${asJson(request).replace(/'/g, "'\\''")}'\n`;
}

export function requests(request) {
    const [imports, headers] = hasKey() ? ["import os\n\nimport requests", ", headers={\"X-API-Key\": os.environ[\"ATTND_KEY\"]}"] : ["import requests", ""];
    return `${imports}\n\nreply = requests.post("${url()}", json=${python(JSON.parse(asJson(request)))}${headers})\nreply.raise_for_status()\nprint(reply.json()["${namesOf(request)[0]}"])\n`;
}

export function javascript(request) {
    return `const response = await fetch("${url()}", {\n    method: "POST",\n    headers: { "Content-Type": "application/json"${hasKey() ? ", \"X-API-Key\": process.env.ATTND_KEY" : ""} },\n`
        + `    body: JSON.stringify(${asJson(request)}),\n});\nif (!response.ok) throw new Error((await response.json()).detail);\nconst { ${namesOf(request).join(", ")} } = await response.json();\n`;
}

export const LANGUAGES = [
    { name: "curl", title: "curl", make: curl },
    { name: "python", title: "Python (requests)", make: requests },
    { name: "pytorch", title: "PyTorch", make: (request) => pytorch(request, app.run) },
    { name: "javascript", title: "JavaScript", make: javascript },
];

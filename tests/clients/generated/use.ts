// What openapi-typescript made, computing with openapi-fetch: the address is the argument.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };
const client = createClient<paths>({ baseUrl: `http://${process.argv[2]}` });
const body: components["schemas"]["AttentionRequest"] = {
    query: [[1, 0], [0, 1]], key: [[1, 0], [0, 1]], value: [[10], [20]], causal: false, layout: "bhtd", mask_semantics: "keep",
};
const { data, error } = await client.POST("/attention", { body });
if (error || !data) throw new Error(JSON.stringify(error));
if (data.warnings.length > 0) throw new Error(data.warnings.join());
console.log(JSON.stringify(data.output));

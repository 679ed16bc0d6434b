// openapi.yaml for programs that write clients. People read the first, which says in schemas how deep arrays nest and what excludes
// what; generators of typed clients cannot express that, and give up or drop types. So this says less: nested arrays are arrays of
// anything, every enum has one type, numbers are double, nothing has a default, and only JSON is sent.
import { parse, stringify } from "yaml";

const ref = (name) => ({ $ref: `#/components/schemas/${name}` });
const description = "Nested arrays, or with \"shape\" an object";
const TENSOR = { description, anyOf: [ref("Numbers"), ref("FlatTensor")] };

// What is said otherwise, whole.
const SCHEMAS = {
    NonFinite: { type: "string", enum: ["NaN", "Infinity", "-Infinity"] },
    Numbers: {
        description: 'Nested arrays, outermost axis first, of numbers, of booleans in a mask, or of "NaN", "Infinity" and "-Infinity"',
        type: "array",
        items: {},
    },
    FlatTensor: {
        description: "A tensor with its shape; `data` is flat in row-major order or nested as the shape says; without it the numbers are drawn from `seed`",
        type: "object",
        required: ["shape"],
        properties: { shape: ref("Shape"), dtype: { type: "string" }, data: ref("Numbers") },
    },
    LayerWeights: { type: "object", properties: { weight: ref("Tensor"), bias: ref("Tensor") } },
    Layer: { description: "A weight [out, in] as torch's Linear stores it, alone or with a bias [out]", anyOf: [ref("Numbers"), ref("FlatTensor"), ref("LayerWeights")] },
    Lengths: { anyOf: [{ type: "integer", format: "int64" }, ref("Numbers"), ref("FlatTensor")] },
    ...Object.fromEntries(["Tensor", "GivenTensor", "Mask", "PerHead", "RealNumbers", "Positions", "SegmentIds", "ResultTensor"].map((name) => [name, TENSOR])),
};
const REPLACED = { Booleans: "Numbers", FlatBooleans: "FlatTensor", DrawnTensor: "FlatTensor" };
const KEYWORDS_LEFT_OUT = ["example", "examples", "default", "not", "dependentRequired", "additionalProperties", "minimum", "maximum", "exclusiveMinimum", "multipleOf", "minItems", "maxItems", "uniqueItems", "maxLength", "minLength", "pattern", "title"];
const PARAMETERS_LEFT_OUT = ["ContentEncoding", "AcceptEncoding", "Traceparent", "RequestId"];

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const typeOf = (value) => (value === null ? "null" : Number.isInteger(value) ? "integer" : typeof value);

/** Of an enum: one schema for each type in it. */
function enumOf(values) {
    const types = [...new Set(values.map(typeOf))];
    const schemas = types.map((type) => (type === "string" ? { type, enum: values.filter((value) => typeOf(value) === type) } : { type }));
    return schemas.length === 1 ? schemas[0] : { anyOf: schemas };
}

const sameText = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function schemaOf(schema) {
    if (!isObject(schema)) return {};
    const replaced = REPLACED[schema.$ref?.split("/").at(-1)];
    if (replaced) return { ...schema, ...ref(replaced) };
    const { const: constant, enum: values, anyOf, oneOf, properties, items, ...rest } = schema;
    for (const keyword of KEYWORDS_LEFT_OUT) if (!(keyword === "additionalProperties" && isObject(rest[keyword]))) delete rest[keyword];
    if (isObject(rest.additionalProperties)) rest.additionalProperties = schemaOf(rest.additionalProperties);
    if (rest.type === "number" || (Array.isArray(rest.type) && rest.type.includes("number"))) rest.format = "double";
    if (rest.type === "integer") rest.format = "int64";
    if (constant !== undefined) Object.assign(rest, enumOf([constant]));
    if (values !== undefined) {
        delete rest.type;
        Object.assign(rest, enumOf(values));
    }
    const choices = (anyOf ?? oneOf)?.map(schemaOf).filter((choice) => ["type", "$ref", "anyOf"].some((keyword) => keyword in choice));
    if (choices?.length) {
        // Arrays of several depths are one; objects with a shape are flat tensors.
        const flat = choices.map((choice) => (choice.type === "array" ? ref("Numbers") : choice.properties?.shape ? ref("FlatTensor") : choice));
        rest.anyOf = flat.filter((choice, i) => flat.findIndex((other) => sameText(other, choice)) === i);
    }
    if (properties) rest.properties = Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, schemaOf(value)]));
    if (rest.type === "array" || items) rest.items = items ? schemaOf(items) : {};
    return rest;
}

/** A named enum with names for its values, which in Go share one space with types: ConventionRopeStyle beside RopeStyle. */
function withVariables(name, schema) {
    if (!schema.enum) return schema;
    const pascal = (value) => value.replace(/(?:^|_)(.)/g, (_, letter) => letter.toUpperCase());
    return { ...schema, "x-enum-varnames": schema.enum.map((value) => name + pascal(value)) };
}

/** Of the media types of a body JSON, or the only one. */
function contentOf(content) {
    const names = Object.keys(content);
    const name = names.find((type) => type === "application/json") ?? names[0];
    return { [name]: { schema: schemaOf(content[name].schema) } };
}

function responseOf({ headers, content, ...rest }) {
    return content ? { ...rest, content: contentOf(content) } : rest;
}

function operationOf(operation) {
    const result = { ...operation };
    const responses = Object.entries(operation.responses).map(([status, response]) => [status, response.$ref ? response : responseOf(response)]);
    result.responses = Object.fromEntries(responses);
    result.parameters = operation.parameters?.filter((parameter) => !PARAMETERS_LEFT_OUT.includes(parameter.$ref?.split("/").at(-1)));
    if (!result.parameters?.length) delete result.parameters;
    if (operation.requestBody) result.requestBody = { ...operation.requestBody, content: contentOf(operation.requestBody.content) };
    return result;
}

/** The text of openapi-client.yaml. */
export function clientSchema(text) {
    const document = parse(text);
    const map = (object, f) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, f(value, name)]));
    const paths = Object.entries(document.paths)
        .map(([path, methods]) => [path, map(methods, operationOf)])
        .filter(([, methods]) => !Object.values(methods).some((method) => method.tags?.includes("page")));
    const schemas = Object.entries(document.components.schemas)
        .filter(([name]) => !(name in REPLACED))
        .map(([name, schema]) => [name, SCHEMAS[name] ?? withVariables(name, schemaOf(schema))]);
    return stringify(
        {
            ...document,
            paths: Object.fromEntries(paths),
            components: {
                securitySchemes: document.components.securitySchemes,
                parameters: map(Object.fromEntries(Object.entries(document.components.parameters).filter(([name]) => !PARAMETERS_LEFT_OUT.includes(name))), (parameter) => ({ ...parameter, schema: schemaOf(parameter.schema) })),
                responses: map(document.components.responses, responseOf),
                schemas: { ...Object.fromEntries(schemas), LayerWeights: SCHEMAS.LayerWeights },
            },
        },
        { aliasDuplicateObjects: false, lineWidth: 0 },
    );
}

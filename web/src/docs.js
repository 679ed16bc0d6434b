// docs.js: the API reference: openapi.yaml, rendered by Swagger UI.

import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";

const darkness = matchMedia("(prefers-color-scheme: dark)");

function paint() {
    let theme = "";
    try {
        theme = localStorage.getItem("attnd-theme") ?? "";
    } catch { /* a page without storage follows the system */ }
    document.documentElement.classList.toggle("dark-mode", theme ? theme === "dark" : darkness.matches);
}

paint();
darkness.addEventListener("change", paint);

SwaggerUI({
    dom_id: "#reference",
    url: new URL("openapi.yaml", document.baseURI).href,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    deepLinking: true,
    displayRequestDuration: true,
    validatorUrl: null,
    supportedSubmitMethods: ["get", "post"],
});

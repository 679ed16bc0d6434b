import "openapi-explorer";

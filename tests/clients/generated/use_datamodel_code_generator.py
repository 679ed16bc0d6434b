"""What datamodel-code-generator made, computing: a request from its model, unset members left out, and a reply into it."""
import sys
import urllib.request

from attnd_models import AttentionReply, AttentionRequest

request = AttentionRequest.model_validate(
    {"query": [[1, 0], [0, 1]], "key": [[1, 0], [0, 1]], "value": [[10], [20]], "layout": "bhtd", "mask_semantics": "keep"}
)
body = request.model_dump_json(exclude_none=True, by_alias=True).encode()
sent = urllib.request.Request("http://" + sys.argv[1] + "/attention", body, {"Content-Type": "application/json"})
with urllib.request.urlopen(sent) as response:
    reply = AttentionReply.model_validate_json(response.read())
assert reply.warnings == [], reply.warnings
assert reply.output is not None
print(reply.model_dump(mode="json")["output"])

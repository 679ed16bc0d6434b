"""What openapi-python-client made, computing: the address is the argument, the folder that holds the package is on the path."""
import sys

from attnd_client import Client
from attnd_client.api.attention import attention
from attnd_client.models import AttentionReply, AttentionRequest

request = AttentionRequest(query=[[1, 0], [0, 1]], key=[[1, 0], [0, 1]], value=[[10], [20]])
reply = attention.sync(client=Client(base_url="http://" + sys.argv[1]), body=request)
assert isinstance(reply, AttentionReply), reply
assert isinstance(reply.output, list)
print(reply.output)

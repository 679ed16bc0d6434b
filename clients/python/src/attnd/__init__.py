"""A client of attnd, the HTTP daemon that computes attention.

    result = attnd.attention(query, key, value, causal=True)
    result["output"], result["weights"]     # numpy arrays
    result.applied, result.warnings         # the conventions that were applied, and what was probably not meant
    attnd.merge([part, part])               # results over different keys, as one over all of them
    attnd.ray.attention(..)                 # one computation over the daemons of a Ray cluster; import attnd.ray

The functions of the module call the daemon at $ATTND_URL, http://localhost:8080 where that is not set, with the key in
$ATTND_API_KEY; a Client has an address of its own. Arrays are whatever numpy.asarray takes."""
from ._client import Client, Result, attention, merge
from ._errors import AttndError, ConnectionFailed, RequestError, ServerError

__all__ = ["AttndError", "Client", "ConnectionFailed", "RequestError", "Result", "ServerError", "attention", "merge"]
__version__ = "0.1.0"

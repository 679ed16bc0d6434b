-- For wrk: posts what the file BODY holds, as JSON, and prints one line of JSON at the end.
local file = assert(io.open(os.getenv("BODY"), "rb"))
wrk.method, wrk.body = "POST", file:read("*a")
wrk.headers["Content-Type"] = "application/json"
file:close()

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format('{"requests":%d,"us":%d,"failed":%d,"p50":%g,"p99":%g,"p999":%g}\n', summary.requests,
        summary.duration, errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end

"""A Ray cluster of processes of this machine, each node beside a daemon of its own."""
import contextlib
import os

# A busy machine takes its time to start a node; tasks only wait for daemons, so they need not stand back, as Ray has it.
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_raylet_start_wait_time_s="120", RAY_worker_niceness="0")
import ray  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402


@contextlib.contextmanager
def cluster(daemons, store_bytes):
    """The head node has no daemon, and computes nothing."""
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": store_bytes, "include_dashboard": False})
    try:
        for daemon in daemons:
            nodes.add_node(num_cpus=1, object_store_memory=store_bytes, include_dashboard=False, env_vars={"ATTND_URL": daemon.url})
        ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()

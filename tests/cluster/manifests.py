#!/usr/bin/env python3
"""deploy/kubernetes against the schemas of the Kubernetes versions named below and KServe's own models; and what it says of attnd against a
daemon. Prints TAP.

    ATTND_BIN=build/attnd build/cluster/venv/bin/python tests/cluster/manifests.py"""
import ast
import copy
import importlib.util
import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import kubernetes_validate
import yaml

TOP = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests/clients"), str(TOP / "tests/cluster")]
from daemon import ATTND, Daemon  # noqa: E402
from tap import check, finish  # noqa: E402

KUBERNETES = ["1.30", "1.33", "1.37"]
FOLDERS = ["base", "overlays/small", "overlays/autoscaled", "kserve"]
# Of the Prometheus operator and of KServe, which Kubernetes' schemas do not have.
FOREIGN = ("monitoring.coreos.com/", "serving.kserve.io/")


def render(folder):
    kubectl = Path(sys.executable).with_name("kubectl")
    text = subprocess.run([kubectl, "kustomize", TOP / "deploy/kubernetes" / folder], check=True, capture_output=True, text=True).stdout
    return [document for document in yaml.safe_load_all(text)]


def fault(resource, version):
    """What Kubernetes' schema has against it; None: nothing."""
    try:
        kubernetes_validate.validate(resource, version, strict=True)
    except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
        return str(error)[:300]
    return None


def of_kind(resources, kind):
    return next(resource for resource in resources if resource["kind"] == kind)


def pod_of(resource):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": resource}


# ---- KServe: its package has a class for each object, with its fields' names and types

def kserve_classes():
    models = Path(importlib.util.find_spec("kserve").submodule_search_locations[0]) / "models"
    classes = {}
    for file in models.glob("v1*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                tables = {target.id: ast.literal_eval(item.value) for item in node.body if isinstance(item, ast.Assign)
                          for target in item.targets if isinstance(target, ast.Name) and target.id in ("openapi_types", "attribute_map")}
                if len(tables) == 2:
                    classes[node.name] = {name: tables["openapi_types"][field] for field, name in tables["attribute_map"].items()}
    return classes


def kserve_faults(classes, value, kind, place):
    """Fields that the kind does not have, or whose values are of another type."""
    plain = {"str": str, "int": int, "bool": bool, "float": (int, float)}
    of_list = re.fullmatch(r"list\[(.*)\]", kind)
    if of_list:
        return [text for i, each in enumerate(value) for text in kserve_faults(classes, each, of_list[1], f"{place}/{i}")] if isinstance(value, list) else [place]
    if kind in plain:
        return [] if isinstance(value, plain[kind]) else [f"{place}: no {kind}"]
    fields = classes.get(kind)
    if fields is None:  # Kubernetes' own
        return []
    return [text for name, each in value.items()
            for text in (kserve_faults(classes, each, fields[name], f"{place}/{name}") if name in fields else [f"{place}/{name}: no such field"])]


# ---- tests

def test_schemas(rendered):
    for folder, resources in list(rendered.items())[:3]:
        own = [resource for resource in resources if not resource["apiVersion"].startswith(FOREIGN)]
        for version in KUBERNETES:
            faults = [f"{resource['kind']}: {found}" for resource in own if (found := fault(resource, version))]
            check(f"{folder}: {len(own)} resources, Kubernetes {version}", not faults, faults)
    wrong = copy.deepcopy(of_kind(rendered["base"], "Deployment"))
    wrong["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    check("a misspelt field is found", fault(wrong, KUBERNETES[0]) is not None)


def test_kserve(resources):
    classes = kserve_classes()
    for kind, name in (("ClusterServingRuntime", "V1alpha1ClusterServingRuntime"), ("InferenceService", "V1beta1InferenceService")):
        resource = of_kind(resources, kind)
        faults = kserve_faults(classes, resource, name, "")
        check(f"{kind} is as KServe's model has it", not faults, faults)
        wrong = copy.deepcopy(resource)
        wrong["spec"]["protocolVersion5"] = ["v2"]
        check(f"{kind}: a misspelt field is found", kserve_faults(classes, wrong, name, "") != [])
    runtime, service = of_kind(resources, "ClusterServingRuntime"), of_kind(resources, "InferenceService")
    faults = [fault(pod_of({"containers": runtime["spec"]["containers"]}), version) for version in KUBERNETES]
    check("the runtime's containers are Kubernetes'", faults == [None] * len(KUBERNETES), faults)
    model, formats = service["spec"]["predictor"]["model"], runtime["spec"]["supportedModelFormats"]
    check("the service asks for what the runtime has", model["runtime"] == runtime["metadata"]["name"] and model["protocolVersion"] in runtime["spec"]["protocolVersions"]
          and model["modelFormat"] in [{"name": each["name"], "version": each["version"]} for each in formats])
    with urllib.request.urlopen(f"{URL}/v2/models/{service['metadata']['name']}") as reply:
        check("its name is the model's", json.load(reply)["name"] == service["metadata"]["name"])


def selected(selector, labels):
    return bool(selector) and selector.items() <= labels.items()


def test_selectors(folder, resources):
    pod = of_kind(resources, "Deployment")["spec"]["template"]
    labels, ports = pod["metadata"]["labels"], [port["name"] for port in pod["spec"]["containers"][0]["ports"]]
    service = of_kind(resources, "Service")
    selectors = [of_kind(resources, "Deployment")["spec"]["selector"]["matchLabels"], service["spec"]["selector"],
                 of_kind(resources, "PodDisruptionBudget")["spec"]["selector"].get("matchLabels"),
                 of_kind(resources, "NetworkPolicy")["spec"]["podSelector"].get("matchLabels"),
                 *(each["labelSelector"]["matchLabels"] for each in pod["spec"]["topologySpreadConstraints"])]
    check(f"{folder}: every selector has attnd's pods, and no others", all(selected(each, labels) for each in selectors), selectors)
    named = [service["spec"]["ports"][0]["targetPort"], of_kind(resources, "NetworkPolicy")["spec"]["ingress"][0]["ports"][0]["port"]]
    check(f"{folder}: ports have the names that are used", set(named) <= set(ports), named)


def test_autoscaled(resources, metrics):
    monitor, service, scaler = (of_kind(resources, kind) for kind in ("ServiceMonitor", "Service", "HorizontalPodAutoscaler"))
    check("the monitor has the service", selected(monitor["spec"]["selector"]["matchLabels"], service["metadata"]["labels"])
          and monitor["spec"]["endpoints"][0]["port"] in [port["name"] for port in service["spec"]["ports"]]
          and urllib.request.urlopen(f"{URL}{monitor['spec']['endpoints'][0]['path']}").status == 200)
    check("the autoscaler alone says how many daemons", "replicas" not in of_kind(resources, "Deployment")["spec"]
          and scaler["spec"]["scaleTargetRef"]["name"] == of_kind(resources, "Deployment")["metadata"]["name"])
    names = [metric["pods"]["metric"]["name"] for metric in scaler["spec"]["metrics"] if metric["type"] == "Pods"]
    check("it scales by a metric that attnd has", names and all(f"\n{name} " in metrics for name in names), names)
    adapter = yaml.safe_load((TOP / "deploy/kubernetes/overlays/autoscaled/prometheus-adapter.yaml").read_text(encoding="utf-8"))
    rules = adapter["rules"]["custom"]
    check("the adapter has it", [re.fullmatch(rule["name"]["matches"], name) is not None and rule["seriesQuery"].startswith(name + "{")
                                 for rule, name in zip(rules, names)] == [True] * len(names))


def test_container(what, container, pod):
    """What the container is told, against a daemon, the compose files and the documents."""
    for probe in ("readinessProbe", "livenessProbe"):
        with urllib.request.urlopen(f"{URL}{container[probe]['httpGet']['path']}") as reply:
            check(f"{what}: {probe}", reply.status == 200 and container[probe]["timeoutSeconds"] >= 1)
    options = subprocess.run([ATTND, "--help"], check=True, capture_output=True, text=True).stdout
    check(f"{what}: its variables are options", all(f"--{each['name'][len('ATTND_'):].lower().replace('_', '-')} " in options for each in container["env"]))
    restricted = yaml.safe_load((TOP / "docker/restricted.yaml").read_text(encoding="utf-8"))["services"]["attnd"]
    security = {**pod, **container["securityContext"]}
    check(f"{what}: as restricted as docker/restricted.yaml", security["runAsUser"] == int(restricted["user"]) and security["runAsNonRoot"]
          and security["readOnlyRootFilesystem"] == restricted["read_only"] and security["capabilities"]["drop"] == restricted["cap_drop"]
          and security["allowPrivilegeEscalation"] is False and security["seccompProfile"] == {"type": "RuntimeDefault"})
    check(f"{what}: the image has this version", container["image"].endswith("attnd:" + (TOP / "VERSION").read_text(encoding="utf-8").strip()), container["image"])
    check(f"{what}: what is requested is what is used", container["resources"]["requests"] == container["resources"]["limits"])


def main():
    rendered = {folder: render(folder) for folder in FOLDERS}
    test_schemas(rendered)
    test_kserve(rendered["kserve"])
    with urllib.request.urlopen(f"{URL}/metrics") as reply:
        metrics = reply.read().decode()
    for folder in FOLDERS[:3]:
        test_selectors(folder, rendered[folder])
        pod = of_kind(rendered[folder], "Deployment")["spec"]["template"]["spec"]
        test_container(folder, pod["containers"][0], pod["securityContext"])
    pod = of_kind(rendered["base"], "Deployment")["spec"]["template"]["spec"]
    pause = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    check("a request has its time before the pod is killed", pod["terminationGracePeriodSeconds"] >= pause + 2 * 60)
    test_container("kserve", of_kind(rendered["kserve"], "ClusterServingRuntime")["spec"]["containers"][0], {})
    test_autoscaled(rendered["overlays/autoscaled"], metrics)


with Daemon() as daemon:
    URL = daemon.url
    main()
finish()

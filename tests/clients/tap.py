"""Counts tests and prints them as TAP."""
import sys

results = []


def check(name, passed, difference=""):
    results.append(bool(passed))
    print(f"{'ok' if passed else 'not ok'} {len(results)} - {name}")
    if not passed and difference:
        print("# " + str(difference).replace("\n", "\n# "))


def raises(kind, call):
    """The error of that kind; None where there is none."""
    try:
        call()
    except kind as error:
        return error
    return None


def finish():
    print(f"1..{len(results)}", flush=True)
    sys.exit(not results or not all(results))

# SPDX-License-Identifier: Apache-2.0
"""The compatibility suite, which runs NVIDIA's compiled module, on this module: the same tests, the same answers."""
import importlib
import pathlib
import sys

import support

support.need_numpy()
import tensorrt  # noqa: E402  pylint: disable=wrong-import-position

COMPAT = support.ROOT / "tests/compat"


def cases():
    """The suite's tests by name; it imports the module by the name that NVIDIA's package has."""
    mine = sys.modules.pop("support")
    sys.path.insert(0, str(COMPAT))
    sys.modules["tensorrt_bindings"] = tensorrt
    found = {}
    try:
        for file in sorted(pathlib.Path(COMPAT).glob("test_*.py")):
            module = importlib.import_module(file.stem)
            for name, function in support.cases_of(vars(module)).items():
                found[f"{file.stem.removeprefix('test_')}.{name}"] = function
        return found, sys.modules["support"].Skip
    finally:
        sys.modules["support"] = mine


def judged(function, skip):
    """A test that is marked as unsupported must fail; the suite's own skips are ours."""
    reason = getattr(function, "expected_failure", None)

    def case():
        try:
            function()
        except skip as why:
            raise support.Skip(str(why)) from None
        except Exception:  # pylint: disable=broad-except
            if reason:
                return
            raise
        assert not reason, f"passes, though marked as unsupported: {reason}"
    return case


def main():
    found, skip = cases()
    if len(found) < 70:
        print(f"{len(found)} tests of the suite were found; expected 70 or more")
        return 1
    return support.run_all({name: judged(function, skip) for name, function in found.items()}, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

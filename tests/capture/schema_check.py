# SPDX-License-Identifier: Apache-2.0
"""Checks a value against as much of JSON Schema as docs/capture.schema.json uses; a keyword beyond that is an error."""
import re

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
SPOKEN = {"$schema", "title", "$defs"}


class Mismatch(Exception):
    """Where the value is not what the schema says."""


def is_type(value, name):
    return isinstance(value, TYPES[name]) and not (name == "integer" and isinstance(value, bool))


def fits(value, schema, root):
    try:
        check(value, schema, root)
        return True
    except Mismatch:
        return False


def check(value, schema, root, place="capture"):
    """Raises Mismatch."""
    def need(holds):
        if not holds:
            raise Mismatch(f"{place}: {str(value)[:200]} is not {str(schema)[:200]}")

    for key, rule in schema.items():
        if key == "$ref":
            target = root
            for step in rule.split("/")[1:]:
                target = target[step]
            check(value, target, root, place)
        elif key == "type":
            need(any(is_type(value, name) for name in ([rule] if isinstance(rule, str) else rule)))
        elif key == "const":
            need(value == rule and isinstance(value, bool) == isinstance(rule, bool))
        elif key == "enum":
            need(value in rule)
        elif key == "required":
            need(all(name in value for name in rule))
        elif key == "properties":
            for name, part in rule.items():
                if name in value:
                    check(value[name], part, root, f"{place}.{name}")
        elif key == "additionalProperties":
            need(rule is not False or all(name in schema["properties"] for name in value))
        elif key == "items":
            for number, entry in enumerate(value):
                check(entry, rule, root, f"{place}[{number}]")
        elif key == "minItems":
            need(len(value) >= rule)
        elif key == "minimum":
            need(value >= rule)
        elif key == "multipleOf":
            need(value % rule == 0)
        elif key == "pattern":
            need(re.search(rule, value) is not None)
        elif key == "anyOf":
            need(any(fits(value, part, root) for part in rule))
        elif key == "oneOf":
            need(sum(fits(value, part, root) for part in rule) == 1)
        else:
            need(key in SPOKEN)

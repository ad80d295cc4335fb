"""Validates results against the schema and, with --mutate, checks that every mutation of the first is refused.

usage: result_schema.py [--mutate] SCHEMA RESULT...
"""
import copy
import json
import sys

import jsonschema

# Objects whose keys are names: members may come and go.
MAPS = ("environment", "parameters", "parameter_text", "parameter_units", "metrics", "samples", "watches",
        "quantities", "presentation")


def optional_members(schema):
    """Names that some object of the schema knows and does not require."""
    if isinstance(schema, list):
        return set().union(*map(optional_members, schema))
    if not isinstance(schema, dict):
        return set()
    own = set(schema["properties"]) - set(schema["required"]) if "required" in schema else set()
    return own.union(*map(optional_members, schema.values()))


def mutants(document, optional):
    """(what was done, mutated document) for each member of each object and each element of each array."""
    def walk(node, path):
        yield path, node
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            yield from walk(value, path + [key])

    def changed(path, change):
        mutant = copy.deepcopy(document)
        parent = mutant
        for key in path[:-1]:
            parent = parent[key]
        change(parent, path[-1])
        return mutant

    for path, node in walk(document, []):
        if not path:
            continue
        in_map = len(path) > 1 and path[-2] in MAPS
        if isinstance(path[-1], str) and not in_map and path[-1] not in optional:
            yield f"{path} removed", changed(path, lambda parent, key: parent.pop(key))
        if isinstance(node, dict) and path[-1] not in MAPS:
            yield f"{path} with another member", changed(path, lambda parent, key: parent[key].update(surprise=1))
        wrong = [[]] if isinstance(node, dict) else [{}]
        if isinstance(node, (bool, int, float)) and "parameters" not in path:
            wrong.append("1")
        if isinstance(node, str) and "parameters" not in path:
            wrong.append(1)
        for value in wrong:
            yield f"{path} = {value!r}", changed(path, lambda parent, key, v=value: parent.__setitem__(key, v))


def main():
    arguments = sys.argv[1:]
    mutate = arguments[0] == "--mutate"
    schema_path, *paths = arguments[mutate:]
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    documents = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            documents.append(json.load(file))
        for error in validator.iter_errors(documents[-1]):
            sys.exit(f"{path}: {list(error.path)}: {error.message}")
    count = 0
    for what, mutant in mutants(documents[0], optional_members(schema)) if mutate else ():
        count += 1
        if validator.is_valid(mutant):
            sys.exit(f"the schema accepts {paths[0]} with {what}")
    print(f"{len(documents)} results are valid, {count} mutants are not")


main()

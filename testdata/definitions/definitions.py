# Reads a JSON string, the text of a Python file, from each line of its input, and writes
# what Python's own parser says of it as a line of JSON. It runs nothing of the text.
import ast
import json
import sys

width = 1 << 20  # more than the bytes of a line
named = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def names(target):
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for part in target.elts for name in names(part)]
    return [target.id] if isinstance(target, ast.Name) else []


def facts(text):
    lines = [line.encode() for line in text.split("\n")]
    found = []
    strings = []

    def add(name, node, scope, first, line, local=False):
        before = lines[first - 1][: node.col_offset] if first == node.lineno else b""
        behind = lines[node.end_lineno - 1][node.end_col_offset :].lstrip(b"; \t\r")
        found.append({
            "name": name, "kind": type(node).__name__, "scope": scope, "first": first, "last": node.end_lineno, "line": line,
            "from": first * width + (node.col_offset if first == node.lineno else 0), "to": node.end_lineno * width + node.end_col_offset,
            "local": local, "type": type(node).__name__, "decorators": len(getattr(node, "decorator_list", ())), "place": "statement",
            "shares": bool(before.strip()) or behind[:1] not in (b"", b"#"),
        })

    def visit(node, scope, local=False):
        for child in ast.iter_child_nodes(node):
            inner = scope
            if isinstance(child, named):
                add(child.name, child, scope, min([child.lineno] + [d.lineno for d in child.decorator_list]), child.lineno)
                inner = scope + [child.name]
            elif isinstance(child, (ast.Assign, ast.AnnAssign)):
                for target in getattr(child, "targets", None) or [child.target]:
                    for name in names(target):
                        add(name, child, scope, child.lineno, child.lineno, local)
            elif isinstance(child, (ast.Constant, ast.JoinedStr)) and child.lineno != child.end_lineno:
                strings.append([child.lineno, child.end_lineno])
            visit(child, inner, isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) or (local and not isinstance(child, ast.ClassDef)))

    visit(ast.parse(text), [])
    return {"definitions": found, "strings": strings}


for line in sys.stdin:
    try:
        answer = facts(json.loads(line))
    except (SyntaxError, ValueError, RecursionError) as e:
        answer = {"error": "%s: %s" % (type(e).__name__, e)}
    print(json.dumps(answer), flush=True)

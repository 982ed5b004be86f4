#!/usr/bin/env python3
#
# arrows.py - prints what breaks the structure of the C sources: circles of
# files that include or call each other, include directives in a wrong order,
# and static functions of several files that have the same name. Prints nothing
# if there is nothing of this kind. A file and its header count as one.
#
# It relies on the format of the sources (clang-format): a definition begins in
# the first column, and so do the braces of its body.
import collections
import glob
import os
import re

DIRECTORIES = 'lib backend filter daemon cli sim notify'.split()
FUNCTION = re.compile(r'^(?!#|\s|struct \w+$|enum)([^;{}=]*?)\b(\w+)\('
                      r'[^;{}]*\)[^;{}()]*\n\{(.*?)^\}', re.M | re.S)
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                      r"'(?:\\.|[^'\\\n])+'", re.S)

Arrows = collections.defaultdict[str, collections.defaultdict[str, set[str]]]


def module(path: str) -> str:
    return os.path.splitext(path)[0].removesuffix('_internal')


def circles(arrows: Arrows) -> list[list[str]]:
    """The strongly connected components of more than one module."""
    reach = {}
    for start in arrows:
        seen, todo = set(), [start]
        while todo:
            for to in arrows.get(todo.pop(), ()):
                if to not in seen:
                    seen.add(to)
                    todo.append(to)
        reach[start] = seen
    found = {frozenset(b for b in reach[a] | {a} if a in reach.get(b, ()))
             for a in reach if a in reach[a]}
    return sorted(sorted(circle) for circle in found)


def print_circles(kind: str, arrows: Arrows) -> None:
    for circle in circles(arrows):
        print(f'a circle of {kind}:')
        for a in circle:
            for b in sorted(set(arrows[a]) & set(circle)):
                print(f'  {a} -> {b}: {", ".join(sorted(arrows[a][b])[:4])}')


def is_in_order(path: str, names: list[str]) -> bool:
    """<config.h>, the header of the file or its directory, <...>, others."""
    if names[:1] == ['<config.h>']:
        names = names[1:]
    if f'"{os.path.splitext(path)[0]}.h"' in names[1:]:
        return False
    rest = names if re.search(r'(?<!_internal)\.h$', path) else names[1:]
    return rest == sorted(rest, key=lambda name: name.startswith('"'))


paths = sorted(path for directory in DIRECTORIES
               for path in glob.glob(f'{directory}/**/*.*', recursive=True)
               if path.endswith(('.c', '.cc', '.h')))
includes: Arrows = collections.defaultdict(lambda: collections.defaultdict(set))
calls: Arrows = collections.defaultdict(lambda: collections.defaultdict(set))
owner, static, bodies = {}, collections.defaultdict(set), []

for path in paths:
    with open(path, encoding='utf-8') as file:
        text = file.read()
    names = re.findall(r'^#include (<[^>]+>|"[^"]+")', text, re.M)
    if not is_in_order(path, names):
        print(f'{path}: its own header, then <...>, then "..."')
    for name in names:
        if name[1:-1] in paths and module(name[1:-1]) != module(path):
            includes[module(path)][module(name[1:-1])].add(name)
    code = NOT_CODE.sub(lambda found: re.sub(r'[^\n]', ' ', found[0]), text)
    for kind, name, body in FUNCTION.findall(code):
        if 'static' not in kind.split():
            owner[name] = module(path)
        elif path.endswith('.c'):
            static[name].add(path)
        bodies.append((path, name, body))

for path, function, body in bodies:
    for name in re.findall(r'(?<![\w.>])(\w+)\(', body):
        to = owner.get(name)
        if to not in (None, module(path)) and path not in static[name]:
            calls[module(path)][to].add(  # type: ignore[index]
                f'{function} calls {name}')

if len(bodies) < 1000:
    print(f'only {len(bodies)} functions were found')
print_circles('includes', includes)
print_circles('calls', calls)
for name, files in sorted(static.items()):
    if len(files) > 1:
        print(f'{name} is a static function of {", ".join(sorted(files))}')

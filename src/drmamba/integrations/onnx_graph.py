"""The parts of an exported model that are written by hand, in ONNX's text form and with standard operators only.

A model with page context does one of two jobs: it decodes windows or, if no context is given, computes the features of
a page. Both need the encoder; the rest is in the two branches of an `If`, of which one runs. (ONNX Runtime's option
`only_execute_path_to_fetches` would need no branches, but its builds for inference run every node all the same.)
For the same reason the maps of the block are in a branch that runs only if the input `explain` asks for them.

The scan of Eqs. (9), (10) and (12) is computed in chunks, which are the rows (or the columns) of the map. Three ONNX
`Scan` operators do the work. The first advances all rows in parallel, one token per step, and gives the state at the
end of each row. The second is short and carries these states from row to row. The third starts every row from the
state that reaches it and keeps the states on the way. Only products of decays in (0, 1] occur, so nothing overflows,
and the map and the batch may have any size.

Two things make it fast. The axis of the scan comes first in memory, so that a step is a slice and not a copy. And each
step keeps a_t h_{t-1}, which has just been computed, instead of h_t, which would have to be copied; b_t is added last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drmamba.config import Directions

OPSET = 20  # version of the operators
IR = 9  # version of the file format
JOB_OUTPUTS = ("probability", "maps", "features_3", "features_4")  # of a model that does one of two jobs
DOMAIN = "drmamba"  # namespace of the functions below, which are inlined before a model is written

BEFORE = f"""
<ir_version: {IR}, opset_import: ["": {OPSET}]>
before (uint8[batch, height, width, 3] page) => (float[batch, 3, rows, columns] levels, int64[2] size) {{
    shape = Shape (page)
    one = Constant <value_ints = [1]> ()
    three = Constant <value_ints = [3]> ()
    size = Slice (shape, one, three)
    step = Constant <value_int = 32> ()
    negative = Neg (size)
    missing = Mod (negative, step)
    none = Constant <value_ints = [0, 0, 0, 0, 0, 0]> ()
    pads = Concat <axis = 0> (none, missing)
    planes = Transpose <perm = [0, 3, 1, 2]> (page)
    padded = Pad <mode = "edge"> (planes, pads)
    levels = Cast <to = 1> (padded)
}}
"""

AFTER = f"""
<ir_version: {IR}, opset_import: ["": {OPSET}]>
after (float[batch, rows, columns] logits, int64[2] size) => (float[batch, height, width] probability) {{
    whole = Sigmoid (logits)
    start = Constant <value_ints = [0, 0]> ()
    axes = Constant <value_ints = [1, 2]> ()
    probability = Slice (whole, start, size, axes)
}}
"""

# The means of D, B, beta and beta * B over the channels, if they are asked for, and nothing otherwise.
MAPS = f"""
<ir_version: {IR}, opset_import: ["": {OPSET}]>
explanation (bool explain, float[batch, h, w, d] D, float[batch, h, w, d] B, float[batch, h, w, d] beta) => (
    float[explained, 4, rows_4, columns_4] maps
) {{
    maps = If (explain) <
        then_branch = explained () => (float[n, 4, h, w] map_means) {{
            map_taken = Mul (beta, B)
            map_last = Constant <value_ints = [-1]> ()
            map_first = Constant <value_ints = [1]> ()
            mean_D = ReduceMean <keepdims = 0> (D, map_last)
            mean_B = ReduceMean <keepdims = 0> (B, map_last)
            mean_beta = ReduceMean <keepdims = 0> (beta, map_last)
            mean_taken = ReduceMean <keepdims = 0> (map_taken, map_last)
            plane_D = Unsqueeze (mean_D, map_first)
            plane_B = Unsqueeze (mean_B, map_first)
            plane_beta = Unsqueeze (mean_beta, map_first)
            plane_taken = Unsqueeze (mean_taken, map_first)
            map_means = Concat <axis = 1> (plane_D, plane_B, plane_beta, plane_taken)
        }},
        else_branch = unexplained () => (float[n, 4, h, w] no_means) {{
            map_shape = Constant <value_ints = [0, 4, 0, 0]> ()
            no_means = ConstantOfShape (map_shape)
        }}
    >
}}
"""


def scan_function(directions: Directions) -> str:
    """Return the function `Scans`, from logarithms of decays and gated inputs, both (B, h, w, c), to a sum of scans.

    With 1 direction the rows are scanned from left to right; with 4, rows and columns in both directions.
    """
    walks = {"row": 2} if directions == 1 else {"row": 2, "column": 1}
    return f"""
<domain: "{DOMAIN}", opset_import: ["": {OPSET}]>
Scans (log_a, b) => (sums) {{
    a = Exp (log_a)
    shape = Shape (b)
    {"".join(_walk(name, axis, both_ways=directions > 1) for name, axis in walks.items())}
    count = Constant <value_float = {directions}.0> ()
    inputs = Mul (b, count)
    sums = Sum (inputs, {", ".join(walks)})
}}
"""


def _walk(name: str, axis: int, *, both_ways: bool) -> str:
    """Return the sum of a_t h_{t-1} over a scan along an axis of the map, and in reverse if `both_ways`."""
    ways = ("f", "r")[: 1 + both_ways]  # forwards, in reverse

    def each(template: str, separator: str = ", ") -> str:
        return separator.join(template.replace("@", way) for way in ways)

    inputs = 2 * len(ways)
    turns = [int(way == "r") for way in ways]
    turned = [turn for turn in turns for _ in "ab"]
    other = 3 - axis  # The chunks of a scan along one axis lie along the other.
    step = "m@ = Mul (a@, x@) y@ = Add (m@, b@)"
    state, given, left, kept = (
        ", ".join(f"float[B, {name}s, c] {letter}@" for letter in letters)
        for letters in ("x", "ab", "y", "m")
    )
    tokens = f"scan_input_directions = {turned}, num_scan_inputs = {inputs}"
    outputs = f"scan_output_directions = {turns}"
    return f"""
    {name}_a = Transpose <perm = [{axis}, 0, {other}, 3]> (a)
    {name}_b = Transpose <perm = [{axis}, 0, {other}, 3]> (b)
    {name}_dims = Constant <value_ints = [0, {other}, 3]> ()
    {name}_shape = Gather <axis = 0> (shape, {name}_dims)
    {name}_zero = ConstantOfShape ({name}_shape)
    {each(f"{name}_end_@")} = Scan <{tokens},
        body = {name}_ends ({each(state)}, {each(given)}) => ({each(left)}) {{
            {each(step, " ")}
        }}
    > ({each(f"{name}_zero")}, {each(f"{name}_a, {name}_b")})

    {name}_axis = Constant <value_ints = [{axis}]> ()
    {name}_log = ReduceSum <keepdims = 0> (log_a, {name}_axis)
    {name}_decay = Exp ({name}_log)
    {name}_outside = Constant <value_ints = [0, 3]> ()
    {name}_corner = Gather <axis = 0> (shape, {name}_outside)
    {name}_nothing = ConstantOfShape ({name}_corner)
    {each(f"{name}_last_@")}, {each(f"{name}_start_@")} = Scan <{tokens}, {outputs},
        scan_input_axes = {[1] * inputs}, scan_output_axes = {[1] * len(ways)},
        body = {name}_carry ({each("float[B, c] x@")}, {each("float[B, c] a@, float[B, c] b@")}) =>
            ({each("float[B, c] y@")}, {each("float[B, c] o@")}) {{
            {each(step + " o@ = Identity (x@)", " ")}
        }}
    > ({each(f"{name}_nothing")}, {each(f"{name}_decay, {name}_end_@")})

    {each(f"{name}_left_@")}, {each(f"{name}_@")} = Scan <{tokens}, {outputs},
        body = {name}_states ({each(state)}, {each(given)}) => ({each(left)}, {each(kept)}) {{
            {each(step, " ")}
        }}
    > ({each(f"{name}_start_@")}, {each(f"{name}_a, {name}_b")})
    {name}_sum = Sum ({each(f"{name}_@")})
    {name} = Transpose <perm = [{"1, 2, 0" if axis == 2 else "1, 0, 2"}, 3]> ({name}_sum)
"""


def jobs(c3: int, c4: int) -> str:
    """Return the `If` of the two jobs, whose branches hold only the empty outputs of the other job so far.

    c3, c4: the channels of F_3 and F_4.
    """
    cells_3, cells_4 = f"{c3}, rows_16, columns_16", f"{c4}, rows_32, columns_32"
    return f"""
<ir_version: {IR}, opset_import: ["": {OPSET}]>
jobs (float[windows, {cells_3}] context_3, float[windows, {cells_4}] context_4) => (
    float[batch, height, width] probability,
    float[explained, 4, rows_4, columns_4] maps,
    float[batch, {cells_3}] features_3,
    float[batch, {cells_4}] features_4
) {{
    job_given = Size (context_3)
    job_nothing = Constant <value_int = 0> ()
    job_is_windows = Greater (job_given, job_nothing)
    probability, maps, features_3, features_4 = If (job_is_windows) <
        then_branch = windows () => (
            float[batch, height, width] job_probability, float[explained, 4, rows_4, columns_4] job_maps,
            float[n, {c3}, h, w] no_3, float[n, {c4}, h, w] no_4
        ) {{
            shape_3 = Constant <value_ints = [0, {c3}, 0, 0]> ()
            shape_4 = Constant <value_ints = [0, {c4}, 0, 0]> ()
            no_3 = ConstantOfShape (shape_3)
            no_4 = ConstantOfShape (shape_4)
        }},
        else_branch = page () => (
            float[n, h, w] no_probability, float[n, 4, h, w] no_maps,
            float[batch, {cells_3}] job_features_3, float[batch, {cells_4}] job_features_4
        ) {{
            no_pixels = Constant <value_ints = [0, 0, 0]> ()
            no_probability = ConstantOfShape (no_pixels)
            no_cells = Constant <value_ints = [0, 4, 0, 0]> ()
            no_maps = ConstantOfShape (no_cells)
        }}
    >
}}
"""


def split_by_job(graph: Any, choice: Any) -> None:
    """Move the nodes that only one job needs to its branch of the parsed `jobs`, and append that to the graph.

    Both are ONNX graphs. Their nodes are in an order in which they can run, and keep that order.
    """
    branches = {attribute.name: attribute.g for attribute in choice.node[-1].attribute}
    windows, page = branches["then_branch"], branches["else_branch"]
    for_windows = _needed(graph, {"probability", "maps"})
    for_page = _needed(graph, {"features_3", "features_4"})
    nodes, weights = list(graph.node), list(graph.initializer)
    used = {"": _read(nodes[i] for i in for_windows & for_page)}
    for branch, own in ((windows, for_windows - for_page), (page, for_page - for_windows)):
        made = [nodes[i] for i in sorted(own)]
        for node in made:
            for place, name in enumerate(node.output):
                if name in JOB_OUTPUTS:  # The outputs of the `If` have these names.
                    node.output[place] = f"job_{name}"
        branch.node.extend(made)
        used[branch.name] = _read(made)
    for branch in (windows, page):
        other = set().union(*(names for where, names in used.items() if where != branch.name))
        branch.initializer.extend(one for one in weights if one.name in used[branch.name] - other)
    moved = {one.name for branch in (windows, page) for one in branch.initializer}
    kept_nodes = [nodes[i] for i in sorted(for_windows & for_page)]
    kept_weights = [one for one in weights if one.name not in moved]
    for field in ("node", "initializer", "output"):
        graph.ClearField(field)
    graph.node.extend([*kept_nodes, *choice.node])
    graph.initializer.extend(kept_weights)
    graph.output.extend(choice.output)
    declared = {one.name: one for one in choice.input}
    for one in graph.input:
        if one.name in declared:
            one.CopyFrom(declared[one.name])


def _needed(graph: Any, names: set[str]) -> set[int]:
    """Return the indices of the nodes from which these values are computed."""
    wanted, found = set(names), set()
    for place, node in reversed(list(enumerate(graph.node))):
        if not wanted.isdisjoint(node.output):
            found.add(place)
            wanted |= _read([node])
    return found


def _read(nodes: Iterable[Any]) -> set[str]:
    """Return the names that nodes read, including those in their subgraphs."""
    names: set[str] = set()
    for node in nodes:
        names |= set(node.input)
        for attribute in node.attribute:
            names |= _read(attribute.g.node)
    return names

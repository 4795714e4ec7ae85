"""The parts of an exported model that are written by hand, in ONNX's own text form; standard operators only.

The scan of Eqs. (9), (10) and (12) is chunked, and a chunk is one row of the map (or one column): all rows advance
side by side, one token a step, in an ONNX `Scan`. First only to know the state each row would leave behind; a second,
short `Scan` carries these from row to row; a third starts every row from the state that reaches it, and keeps what it
passes. Only products of decays in (0, 1] occur, so nothing overflows, and map and batch may have any size.

Two things make it fast: the axis that is walked along stands first in memory, where a step is a slice and no copy; and
what is kept of a step is a_t h_{t-1}, which is at hand, not h_t, which would have to be copied; b_t is added last.
"""

from __future__ import annotations

from drmamba.config import Directions

OPSET, IR = 18, 9  # of the operators, and of the file
DOMAIN = "drmamba"  # of the functions below, which are inlined before a model is written

BEFORE = f"""
<ir_version: {IR}, opset_import: ["": {OPSET}]>
before (uint8[batch, height, width, 3] page) => (float[batch, 3, rows, columns] image, int64[2] size) {{
    shape = Shape (page)
    one = Constant <value_ints = [1]> ()
    three = Constant <value_ints = [3]> ()
    size = Slice (shape, one, three)
    step = Constant <value_int = 32> ()
    negative = Neg (size)
    missing = Mod (negative, step)
    none = Constant <value_ints = [0, 0, 0, 0, 0, 0]> ()
    pads = Concat <axis = 0> (none, missing)
    levels = Cast <to = 1> (page)
    most = Constant <value_float = 255.0> ()
    colours = Div (levels, most)
    planes = Transpose <perm = [0, 3, 1, 2]> (colours)
    image = Pad <mode = "edge"> (planes, pads)
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


# ONNX Runtime computes its own Softplus one number after the other; these operators are vectorized.
SOFTPLUS = f"""
<domain: "{DOMAIN}", opset_import: ["": {OPSET}]>
Softplus (x) => (y) {{
    size = Abs (x)
    below = Neg (size)
    small = Exp (below)
    one = Constant <value_float = 1.0> ()
    sum = Add (one, small)
    rest = Log (sum)
    above = Relu (x)
    y = Add (above, rest)
}}
"""


def scan_function(directions: Directions) -> str:
    """`Scans`: logarithms of decays and gated inputs, both (B, h, w, c), to the sum of the scans.

    1: rows from left to right. 4: rows and columns, each way.
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
    """The sum of a_t h_{t-1} over a scan along an axis of the map, and one against it if asked."""
    ways = ("f", "r")[: 1 + both_ways]  # forwards, in reverse

    def each(template: str, separator: str = ", ") -> str:
        return separator.join(template.replace("@", way) for way in ways)

    inputs = 2 * len(ways)
    turns = [int(way == "r") for way in ways]
    turned = [turn for turn in turns for _ in "ab"]
    other = 3 - axis  # rows are chunks of a walk along columns' axis, and the other way round
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

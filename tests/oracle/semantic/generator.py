"""Random graphs of one to twelve nodes."""

import random

from semantic import control, elementwise, movement, neural, seeds, shape_arithmetic
from semantic.draft import Draft
from semantic.oracle import Rejected

# The newest opset of which ONNX Runtime has kernels for most operators, and old ones that files still have.
OPSETS = (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25)
BUILDERS = (
    elementwise.BUILDERS
    | shape_arithmetic.BUILDERS
    | movement.BUILDERS
    | neural.BUILDERS
    | control.BUILDERS
    | seeds.BUILDERS
)
NAMES, WEIGHTS = list(BUILDERS), list(BUILDERS.values())


def generate(seed, number, oracle, refused):
    """Graph `number` of `seed`; `refused(model)` hears of every node that the oracle turns down."""
    rng = random.Random(f"{seed}/{number}")
    draft = Draft(rng, rng.choice(OPSETS), oracle)
    wanted = rng.randint(1, 12)
    for _ in range(3 * wanted):
        if len(draft.nodes) >= wanted:
            break
        builder = rng.choices(NAMES, WEIGHTS)[0]
        try:
            builder(draft)
        except Rejected:
            if draft.rejected is not None:
                refused(draft.rejected)
                draft.rejected = None
        except (ValueError, IndexError):
            pass  # the builder found nothing that fits
    return draft

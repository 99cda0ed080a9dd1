"""A clip right between a backward and a step is a clip of what that step consumes, whatever its parameters are called.

scaler.scale(loss).backward()
clip_grad_norm_(D.parameters(), 1.0)     # D and optimizer_d were handed in: nothing else joins them
scaler.step(optimizer_d)
"""

from zerograd.core.events import Kind
from zerograd.source.lowering.skeleton import Act, Block, Node


def adjoined(nodes: list[Node]) -> Block:
    """The same statements, with such clips at the slot of the step behind them."""
    for place in range(1, len(nodes) - 1):
        clip = nodes[place]
        if isinstance(clip, Act) and clip.kind is Kind.CLIP and clip.slot is None:
            before, behind = nodes[place - 1], nodes[place + 1]
            if isinstance(before, Act) and isinstance(behind, Act) and before.kind is Kind.DEPOSIT:
                nodes[place] = clip._replace(slot=behind.slot) if behind.kind is Kind.CONSUME else clip
    return tuple(nodes)

"""A clip is for whoever steps next on what it clips; by hand, in a hook or in a loop over parameters it is the same."""

from source.execute.reading import certain

NETS = """\
import copy

import torch
from torch import nn
"""
TWO = """
def train(G, D, loader, for_g, for_d, scaler):
    for x in loader:
        for_d.zero_grad()
        scaler.scale(D(G(x).detach()).mean()).backward()
        scaler.unscale_(for_d)
        nn.utils.clip_grad_norm_(D.parameters(), 1.0)
        scaler.step(for_d)
        for_g.zero_grad()
        scaler.scale(D(G(x)).mean()).backward()
        scaler.unscale_(for_g)
        nn.utils.clip_grad_norm_(G.parameters(), 1.0)
        scaler.step(for_g)
        scaler.update()
"""
PLAIN = """
def train(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        for p in model.parameters():
            {clip}
        optimizer.step()
"""


def test_a_clip_is_for_who_steps_next() -> None:
    assert certain(TWO, made=NETS) == []
    assert certain(TWO.replace("        scaler.unscale_(for_d)\n", ""), made=NETS) == ["ZG201"]
    other = TWO.replace("scaler.unscale_(for_g)", "scaler.unscale_(for_d)")
    assert certain(other, made=NETS) == ["ZG201"]


def test_whoever_holds_it_it_was_stepped_on() -> None:
    body = """
def train(one, other, loader, first, second):
    for x in loader:
        first.zero_grad()
        second.zero_grad()
        other(one(x)).mean().backward()
        first.step()
        second.step()
        nn.utils.clip_grad_norm_(one.parameters(), 1.0)
"""
    assert certain(body, made=NETS) == ["ZG302"]
    between = body.replace("        second.step()\n", "") + "        second.step()\n"
    assert certain(between, made=NETS) == []


def test_a_clip_in_a_loop_over_parameters() -> None:
    assert certain(PLAIN.format(clip="nn.utils.clip_grad_norm_(p, 1.0)"), made=NETS) == []
    late = """
def train(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
        for p in model.parameters():
            p.grad.clamp_(-1, 1)
"""
    assert certain(late, made=NETS) == ["ZG302"]


def test_what_was_clipped_into_a_copy_is_clipped_once_it_is_put_back() -> None:
    for clip in ("p.grad.clamp(-1, 1)", "torch.clamp(p.grad, -1, 1)", "p.grad.data.clip(-1, 1)"):
        assert certain(PLAIN.format(clip=clip), made=NETS) == ["ZG302"]
        for taken in (f"p.grad = {clip}", f"p.grad.data = {clip}", f"p.grad.copy_({clip})", f"print({clip})"):
            assert certain(PLAIN.format(clip=taken), made=NETS) == []


def test_a_hook_clips_what_comes_in() -> None:
    body = """
def train(model, probe, loader, optimizer, scaler):
    for p in model.parameters():
        p.register_hook(lambda grad: grad.clamp(-1, 1))
    for x in loader:
        optimizer.zero_grad()
        scaler.scale(model(x).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
"""
    assert certain(body, made=NETS) == ["ZG201"]
    assert certain(body.replace("in model.param", "in probe.param"), made=NETS) == []
    assert certain(body.replace("grad.clamp(-1, 1)", "grad * 2"), made=NETS) == []


def test_a_setting_that_is_refused_where_settings_are_read() -> None:
    train = """
def train(model, loader, optimizer, args):
    for i, x in enumerate(loader):
        (model(x).mean() / args.accum).backward()
        if args.limit:
            nn.utils.clip_grad_norm_(model.parameters(), args.limit)
        if (i + 1) % args.accum == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
"""
    read = """
def read(parser):
    args = parser.parse_args()
    if args.limit and args.accum > 1:
        raise ValueError("one or the other")
    return args
"""
    assert certain(train, made=NETS) == ["ZG302"]
    assert certain(train + read, made=NETS) == []


UNSEEN = """
class Weighting:
    def __init__(self, limit):
        self.limit = limit

    def backward(self, losses, shared):
        loss = losses.mean()
        {first}
        if self.limit > 0:
            nn.utils.clip_grad_norm_(shared, self.limit)
        {last}
        return loss
"""


def test_a_clip_before_the_backward_of_a_function_is_for_nobody_whoever_steps() -> None:
    assert certain(UNSEEN.format(first="pass", last="loss.backward()")) == ["ZG302"]
    assert certain(UNSEEN.format(first="loss.backward()", last="pass")) == []
    assert certain(UNSEEN.format(first="pass", last="pass")) == []


def test_who_is_out_of_sight_may_step_behind_every_clip() -> None:
    body = """
def train(network, shared, work):
    for x in work:
        F.mse_loss(network(x), x).backward()
        nn.utils.clip_grad_norm_(shared, 1.0)
"""
    assert certain(body, made="from torch import nn\nfrom torch.nn import functional as F\n") == []

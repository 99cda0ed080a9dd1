"""Part a: correct accumulation, mixed precision, clipping and other surgery on gradients."""
from harness import *
import copy, itertools, math
from torch import nn
import torch.nn.functional as F

def net(): return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
def data(n=40, b=6): return [(torch.randn(b, 4), torch.randn(b, 1)) for _ in range(n)]
def sc(s=2.**8, **k): return torch.amp.GradScaler("cpu", init_scale=s, **k)

@correct
def accumulate_with_tail_right_divisor():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); N = 4
    for e in range(3):
        d = data(14)
        for i, (x, y) in enumerate(d):
            n = N if i < 12 else 2
            (F.mse_loss(m(x), y) / n).backward()
            if (i + 1) % N == 0 or i + 1 == len(d): o.step(); o.zero_grad()
    return m

@correct
def accumulate_chunks():
    m = net(); o = torch.optim.Adam(m.parameters()); d = data(22)
    for c in (d[i:i + 5] for i in range(0, 22, 5)):
        o.zero_grad()
        for x, y in c: (F.mse_loss(m(x), y) / len(c)).backward()
        o.step()
    return m

@correct
def accumulate_first_group_smaller_on_purpose():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); d = data(31); micro_step = 0
    groups = [d[:3]] + [d[3 + 4 * k:7 + 4 * k] for k in range(7)]
    for accum_group in groups:
        for x, y in accum_group:
            micro_step += 1
            (F.mse_loss(m(x), y) / len(accum_group)).backward()
        o.step(); o.zero_grad()
    return m

@correct
def accumulate_counter_from_one():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 3
    for i, (x, y) in enumerate(data(30), 1):
        (F.mse_loss(m(x), y) / accumulation_steps).backward()
        if i % accumulation_steps == 0: o.step(); o.zero_grad()
    return m

@correct
def accumulate_guard_minus_one():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accum = 3
    for step in range(30):
        (F.mse_loss(m(torch.ones(2, 4) * step / 30), torch.ones(2, 1)) / accum).backward()
        if step % accum == accum - 1: o.step(); o.zero_grad()
    return m

@correct
def accumulate_clear_at_window_start():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accum = 3
    for i, (x, y) in enumerate(data(32)):
        if i % accum == 0: o.zero_grad()
        (F.mse_loss(m(x), y) / accum).backward()
        if i % accum == accum - 1: o.step()
    return m

@correct
def accumulate_growing_window():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for e, accum in enumerate((1, 2, 4, 8)):
        for i, (x, y) in enumerate(data(16)):
            (F.mse_loss(m(x), y) / accum).backward()
            if (i + 1) % accum == 0: o.step(); o.zero_grad()
    return m

@correct
def accumulate_resumed_in_mid_window_counter():
    # resumed at micro-batch 6 of the run: gradients of 5 and 6 were saved with the checkpoint, as the step comes at 7
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accum = 4; d = data(40)
    saved = None
    for part in (range(0, 6), range(6, 40)):
        if saved: 
            m = net(); m.load_state_dict(saved[0]); o = torch.optim.SGD(m.parameters(), .1)
            for p, g in zip(m.parameters(), saved[1]): p.grad = g.clone()
        for i in part:
            (F.mse_loss(m(d[i][0]), d[i][1]) / accum).backward()
            if (i + 1) % accum == 0: o.step(); o.zero_grad()
        saved = (copy.deepcopy(m.state_dict()), [p.grad.clone() for p in m.parameters()]) if part.start == 0 else None
    return m

@correct
def accumulate_token_budget():
    m = net(); o = torch.optim.SGD(m.parameters(), .01); tok = 0; budget = 20
    for i in range(40):
        n = 2 + (i * 5) % 7; x, y = torch.randn(n, 4), torch.randn(n, 1)
        F.mse_loss(m(x), y, reduction="sum").backward(); tok += n
        if tok >= budget:
            for p in m.parameters(): p.grad /= tok
            o.step(); o.zero_grad(); tok = 0
    return m

@correct
def accumulate_weighted_uneven_means():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for _ in range(10):
        c = [(torch.randn(n, 4), torch.randn(n, 1)) for n in (3, 6, 2)]; tot = sum(len(x) for x, _ in c)
        o.zero_grad()
        for x, y in c: (F.mse_loss(m(x), y) * len(x) / tot).backward()
        o.step()
    return m

@correct
def accumulate_same_body_uneven_weighted():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accum_steps = 2; sizes = [3, 6] * 12
    for i, n in enumerate(sizes):
        x, y = torch.randn(n, 4), torch.randn(n, 1)
        loss = F.mse_loss(m(x), y) * n / 9
        loss.backward()
        if (i + 1) % accum_steps == 0: o.step(); o.zero_grad()
    return m

@correct
def accumulate_divided_by_gradient_argument():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4
    for i, (x, y) in enumerate(data(40)):
        loss = F.mse_loss(m(x), y)
        loss.backward(torch.tensor(1 / accumulation_steps))
        if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
    return m

@correct
def accumulate_divided_by_autograd_backward():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4
    for i, (x, y) in enumerate(data(40)):
        torch.autograd.backward([F.mse_loss(m(x), y)], [torch.tensor(.25)])
        if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
    return m

@correct
def accumulate_divided_by_leaf_hooks():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4
    hs = [p.register_hook(lambda g: g / 4) for p in m.parameters()]
    for i, (x, y) in enumerate(data(40)):
        F.mse_loss(m(x), y).backward()
        if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
    [h.remove() for h in hs]
    return m

@correct
def accumulate_divided_by_step_pre_hook():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4
    def divide(opt, a, k): torch._foreach_div_([p.grad for p in m.parameters()], 4.)
    o.register_step_pre_hook(divide)
    for i, (x, y) in enumerate(data(40)):
        F.mse_loss(m(x), y).backward()
        if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
    return m

@correct
def accumulate_divided_at_step_foreach():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4
    for i, (x, y) in enumerate(data(40)):
        F.mse_loss(m(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            torch._foreach_mul_([p.grad for p in m.parameters()], .25); o.step(); o.zero_grad()
    return m

@correct
def accumulate_divided_in_hidden_mean():
    # the loss function divides: a mean over the whole group of 4 micro-batches of 6
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4
    def crit(a, b): return ((a - b) ** 2).sum() / (6 * accumulation_steps)
    for i, (x, y) in enumerate(data(40)):
        crit(m(x), y).backward()
        if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
    return m

@correct
def accumulate_division_inside_model():
    class D(nn.Module):
        def __init__(s): super().__init__(); s.n = net()
        def forward(s, x): return s.n(x)
    m = D(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4
    for i, (x, y) in enumerate(data(40)):
        z = (m(x) - y) * .5                       # (1/2)^2 = 1/4 inside the square
        z.square().mean().backward()
        if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
    return m

@correct
def accumulate_sample_weights_normalised_over_group():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4; d = data(40); ws = torch.rand(40, 6, 1)
    for i, (x, y) in enumerate(d):
        g = ws[i // 4 * 4:i // 4 * 4 + 4]                     # weights of the whole group: the weighted mean over its 24 items
        w = ws[i] / g.sum() * 6
        loss = (w * (m(x) - y) ** 2).mean()                   # mean over 6 of 6 w se / W: adds up to sum(w se) / W over the group
        loss.backward()
        if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
    return m

@correct
def accumulate_advantage_divided_before_mean():
    m = nn.Linear(4, 3); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4
    for i, (x, y) in enumerate(data(40)):
        logp = F.log_softmax(m(x), 1)[:, 0]; advantage = y[:, 0] / accumulation_steps
        loss = -(logp * advantage).mean()
        loss.backward()
        if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
    return m

@correct
def accumulate_class_weights_divided_once():
    m = nn.Linear(4, 1); o = torch.optim.SGD(m.parameters(), .1); accum = 2
    crit = nn.BCEWithLogitsLoss(weight=torch.full((6, 1), 1 / accum))
    for i, (x, y) in enumerate(data(40)):
        loss = crit(m(x), y.sigmoid())
        loss.backward()
        if (i + 1) % accum == 0: o.step(); o.zero_grad()
    return m

@correct
def running_mean_of_gradients():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for _ in range(10):
        for k, (x, y) in enumerate(data(4)):
            if k:
                for p in m.parameters(): p.grad.mul_(k / (k + 1))   # running mean: exact for any k
            (F.mse_loss(m(x), y) / (k + 1)).backward()
        o.step(); o.zero_grad()
    return m

@correct
def loss_divided_by_tasks_not_accumulation():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); num_steps = 3
    for x, y in data(40):
        h, loss = x, 0.
        for _ in range(num_steps): loss = loss + F.mse_loss(m(h), y); h = h * .9
        loss = loss / num_steps
        o.zero_grad(); loss.backward(); o.step()
    return m

@correct
def accumulation_of_one():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 1
    for i, (x, y) in enumerate(data(40)):
        loss = F.mse_loss(m(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
    return m

@correct
def two_views_summed_same_body():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(40):
        o.zero_grad()
        F.mse_loss(m(x), y).backward()
        F.mse_loss(m(x + .1 * torch.randn_like(x)), y).backward()
        o.step()
    return m

@correct
def helper_backward_called_for_each_task():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    def push(x, y, w): (w * F.mse_loss(m(x), y)).backward()
    for x, y in data(40):
        o.zero_grad(); push(x, y, 1.); push(-x, y, 1.); push(x.flip(0), y, 1.); o.step()
    return m

@correct
def loop_over_tasks_sum_is_meant():
    m = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)]); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(40):
        o.zero_grad()
        for t in (1, 2): F.mse_loss(m[t](m[0](x)), y * t).backward()
        o.step()
    return m

@correct
def amp_plain_with_clip_and_overflow():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); s = sc(2.**20); sch = torch.optim.lr_scheduler.StepLR(o, 10)
    for i, (x, y) in enumerate(data(40)):
        o.zero_grad(); l = F.mse_loss(m(x), y)
        if i in (0, 1, 7): l = l * 1e38
        s.scale(l).backward(); s.unscale_(o); nn.utils.clip_grad_norm_(m.parameters(), 1.)
        old = s.get_scale(); s.step(o); s.update()
        if s.get_scale() >= old: sch.step()
    return m

@correct
def amp_accumulate_tail():
    m = net(); o = torch.optim.AdamW(m.parameters()); s = sc(growth_interval=3)
    d = data(26)
    for i, (x, y) in enumerate(d):
        with torch.autocast("cpu", dtype=torch.bfloat16): l = F.mse_loss(m(x), y) / (4 if i < 24 else 2)
        s.scale(l).backward()
        if (i + 1) % 4 == 0 or i + 1 == len(d):
            s.unscale_(o); nn.utils.clip_grad_value_(m.parameters(), .5); s.step(o); s.update(); o.zero_grad(set_to_none=True)
    return m

@correct
def amp_disabled_clip_without_unscale():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); s = sc(enabled=False)
    for x, y in data(40):
        o.zero_grad(); s.scale(F.mse_loss(m(x), y)).backward(); nn.utils.clip_grad_norm_(m.parameters(), 1.); s.step(o); s.update()
    return m

@correct
def amp_two_optimizers_one_scaler():
    a, b = nn.Linear(4, 4), nn.Linear(4, 1); oa, ob = torch.optim.SGD(a.parameters(), .1), torch.optim.Adam(b.parameters()); s = sc()
    for x, y in data(40):
        oa.zero_grad(); ob.zero_grad(); s.scale(F.mse_loss(b(a(x)), y)).backward()
        s.unscale_(oa); nn.utils.clip_grad_norm_(a.parameters(), 1.); s.step(oa); s.step(ob); s.update()
    return a, b

@correct
def amp_beside_plain_optimizer():
    a, b = net(), net(); oa, ob = torch.optim.SGD(a.parameters(), .1), torch.optim.SGD(b.parameters(), .1); s = sc()
    for x, y in data(40):
        oa.zero_grad(); s.scale(F.mse_loss(a(x), y)).backward(); s.step(oa); s.update()
        ob.zero_grad(); F.mse_loss(b(x), a(x).detach()).backward(); nn.utils.clip_grad_norm_(b.parameters(), 1.); ob.step()
    return a, b

@correct
def amp_gan_two_scalers():
    G, D = nn.Linear(2, 4), nn.Linear(4, 1); og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters()); sg, sd = sc(), sc(2.**6)
    for x, _ in data(40):
        od.zero_grad(); sd.scale(F.softplus(-D(x)).mean()).backward(); sd.scale(F.softplus(D(G(torch.randn(6, 2)).detach())).mean()).backward(); sd.step(od); sd.update()
        og.zero_grad(); sg.scale(F.softplus(-D(G(torch.randn(6, 2)))).mean()).backward(); sg.step(og); sg.update()
    return G, D

@correct
def amp_penalty_from_torch_docs():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); s = sc()
    for x, y in data(30):
        o.zero_grad(); l = F.mse_loss(m(x), y)
        gs = torch.autograd.grad(s.scale(l), m.parameters(), create_graph=True)
        inv = 1. / s.get_scale(); n = sum((g * inv).pow(2).sum() for g in gs).sqrt()
        s.scale(l + .1 * n).backward(); s.unscale_(o); nn.utils.clip_grad_norm_(m.parameters(), 1.); s.step(o); s.update()
    return m

@correct
def amp_unscale_then_own_check():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); s = sc()
    for x, y in data(30):
        o.zero_grad(); s.scale(F.mse_loss(m(x), y)).backward(); s.unscale_(o)
        if all(p.grad.isfinite().all() for p in m.parameters()): o.step()
        s.update()
    return m

@correct
def manual_loss_scale():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); S = 1024.
    for x, y in data(40):
        o.zero_grad(); (F.mse_loss(m(x), y) * S).backward()
        for p in m.parameters(): p.grad.div_(S)
        nn.utils.clip_grad_norm_(m.parameters(), 1.); o.step()
    return m

@correct
def master_weights_copied_gradients():
    m = net().bfloat16(); master = [p.detach().float().requires_grad_() for p in m.parameters()]; o = torch.optim.SGD(master, .1); S = 128.
    for x, y in data(40):
        m.zero_grad(); (F.mse_loss(m(x.bfloat16()).float(), y) * S).backward()
        for w, p in zip(master, m.parameters()): w.grad = p.grad.float() / S
        nn.utils.clip_grad_norm_(master, 1.); o.step()
        with torch.no_grad():
            for w, p in zip(master, m.parameters()): p.copy_(w)
    return m

@correct
def clip_per_layer_and_value_then_norm():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(40):
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        nn.utils.clip_grad_value_(m.parameters(), .3)
        for l in (m[0], m[2]): nn.utils.clip_grad_norm_(l.parameters(), .5)
        o.step()
    return m

@correct
def clip_by_hand_and_measured():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); log = []
    for x, y in data(40):
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        n = torch.sqrt(sum(p.grad.pow(2).sum() for p in m.parameters()))
        for p in m.parameters(): p.grad.mul_(min(1., .5 / (n.item() + 1e-6)))
        o.step(); log.append(nn.utils.clip_grad_norm_(m.parameters(), float("inf")))
    return m

@correct
def clip_with_total_norm_functions():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(40):
        o.zero_grad(); F.mse_loss(m(x), y).backward(); ps = list(m.parameters())
        n = nn.utils.get_total_norm([p.grad for p in ps]); nn.utils.clip_grads_with_norm_(ps, .5, n); o.step()
    return m

@correct
def adaptive_clip_agc():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(40):
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        for p in m.parameters(): p.grad.clamp_(-.1 * p.detach().norm().item(), .1 * p.detach().norm().item())
        o.step()
    return m

@correct
def noise_centralise_and_decay_in_grad():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(40):
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        for p in m.parameters():
            if p.dim() > 1: p.grad.sub_(p.grad.mean(1, keepdim=True))
            p.grad.add_(p.detach(), alpha=1e-3).add_(torch.randn_like(p) * .01)
        o.step()
    return m

@correct
def dp_sgd_per_sample_clip():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(12):
        acc = [torch.zeros_like(p) for p in m.parameters()]
        for a, b in zip(x, y):
            o.zero_grad(); F.mse_loss(m(a), b).backward(); nn.utils.clip_grad_norm_(m.parameters(), 1.)
            for t, p in zip(acc, m.parameters()): t += p.grad
        for t, p in zip(acc, m.parameters()): p.grad = (t + torch.randn_like(t) * .1) / 6
        o.step()
    return m

@correct
def dp_sgd_by_vmap():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); ps = dict(m.named_parameters())
    def loss(p, a, b): return F.mse_loss(torch.func.functional_call(m, p, a), b)
    for x, y in data(20):
        g = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))({k: v.detach() for k, v in ps.items()}, x, y)
        for k, v in ps.items(): v.grad = g[k].clamp(-1, 1).mean(0)
        o.step()
    return m

@correct
def pcgrad():
    m = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)]); o = torch.optim.Adam(m.parameters())
    for x, y in data(20):
        gs = []
        for t in (1, 2):
            o.zero_grad(set_to_none=False); F.mse_loss(m[t](m[0](x)), y * t).backward()
            gs.append(torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in m.parameters()]))
        g1, g2 = gs; d = g1 @ g2
        if d < 0: g1, g2 = g1 - d / (g2 @ g2) * g2, g2 - d / (g1 @ g1) * g1
        i = 0
        for p in m.parameters(): p.grad = (g1 + g2)[i:i + p.numel()].view_as(p).clone(); i += p.numel()
        o.step()
    return m

@correct
def gem_projection_in_place():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); mem = data(1)[0]
    for x, y in data(20):
        o.zero_grad(); F.mse_loss(m(mem[0]), mem[1]).backward(); ref = [p.grad.clone() for p in m.parameters()]
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        dot = sum((a * p.grad).sum() for a, p in zip(ref, m.parameters()))
        if dot < 0:
            nn2 = sum((a * a).sum() for a in ref)
            for a, p in zip(ref, m.parameters()): p.grad.sub_(a, alpha=(dot / nn2).item())
        o.step()
    return m

@correct
def gradient_cache_contrastive():
    m = nn.Linear(4, 3); o = torch.optim.SGD(m.parameters(), .1)
    for _ in range(15):
        xs = [torch.randn(3, 4) for _ in range(4)]
        with torch.no_grad(): r = torch.cat([m(x) for x in xs])
        r.requires_grad_(); F.cross_entropy(r @ r.T, torch.arange(12)).backward(); o.zero_grad()
        for x, g in zip(xs, r.grad.split(3)): m(x).backward(g)
        o.step()
    return m

@correct
def autograd_grad_assigned():
    m = net(); o = torch.optim.Adam(m.parameters())
    for x, y in data(40):
        for p, g in zip(m.parameters(), torch.autograd.grad(F.mse_loss(m(x), y), m.parameters())): p.grad = g
        o.step()
    return m

@correct
def autograd_grad_accumulated_by_hand():
    m = net(); o = torch.optim.Adam(m.parameters()); ps = list(m.parameters())
    for _ in range(12):
        o.zero_grad()
        for x, y in data(3):
            for p, g in zip(ps, torch.autograd.grad(F.mse_loss(m(x), y) / 3, ps)): p.grad = g if p.grad is None else p.grad + g
        o.step()
    return m

@correct
def evolution_strategy_no_backward():
    m = net().requires_grad_(True); o = torch.optim.Adam(m.parameters()); x, y = data(1)[0]
    for _ in range(30):
        with torch.no_grad():
            es = [torch.randn_like(p) for p in m.parameters()]
            def at(s):
                for p, e in zip(m.parameters(), es): p.add_(e, alpha=s)
                l = F.mse_loss(m(x), y)
                for p, e in zip(m.parameters(), es): p.sub_(e, alpha=s)
                return l
            d = (at(.1) - at(-.1)) / .2
        for p, e in zip(m.parameters(), es): p.grad = d * e
        o.step()
    return m

@correct
def federated_server_step():
    s = net(); o = torch.optim.Adam(s.parameters(), .01)
    for r in range(8):
        deltas = []
        for c in range(3):
            w = copy.deepcopy(s); oc = torch.optim.SGD(w.parameters(), .1)
            for x, y in data(4): oc.zero_grad(); F.mse_loss(w(x), y).backward(); oc.step()
            deltas.append([a.detach() - b.detach() for a, b in zip(s.parameters(), w.parameters())])
        o.zero_grad()
        for p, *d in zip(s.parameters(), *deltas): p.grad = torch.stack(d).mean(0)
        o.step()
    return s

@correct
def gradient_buffer_kept_flat():
    m = net(); ps = list(m.parameters()); flat = torch.zeros(sum(p.numel() for p in ps)); i = 0
    for p in ps: p.grad = flat[i:i + p.numel()].view_as(p); i += p.numel()
    o = torch.optim.SGD(ps, .1)
    for x, y in data(40):
        flat.zero_(); F.mse_loss(m(x), y).backward(); flat.clamp_(-.5, .5); o.step()
    return m

@correct
def error_feedback_topk():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); res = [torch.zeros_like(p) for p in m.parameters()]
    for x, y in data(40):
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        for p, r in zip(m.parameters(), res):
            r += p.grad; k = r.abs() >= r.abs().median(); p.grad.copy_(r * k); r.mul_(~k)
        o.step()
    return m

@correct
def large_batch_gradient_variance_probe():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); log = []
    for x, y in data(40):
        F.mse_loss(m(x[:3]), y[:3]).backward(); log.append(nn.utils.clip_grad_norm_(m.parameters(), math.inf)); o.zero_grad()
        F.mse_loss(m(x), y).backward(); o.step(); o.zero_grad()
    return m

@correct
def gradcam_hook_probe_then_train():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); cams = []
    for x, y in data(40):
        h = m[1](m[0](x)); h.register_hook(lambda g: cams.append(g.norm().item())); m[2](h).sum().backward()
        o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step(); o.zero_grad()
    return m

@correct
def profiling_backward_discarded_before_each_step():
    import time
    m = net(); o = torch.optim.SGD(m.parameters(), .1); times = []
    for i, (x, y) in enumerate(data(12)):
        if i < 3:                                  # warm-up for a timer
            t = time.perf_counter(); F.mse_loss(m(x), y).backward(); times.append(time.perf_counter() - t); o.zero_grad()
        o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

main()

"""Part a: correct loops in plain styles, every way to clear, guards, schedulers, groups, freezing."""
from harness import *
import copy, itertools, functools
from torch import nn
import torch.nn.functional as F

def net(): return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
def data(n=40, b=6): return [(torch.randn(b, 4), torch.randn(b, 1)) for _ in range(n)]

@correct
def clear_by_none_by_hand():
    m = net(); o = torch.optim.SGD(m.parameters(), 0.1)
    for x, y in data():
        for p in m.parameters():
            p.grad = None
        F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def clear_by_data_zero():
    m = net(); o = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)
    for x, y in data():
        F.mse_loss(m(x), y).backward()
        o.step()
        for p in m.parameters():
            p.grad.data.zero_()
    return m

@correct
def clear_by_foreach_zero():
    m = net(); o = torch.optim.Adam(m.parameters())
    for x, y in data():
        F.mse_loss(m(x), y).backward(); o.step()
        torch._foreach_zero_([p.grad for p in m.parameters()])
    return m

@correct
def clear_by_mul_zero():
    m = net(); o = torch.optim.Adam(m.parameters())
    for x, y in data():
        F.mse_loss(m(x), y).backward(); o.step()
        for p in m.parameters(): p.grad *= 0
    return m

@correct
def clear_by_numpy_fill():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data():
        F.mse_loss(m(x), y).backward(); o.step()
        for p in m.parameters(): p.grad.numpy().fill(0)
    return m

@correct
def clear_by_fresh_zeros():
    m = net(); o = torch.optim.RMSprop(m.parameters())
    for x, y in data():
        for p in m.parameters(): p.grad = torch.zeros_like(p)
        F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def clear_by_sub_self():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data():
        F.mse_loss(m(x), y).backward(); o.step()
        for p in m.parameters(): p.grad.sub_(p.grad.clone())
    return m

@correct
def clear_by_copy_and_detach():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data():
        F.mse_loss(m(x), y).backward(); o.step()
        for p in m.parameters():
            p.grad.detach_(); p.grad.copy_(torch.zeros_like(p))
    return m

@correct
def clear_by_del():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data():
        F.mse_loss(m(x), y).backward(); o.step()
        for p in m.parameters(): del p.grad
    return m

@correct
def clear_in_step_post_hook():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    h = o.register_step_post_hook(lambda opt, a, k: opt.zero_grad())
    for x, y in data():
        F.mse_loss(m(x), y).backward(); o.step()
    h.remove()
    return m

@correct
def clear_in_forward_pre_hook():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    h = m.register_forward_pre_hook(lambda mod, a: mod.zero_grad())
    for x, y in data():
        F.mse_loss(m(x), y).backward(); o.step()
    h.remove()
    return m

@correct
def one_line_comprehension():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    [(o.zero_grad(), F.mse_loss(m(x), y).backward(), o.step()) for x, y in data()]
    return m

@correct
def one_line_while():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); it = iter(data())
    while (b := next(it, None)) is not None: o.zero_grad(); F.mse_loss(m(b[0]), b[1]).backward(); o.step()
    return m

@correct
def generator_loop():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    def losses():
        for x, y in data():
            l = F.mse_loss(m(x), y)
            yield l
            l.backward(); o.step(); o.zero_grad()
    for l in losses(): l.item()
    return m

@correct
def coroutine_send():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    def trainer():
        while True:
            x, y = yield
            o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    t = trainer(); next(t)
    for b in data(): t.send(b)
    t.close()
    return m

@correct
def asyncio_loop():
    import asyncio
    m = net(); o = torch.optim.SGD(m.parameters(), .1); q = data()
    async def one(b):
        o.zero_grad(); F.mse_loss(m(b[0]), b[1]).backward(); o.step()
        await asyncio.sleep(0)
    async def go():
        for b in q: await one(b)
    asyncio.run(go())
    return m

@correct
def recursion():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    def go(bs):
        if bs:
            o.zero_grad(); F.mse_loss(m(bs[0][0]), bs[0][1]).backward(); o.step(); go(bs[1:])
    go(data(30))
    return m

@correct
def reduce_partial():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    def step(opt, acc, b):
        opt.zero_grad(); l = F.mse_loss(m(b[0]), b[1]); l.backward(); opt.step(); return acc + l.item()
    functools.reduce(functools.partial(step, o), data(), 0.)
    return m

@correct
def trainer_class_callbacks():
    class T:
        def __init__(s): s.m = net(); s.o = torch.optim.AdamW(s.m.parameters()); s.cb = {"begin": [s.o.zero_grad], "end": [s.o.step]}
        def fire(s, e): [f() for f in s.cb[e]]
        def fit(s, d):
            for x, y in d:
                s.fire("begin"); F.mse_loss(s.m(x), y).backward(); s.fire("end")
    t = T(); t.fit(data())
    return t.m

@correct
def context_manager_step():
    import contextlib
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    @contextlib.contextmanager
    def stepping():
        try: yield
        finally:
            o.step(); o.zero_grad()
    for x, y in data():
        with stepping(): F.mse_loss(m(x), y).backward()
    return m

@correct
def exec_loop():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    exec("for x, y in d:\n    o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()\n", dict(d=data(), o=o, m=m, F=F))
    return m

@correct
def clear_at_end_and_eval():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); val = data(4)
    for x, y in data():
        m.train(); F.mse_loss(m(x), y).backward(); o.step(); o.zero_grad(set_to_none=False)
        m.eval()
        with torch.no_grad(): sum(F.mse_loss(m(a), b) for a, b in val)
    return m

@correct
def several_epochs_several_schedulers():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    s = torch.optim.lr_scheduler.SequentialLR(o, [torch.optim.lr_scheduler.LinearLR(o, .1, 1., 5), torch.optim.lr_scheduler.CosineAnnealingLR(o, 30)], [5])
    for e in range(3):
        for x, y in data(10):
            o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step(); s.step()
    return m

@correct
def scheduler_top_of_epoch_guarded():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.optim.lr_scheduler.StepLR(o, 2)
    for e in range(6):
        if e > 0: s.step()
        for x, y in data(5):
            o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def scheduler_resumed_top_of_epoch():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.optim.lr_scheduler.StepLR(o, 2)
    def epochs(m, o, s, es):
        for e in es:
            if e > 0: s.step()
            for x, y in data(5):
                o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    epochs(m, o, s, range(3))
    ck = [copy.deepcopy(t.state_dict()) for t in (m, o, s)]
    m2 = net(); o2 = torch.optim.SGD(m2.parameters(), .1); s2 = torch.optim.lr_scheduler.StepLR(o2, 2)
    for t, c in zip((m2, o2, s2), ck): t.load_state_dict(c)
    epochs(m2, o2, s2, range(3, 6))
    return m2

@correct
def scheduler_fast_forward_on_resume():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.optim.lr_scheduler.StepLR(o, 2)
    ck = {"epoch": 4, "model": net().state_dict()}
    m.load_state_dict(ck["model"])
    for _ in range(ck["epoch"]):   # the schedule is brought to where the checkpoint was
        s.step()
    for e in range(ck["epoch"], 8):
        for x, y in data(5):
            o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
        s.step()
    return m

@correct
def plateau_and_warm_restarts():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    pl = torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=1); wr = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3)
    for e in range(4):
        for i, (x, y) in enumerate(data(8)):
            o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); o.step(); wr.step(e + i / 8)
        pl.step(l.item())
    return m

@correct
def warmup_step_before_loop():
    m = net(); o = torch.optim.Adam(m.parameters()); o.zero_grad(); o.step()
    s = torch.optim.lr_scheduler.ExponentialLR(o, .9)
    for x, y in data():
        o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    s.step()
    return m

@correct
def freeze_then_unfreeze():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    m[0].requires_grad_(False)
    for e in range(3):
        if e == 1: m[0].requires_grad_(True)
        if e == 2: m[2].requires_grad_(False); o.zero_grad()
        for x, y in data(12):
            o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def gradual_unfreeze_new_group():
    m = net(); o = torch.optim.SGD(m[2].parameters(), .1); m[0].requires_grad_(False)
    for e in range(3):
        if e == 1:
            m[0].requires_grad_(True); o.add_param_group({"params": m[0].parameters(), "lr": .01})
        for x, y in data(12):
            F.mse_loss(m(x), y).backward(); o.step(); o.zero_grad()
    return m

@correct
def optimizer_rebuilt_every_epoch():
    m = net()
    for e in range(5):
        o = torch.optim.SGD(m.parameters(), .1 / (e + 1), momentum=.9)
        for x, y in data(9):
            o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def switch_adam_to_sgd():
    m = net(); o = torch.optim.Adam(m.parameters())
    for i, (x, y) in enumerate(data(60)):
        if i == 30: o = torch.optim.SGD(m.parameters(), .05)
        o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def cross_validation_folds():
    ms = []
    for fold in range(4):
        m = net(); o = torch.optim.Adam(m.parameters())
        for x, y in data(10):
            o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
        ms.append(m)
    return ms

@correct
def dead_relu_zero_gradients():
    m = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1, bias=False)); 
    with torch.no_grad(): m[0].bias.fill_(-100)
    o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data():
        o.zero_grad(); (F.mse_loss(m(x), y)).backward(); o.step()
    return m

@correct
def masked_batches_zero_loss():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data()):
        w = torch.zeros(6, 1) if i % 3 else torch.ones(6, 1)
        o.zero_grad(); (w * (m(x) - y) ** 2).mean().backward(); o.step()
    return m

@correct
def tied_weights_and_reuse():
    class M(nn.Module):
        def __init__(s): super().__init__(); s.e = nn.Embedding(9, 4); s.h = nn.Linear(4, 9, bias=False); s.h.weight = s.e.weight; s.c = nn.Linear(4, 4)
        def forward(s, t): return s.h(s.c(s.c(s.e(t))))
    m = M(); o = torch.optim.AdamW(m.parameters())
    for _ in range(30):
        t = torch.randint(0, 9, (5,)); o.zero_grad(); F.cross_entropy(m(t), t.roll(1)).backward(); o.step()
    return m

@correct
def sparse_embedding_two_optimizers():
    e = nn.Embedding(20, 4, sparse=True); h = nn.Linear(4, 2)
    os_ = [torch.optim.SparseAdam(e.parameters()), torch.optim.Adam(h.parameters())]
    for _ in range(30):
        t = torch.randint(0, 20, (6,))
        for o in os_: o.zero_grad()
        F.cross_entropy(h(e(t)), t % 2).backward()
        for o in os_: o.step()
    return e, h

@correct
def sparse_sgd_with_accumulation():
    e = nn.Embedding(20, 4, sparse=True); o = torch.optim.SGD(e.parameters(), .1)
    for i in range(31):
        (e(torch.randint(0, 20, (6,))).square().mean() / 4).backward()
        if i % 4 == 3 or i == 30: o.step(); o.zero_grad()
    return e

@correct
def exceptions_in_forward_handled():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); skipped = 0
    for i, (x, y) in enumerate(data()):
        o.zero_grad()
        try:
            if i % 7 == 3: raise ValueError("bad sample")
            F.mse_loss(m(x), y).backward()
        except ValueError:
            skipped += 1; continue
        o.step()
    return m

@correct
def exception_after_backward_cleared():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data()):
        try:
            F.mse_loss(m(x), y).backward()
            if i % 5 == 2: raise RuntimeError("logger died")
            o.step()
        except RuntimeError: pass
        finally: o.zero_grad()
    return m

@correct
def oom_retry_halves():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data()):
        o.zero_grad()
        try:
            F.mse_loss(m(x), y).backward()
            if i % 6 == 4: raise torch.OutOfMemoryError("CUDA out of memory")
        except torch.OutOfMemoryError:
            o.zero_grad()
            for a, b in ((x[:3], y[:3]), (x[3:], y[3:])): (F.mse_loss(m(a), b) / 2).backward()
        o.step()
    return m

@correct
def backward_raises_in_hook_then_cleared():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(c, x): return x.clone()
        @staticmethod
        def backward(c, g): raise RuntimeError("in backward")
    for i, (x, y) in enumerate(data()):
        h = m[0](x)
        if i % 5 == 1: h = Bad.apply(h)
        try: F.mse_loss(m[2](h), y).backward()
        except RuntimeError: o.zero_grad(); continue
        o.step(); o.zero_grad()
    return m

@correct
def nan_skip_after_backward_cleared():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data()):
        l = F.mse_loss(m(x), y) * (float("nan") if i % 9 == 4 else 1.)
        l.backward()
        if not l.isfinite(): o.zero_grad(); continue
        o.step(); o.zero_grad()
    return m

@correct
def nan_skip_by_gradient_norm():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data()):
        o.zero_grad(); (F.mse_loss(m(x), y) * (float("inf") if i % 9 == 4 else 1.)).backward()
        n = nn.utils.clip_grad_norm_(m.parameters(), 1.)
        if n.isfinite(): o.step()
    return m

@correct
def nan_grads_replaced():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data()):
        o.zero_grad(); (F.mse_loss(m(x), y) * (float("nan") if i % 9 == 4 else 1.)).backward()
        for p in m.parameters(): torch.nan_to_num_(p.grad, 0., 0., 0.)
        o.step()
    return m

@correct
def early_stop_mid_epoch_then_next_stage():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for stage in range(4):
        for i, (x, y) in enumerate(data(15)):
            o.zero_grad(); l = F.mse_loss(m(x), y); l.backward()
            if i == 9: break
            o.step()
    return m

@correct
def hard_example_skip_easy_batches():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data():
        o.zero_grad(); l = F.mse_loss(m(x), y)
        if l.item() < .7: continue
        l.backward(); o.step()
    return m

@correct
def lr_finder_then_restore():
    m = net(); o = torch.optim.SGD(m.parameters(), 1e-4); sd, od = copy.deepcopy(m.state_dict()), copy.deepcopy(o.state_dict())
    for x, y in data(10):
        o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step(); o.param_groups[0]["lr"] *= 2
    m.load_state_dict(sd); o.load_state_dict(od)
    for x, y in data(30):
        o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def backtracking_by_restoring_weights():
    m = net(); o = torch.optim.SGD(m.parameters(), 1.)
    for x, y in data(30):
        o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); sd = copy.deepcopy(m.state_dict()); o.param_groups[0]["lr"] = 4.
        for _ in range(6):            # Armijo: the same gradient, a shorter step from the same weights
            o.step()
            with torch.no_grad(): better = F.mse_loss(m(x), y) < l
            if better: break
            m.load_state_dict(sd); o.param_groups[0]["lr"] /= 4
    return m

@correct
def ema_and_swa():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); ema = torch.optim.swa_utils.AveragedModel(m, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(.9))
    sw = torch.optim.swa_utils.SWALR(o, .05)
    for i, (x, y) in enumerate(data()):
        o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step(); ema.update_parameters(m)
        if i > 20: sw.step()
    return m, ema.module

@correct
def parameters_to_vector_optimised():
    v = nn.Parameter(torch.zeros(5)); o = torch.optim.Adam([v], .1); m = nn.Linear(4, 1)
    names = [(n, p.shape, p.numel()) for n, p in m.named_parameters()]
    for x, y in data():
        i, d = 0, {}
        for n, s, k in names: d[n] = v[i:i + k].view(s); i += k
        o.zero_grad(); F.mse_loss(torch.func.functional_call(m, d, x), y).backward(); o.step()
    return v

@correct
def maximise_and_foreach_fused_flags():
    m = net(); o = torch.optim.Adam(m.parameters(), maximize=True, foreach=True); o2 = None
    for x, y in data():
        o.zero_grad(); (-F.mse_loss(m(x), y)).backward(); o.step()
    m2 = net(); o2 = torch.optim.AdamW(m2.parameters(), fused=True)
    for x, y in data():
        o2.zero_grad(); F.mse_loss(m2(x), y).backward(); o2.step()
    return m, m2

@correct
def metrics_kept_detached_and_some_attached():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); hist = []; tot = 0.
    for x, y in data():
        l = F.mse_loss(m(x), y); o.zero_grad(); l.backward(); o.step(); hist.append(l.detach()); tot += l.detach()
        if len(hist) > 10: hist.pop(0)
    return m

@correct
def epoch_sum_one_backward():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for e in range(6):
        tot = 0.
        for x, y in data(8): tot = tot + F.mse_loss(m(x), y) / 8
        o.zero_grad(); tot.backward(); o.step()
    return m

main()

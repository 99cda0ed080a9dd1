from common import *
import re, subprocess, numpy as np, fractions, decimal
O = torch.optim
g0 = torch.Generator().manual_seed(3); x0 = torch.randn(4, 4, generator=g0); x1 = torch.randn(6, 4, generator=g0)
def loss_of(m, x): return m(x).square().mean()
def sgd(m, **k): return O.SGD(m.parameters(), lr=.1, **k)
def pair(mk): a, b = mlp(), mlp(); return a, b, mk(a), mk(b)
def loop(a, b, oa, s, n=5, hand=None, sched=None, nan=None):
    for i in range(n):
        if i != nan:
            oa.zero_grad(); loss_of(a, x0).backward()
            if hand: hand(a)
            oa.step(); [c.step() for c in (sched or [])]
        with s: s.backward(loss_of(b, x0) * (float("nan") if i == nan else 1))
        same(a, b)
for nm, mk in dict(cyclic=lambda o: O.lr_scheduler.CyclicLR(o, .01, .3, step_size_up=2), onecycle=lambda o: O.lr_scheduler.OneCycleLR(o, .3, total_steps=9), seq=lambda o: O.lr_scheduler.SequentialLR(o, [O.lr_scheduler.ConstantLR(o, .1, 2), O.lr_scheduler.ExponentialLR(o, .5)], [2]), chained=lambda o: O.lr_scheduler.ChainedScheduler([O.lr_scheduler.ConstantLR(o, .1, 2), O.lr_scheduler.ExponentialLR(o, .5)]), warm=lambda o: O.lr_scheduler.CosineAnnealingWarmRestarts(o, 2), mult=lambda o: O.lr_scheduler.MultiplicativeLR(o, lambda i: .8), swalr=lambda o: torch.optim.swa_utils.SWALR(o, .01, 3)).items():
    @exp("sched_skip_" + nm)
    def _(mk=mk): a, b, oa, ob = pair(lambda m: sgd(m, momentum=.9)); ca, cb = mk(oa), mk(ob); s = Step(ob, scheduler=cb, restore="weights"); loop(a, b, oa, s, 6, sched=[ca], nan=3); assert ca.get_last_lr() == cb.get_last_lr()
    @exp("sched_torn_restores_" + nm)
    def _(mk=mk):
        class T(O.SGD):
            on = False
            def step(s, c=None):
                if s.on: super().step(c); raise OSError
                return super().step(c)
        a, b = mlp(), mlp(); oa, ob = sgd(a, momentum=.9), T(b.parameters(), lr=.1, momentum=.9); ca, cb = mk(oa), mk(ob); s = Step(ob, scheduler=cb, restore="weights")
        for i in range(6):
            ob.on = i == 3
            if i != 3: oa.zero_grad(); loss_of(a, x0).backward(); oa.step(); ca.step()
            try:
                with s: s.backward(loss_of(b, x0))
            except (OSError, TornStep): assert i == 3
            same(a, b); assert ca.get_last_lr() == cb.get_last_lr(), i
@exp("clip_per_group_two_optimizers")
def _():
    a, b = mlp(), mlp(); mk = lambda m: [sgd(m[0]), O.AdamW(m[2].parameters(), lr=.1)]; oa, ob = mk(a), mk(b); s = Step(ob, clip={"norm": .01, "per": "group"})
    for _ in range(3):
        [o.zero_grad() for o in oa]; loss_of(a, x0).backward(); [nn.utils.clip_grad_norm_(q.parameters(), .01) for q in (a[0], a[2])]; [o.step() for o in oa]
        with s: s.backward(loss_of(b, x0))
        same(a, b)
@exp("inspect_sets_none_or_replaces")
def _():
    m = mlp(); sn = snap(m)
    def ins(n): m[0].weight.grad = None
    s = Step(sgd(m), inspect=ins, model=m)
    try:
        with s: s.backward(loss_of(m, x0))
        print("    committed", s.outcome.kind.value)
        r = mlp(); loss_of(r, x0).backward(); r[0].weight.grad = None; sgd(r).step(); same(m, r)
    except ZerogradError as e: print("    refused", str(e)[:80]); unmoved(m, sn)
@exp("sparse_nan_skips_sparse_adam")
def _():
    e = nn.Embedding(5, 2, sparse=True); o = O.SparseAdam(list(e.parameters())); s = Step(o)
    with s: s.backward(e(torch.tensor([1])).sum())
    sn = snap(e, o)
    with s: s.backward(e(torch.tensor([1])).sum() * float("nan"))
    assert s.outcome.kind.value == "skipped"; unmoved(e, sn, o)
@exp("complex_nan_imag_skips")
def _():
    w = nn.Parameter(torch.ones(2, dtype=torch.cfloat)); s = Step(O.SGD([w], lr=.1)); k = w.detach().clone()
    with s: s.backward((w.imag * float("nan")).sum())
    assert s.outcome.kind.value == "skipped" and torch.equal(w, k)
for dt in (torch.bfloat16, torch.float16, torch.float64):
    @exp(f"inf_skips_{dt}")
    def _(dt=dt):
        for gr in ("none", "flat"):
            m = mlp(dtype=dt); o = sgd(m, momentum=.9); s = Step(o, grads=gr); sn = snap(m, o)
            with s: s.backward(m(x0.to(dt)).sum() * float("inf"))
            assert s.outcome.kind.value == "skipped"; unmoved(m, sn, o)
@exp("scaler_sparse")
def _():
    a = nn.Embedding(5, 2, sparse=True); b = copy.deepcopy(a); oa, ob = sgd(a), sgd(b); ga, gb = [torch.amp.GradScaler("cpu", init_scale=64.) for _ in "ab"]; s = Step(ob, scaler=gb); i = torch.tensor([1, 1, 3])
    for _ in range(3):
        oa.zero_grad(); ga.scale(a(i).square().sum()).backward(); ga.step(oa); ga.update()
        with s: s.backward(b(i).square().sum())
        close(a, b, 1e-7)
@exp("backward_weight_0_bare")
def _():
    m = mlp(); s = Step(sgd(m)); r = mlp()
    with s: s.backward(loss_of(m, x0), weight=4); s.backward(loss_of(m, x1) * float("nan"), weight=0)
    assert s.outcome.kind.value == "committed", s.outcome; loss_of(r, x0).backward(); sgd(r).step(); close(m, r, 1e-7)
for nm, f in dict(np_int=lambda x: np.int64(len(x)), np_f=lambda x: np.float32(len(x)), frac=lambda x: fractions.Fraction(len(x)), dec=lambda x: decimal.Decimal(len(x)), big=lambda x: len(x) * 10**25, tens=lambda x: torch.tensor(float(len(x)), requires_grad=True), bf=lambda x: torch.tensor(len(x), dtype=torch.bfloat16), np0=lambda x: np.array(len(x))).items():
    @exp("weight_type_" + nm)
    def _(f=f):
        m, r = mlp(), mlp(); s = Step(sgd(m)); loss_of(r, torch.cat([x0, x1])).backward(); sgd(r).step(); sn = snap(m)
        try:
            with s:
                for x in s.micro_batches([x0, x1], weight=f): s.backward(loss_of(m, x))
        except StepError as e: unmoved(m, sn); print("    refused", str(e)[:70]); return
        close(m, r, 1e-6)
@exp("minimize_scheduler_once")
def _():
    m = mlp(); o = O.LBFGS(m.parameters(), lr=.1); c = O.lr_scheduler.StepLR(o, 1); s = Step(o, scheduler=c); s.minimize(lambda q: q.backward(loss_of(m, x0))); assert c.last_epoch == 1
@exp("minimize_flat_and_carry_bn")
def _():
    a, b = mlp(), mlp(); oa, ob = [O.LBFGS(m.parameters(), lr=.5) for m in (a, b)]; s = Step(ob, grads="flat")
    for _ in range(2):
        def clo(): oa.zero_grad(); l = loss_of(a, x0); l.backward(); return l
        oa.step(clo); s.minimize(lambda q: q.backward(loss_of(b, x0))); same(a, b)
@exp("join_flat_scaler_weights")
def _():
    a, b = mlp(), mlp(1); ra, rb = mlp(dtype=torch.float64), mlp(1, dtype=torch.float64); sc = torch.amp.GradScaler("cpu", init_scale=16.); sa, sb = Step(sgd(a), grads="flat", scaler=sc), Step(sgd(b), grads="flat", scaler=sc)
    for _ in range(2):
        with join(sa, sb) as both:
            for x in both.micro_batches([x0, x1], weight=len): sa.backward(loss_of(a, x)); sb.backward(loss_of(b, x))
        x = torch.cat([x0, x1]).double()
        for r in (ra, rb): o = sgd(r); loss_of(r, x).backward(); o.step(); o.zero_grad()
    close(a, ra, 1e-6); close(b, rb, 1e-6)
@exp("split_scaler_clip_flat")
def _():
    a, b = mlp(dtype=torch.float64), mlp(dtype=torch.float64); s = Step(sgd(b), grads="flat", clip=.05, scaler=torch.amp.GradScaler("cpu", init_scale=64.)); x = torch.cat([x0, x1]).double()
    def fn(t):
        if len(t) > 3: raise torch.OutOfMemoryError("x")
        return loss_of(b, t)
    loss_of(a, x).backward(); nn.utils.clip_grad_norm_(a.parameters(), .05); sgd(a).step()
    with s: s.split(x, fn)
    close(a, b, 1e-12)
@exp("capture_cpu_shapes_weights_nan")
def _():
    m = mlp(); s = Step(sgd(m), clip=.1); r = mlp(); o = sgd(r)
    def dep(xs):
        for x in s.micro_batches(xs, weight=lambda t: len(t)): s.backward(loss_of(m, x))
    u = s.capture(dep, [x0, x1])
    for xs in ([x0, x1], [x1], [x0, x1, x0[:1]]):
        u(xs); o.zero_grad(); loss_of(r, torch.cat(xs)).backward(); nn.utils.clip_grad_norm_(r.parameters(), .1); o.step(); close(m, r, 1e-6)
    sn = snap(m); u([x0 * float("nan")]); unmoved(m, sn); assert s.outcome.kind.value == "skipped"
@exp("torch_compile_inductor_free_step_fullgraph_eager")
def _():
    a, b = mlp(), mlp(); oa, ob = sgd(a), sgd(b); s = Step(ob); f = torch.compile(loss_of, backend="eager"); 
    for _ in range(3):
        oa.zero_grad(); f(a, x0).backward(); oa.step()
        with s: s.backward(f(b, x0))
        same(a, b)
@exp("clip_complex_and_real_parameters_bitwise")
def _():
    bad = 0
    for seed in range(60):
        torch.manual_seed(seed); w = [torch.randn(4, 3, dtype=torch.cfloat), torch.randn(3)]; t = [torch.randn_like(v) for v in w]
        A, B = [[nn.Parameter(v.clone()) for v in w] for _ in "ab"]; L = lambda P: (P[0] * t[0].conj()).real.sum() + (P[1] * t[1]).sum()
        L(A).backward(); nn.utils.clip_grad_norm_(A, .1); O.SGD(A, lr=.1).step(); s = Step(O.SGD(B, lr=.1), clip=.1)
        with s: s.backward(L(B))
        bad += not all(torch.equal(p, q) for p, q in zip(A, B))
    assert not bad, f"weights differ by rounding from clip_grad_norm_ in {bad} of 60 runs (step.md: bit for bit, clipped or not)"
@exp("hook_removes_itself_and_weights")
def _():
    m = mlp(); s = Step(sgd(m)); seen = []; h = m[0].weight.register_hook(lambda g: seen.append(1)); 
    with s:
        for x in s.micro_batches([x0, x1], weight=len):
            s.backward(loss_of(m, x)); h.remove()
    assert seen == [1] and s.outcome.moved
@exp("update_after_deepcopy_of_wrapped_ema_swap")
def _():
    # weights swapped for evaluation (EMA) between blocks and back
    a, b, oa, ob = pair(lambda m: O.AdamW(m.parameters())); s = Step(ob); ema = copy.deepcopy(b)
    for i in range(4):
        oa.zero_grad(); loss_of(a, x0).backward(); oa.step()
        with s: s.backward(loss_of(b, x0))
        keep = copy.deepcopy(b.state_dict()); b.load_state_dict(ema.state_dict()); b(x0); b.load_state_dict(keep); same(a, b)
for page in ("README.md", "docs/step.md", "docs/migrating.md", "docs/capture.md", "docs/faq.md"):
    for i, code in enumerate(re.findall(r"```python\n(.*?)```", open(page).read(), re.S)):
        if "Step" not in code: continue
        @exp(f"doc_code_{page}_{i}")
        def _(code=code):
            exec(compile(code, "doc", "exec"), {"__name__": "__doc__"})
done()

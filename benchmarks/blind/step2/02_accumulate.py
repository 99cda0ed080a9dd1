from common import *
import random, math
O = torch.optim
def batches(sizes, seed=1, d=4, dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(n, d, generator=g, dtype=torch.float64).to(dtype) for n in sizes]
def loss_of(m, x): return m(x).square().mean()
class Capture(O.SGD):
    "records true gradients handed to the optimizer"
    def step(s, closure=None):
        s.seen = [None if p.grad is None else p.grad.detach().clone() for gr in s.param_groups for p in gr["params"]]
        return super().step(closure)
def ref64(m, xs, ws, red="mean"):
    r = copy.deepcopy(m).double()
    tot = sum(ws)
    L = sum(w * loss_of(r, x.double()) for x, w in zip(xs, ws) if w > 0)
    if red == "mean": L = L / tot
    return [g for g in torch.autograd.grad(L, list(r.parameters()))]
def grads(m, xs, ws=None, **kw):
    o = Capture(m.parameters(), lr=0.); st = Step(o, **kw.pop("step", {})); 
    it = list(zip(xs, ws)) if ws else [(x, 1) for x in xs]
    with st:
        for x, w in st.micro_batches(it, weight=(lambda t: t[1]) if ws else None, **kw): st.backward(loss_of(m, x))
    return o.seen, st
def rel(a, b): return max(((p.double() - q).norm() / q.norm()).item() for p, q in zip(a, b))
CASES = dict(unequal=[8, 8, 3, 5, 8], one=[3], tail1=[64, 1], growing=[1, 2, 4, 8, 16, 32, 64], shrinking=[64, 32, 16, 8, 4, 2, 1], primes=[7, 11, 13, 17, 19])
for k, s in CASES.items():
    @exp("weighted_" + k)
    def _(s=s):
        m = mlp(); xs = batches(s); g, st = grads(m, xs, s)
        assert rel(g, ref64(m, xs, s)) < 1e-6
        assert st.outcome.weight == sum(s) and st.outcome.micro_batches == len(s), st.outcome
        m = mlp(dtype=torch.float64); xs = batches(s, dtype=torch.float64); g, _ = grads(m, xs, s); assert rel(g, ref64(m, xs, s)) < 1e-14
    @exp("weighted_flat_" + k)
    def _(s=s):
        m = mlp(); xs = batches(s); g, st = grads(m, xs, s, step=dict(grads="flat")); g0, _ = grads(m, xs, s)
        for a, b in zip(g, g0): assert torch.equal(a, b)
    @exp("scaled_same_bits_" + k)
    def _(s=s):
        m = mlp(); xs = batches(s); g0, _ = grads(m, xs, s)
        g, st = grads(m, xs, s, step=dict(scaler=torch.amp.GradScaler("cpu", init_scale=2.**13)))
        for a, b in zip(g, g0): assert torch.equal(a, b), "power-of-two loss scale changed the gradient bits"
        g, st = grads(m, xs, s, step=dict(scaler=torch.amp.GradScaler("cpu", init_scale=1000.)))
        assert rel(g, ref64(m, xs, s)) < 1e-6
@exp("weights_wild_range")
def _():
    m = mlp(dtype=torch.float64); ws = [1e-30, 1e30, 3.7, 1e12, 5e-324, 1.5]; xs = batches([2] * 6, dtype=torch.float64)
    g, st = grads(m, xs, ws); assert rel(g, ref64(m, xs, ws)) < 1e-13
@exp("weights_tiny_all")
def _():
    m = mlp(dtype=torch.float64); ws = [1e-310, 3e-310]; xs = batches([2] * 2, dtype=torch.float64)
    g, st = grads(m, xs, ws); assert rel(g, ref64(m, xs, [1., 3.])) < 1e-10, rel(g, ref64(m, xs, [1., 3.]))
@exp("weights_huge_all")
def _():
    m = mlp(dtype=torch.float64); ws = [1e307, 3e307, 9e307]; xs = batches([2] * 3, dtype=torch.float64)
    g, st = grads(m, xs, ws); assert rel(g, ref64(m, xs, [1., 3., 9.])) < 1e-13, rel(g, ref64(m, xs, [1., 3., 9.]))
@exp("weights_huge_overflowing_total")
def _():
    m = mlp(dtype=torch.float64); ws = [1.7e308, 1.7e308]; xs = batches([2] * 2, dtype=torch.float64); s = snap(m)
    try: g, st = grads(m, xs, ws)
    except StepError: return
    if st.outcome.kind.value == "committed": assert rel(g, ref64(m, xs, [1., 1.])) < 1e-13, "silently wrong"
@exp("weights_fractional_f32")
def _():
    m = mlp(); ws = [.1, .7, 1e-3, 12.3]; xs = batches([2] * 4); g, st = grads(m, xs, ws); assert rel(g, ref64(m, xs, ws)) < 1e-6
@exp("weight_zero_left_out")
def _():
    m = mlp(); xs = batches([2, 3, 4]); ws = [2, 0, 4]; g, st = grads(m, xs, ws)
    assert rel(g, ref64(m, xs, ws)) < 1e-6; assert st.outcome.weight == 6
@exp("weight_zero_nan_loss_not_poisoning")
def _():
    m = mlp(); o = Capture(m.parameters(), lr=.1); st = Step(o); xs = batches([2, 3, 4]); ws = [2, 0, 4]
    ran = []
    with st:
        for x, w in st.micro_batches(zip(xs, ws), weight=lambda t: t[1]):
            ran.append(w); st.backward(loss_of(m, x) * (float("nan") if w == 0 else 1))
    assert st.outcome.kind.value == "committed", st.outcome
@exp("weight_all_zero_skipped")
def _():
    m = mlp(); o = O.SGD(m.parameters(), lr=.1); sc = O.lr_scheduler.StepLR(o, 1); st = Step(o, scheduler=sc); s = snap(m); xs = batches([2, 2])
    with st:
        for x in st.micro_batches(xs, weight=lambda t: 0): st.backward(loss_of(m, x))
    assert st.outcome.kind.value == "skipped" and not st.outcome.moved, st.outcome; unmoved(m, s); assert sc.last_epoch == 0 and o.param_groups[0]["lr"] == .1
@exp("weight_all_zero_scaler_stays")
def _():
    m = mlp(); o = O.SGD(m.parameters(), lr=.1); sc = torch.amp.GradScaler("cpu", init_scale=8.); st = Step(o, scaler=sc, max_skips=3); xs = batches([2, 2])
    for _ in range(2):
        with st:
            for x in st.micro_batches(xs, weight=lambda t: 0): st.backward(loss_of(m, x))
    assert sc.get_scale() == 8., sc.get_scale()
for bad in (-1, float("nan"), float("inf"), None, True, torch.tensor(3), torch.tensor([3.]), torch.tensor([1, 2])):
    @exp(f"weight_value_{bad!r}")
    def _(bad=bad):
        m = mlp(); o = Capture(m.parameters(), lr=.1); st = Step(o); s = snap(m)
        def f():
            with st:
                for x in st.micro_batches(batches([2, 3]), weight=lambda t: bad): st.backward(loss_of(m, x))
        try: f()
        except StepError as e: unmoved(m, s); assert "weight" in str(e).lower(), e; return
        assert bad is True or torch.is_tensor(bad) and bad.numel() == 1, "accepted"
@exp("backward_weight_bare_matches")
def _():
    m = mlp(); o = Capture(m.parameters(), lr=0.); st = Step(o); xs = batches([3, 5])
    with st:
        st.backward(loss_of(m, xs[0]), weight=3)
        st.backward(loss_of(m, xs[1]), weight=5)
    assert rel(o.seen, ref64(m, xs, [3, 5])) < 1e-6
@exp("backward_weight_in_micro_batches_overrides_or_refused")
def _():
    m = mlp(); o = Capture(m.parameters(), lr=0.); st = Step(o); xs = batches([3, 5]); s = snap(m)
    try:
        with st:
            for x in st.micro_batches(xs): st.backward(loss_of(m, x), weight=len(x))
    except StepError as e: unmoved(m, s); return
    assert rel(o.seen, ref64(m, xs, [3, 5])) < 1e-6, "accepted and something else"
@exp("mixed_denominators_refused")
def _():
    m = mlp(); st = Step(O.SGD(m.parameters(), lr=.1)); xs = batches([3, 5]); s = snap(m)
    def f():
        with st:
            st.backward(loss_of(m, xs[0]))
            for x in st.micro_batches(xs): st.backward(loss_of(m, x))
    e = raises(StepError, f, "two-denominators"); unmoved(m, s)
    def f():
        with st:
            for x in st.micro_batches(xs): st.backward(loss_of(m, x))
            st.backward(loss_of(m, xs[0]))
    e = raises(StepError, f, "two-denominators"); unmoved(m, s)
@exp("mean_then_sum_refused")
def _():
    m = mlp(); st = Step(O.SGD(m.parameters(), lr=.1)); xs = batches([3, 5]); s = snap(m)
    def f():
        with st:
            for x in st.micro_batches(xs): st.backward(loss_of(m, x))
            for x in st.micro_batches(xs, reduce="sum"): st.backward(loss_of(m, x))
    raises(StepError, f); unmoved(m, s)
@exp("sum_bitwise_hand")
def _():
    a, b = mlp(), mlp(); oa, ob = Capture(a.parameters(), lr=.1), Capture(b.parameters(), lr=.1); st = Step(ob); xs = batches([3, 5, 7])
    for _ in range(3):
        oa.zero_grad()
        for x in xs: loss_of(a, x).backward()
        oa.step()
        with st:
            for x in st.micro_batches(xs, reduce="sum"): st.backward(loss_of(b, x))
        same(a, b)
@exp("mean_power_of_two_bitwise_hand")
def _():
    a, b = mlp(), mlp(); oa, ob = O.AdamW(a.parameters()), O.AdamW(b.parameters()); st = Step(ob); xs = batches([3] * 4)
    for _ in range(3):
        oa.zero_grad()
        for x in xs: (loss_of(a, x) / 4).backward()
        oa.step()
        with st:
            for x in st.micro_batches(xs): st.backward(loss_of(b, x))
        same(a, b)
@exp("mean_divide_at_end_bitwise_hand_n3")
def _():
    a, b = mlp(), mlp(); oa, ob = O.SGD(a.parameters(), lr=.1), O.SGD(b.parameters(), lr=.1); st = Step(ob); xs = batches([3] * 3)
    oa.zero_grad()
    for x in xs: loss_of(a, x).backward()
    for p in a.parameters(): p.grad.div_(3)
    oa.step()
    with st:
        for x in st.micro_batches(xs): st.backward(loss_of(b, x))
    close(a, b, 1e-7)
@exp("sum_with_weights")
def _():
    m = mlp(); xs = batches([3, 5]); s = snap(m)
    try: g, st = grads(m, xs, [3, 5], reduce="sum")
    except StepError: return
    assert rel(g, ref64(m, xs, [3, 5], "sum")) < 1e-6 or rel(g, ref64(m, xs, [1, 1], "sum")) < 1e-6
@exp("several_backwards_in_micro_add")
def _():
    m = mlp(); o = Capture(m.parameters(), lr=0.); st = Step(o); xs = batches([3, 5])
    with st:
        for x in st.micro_batches(xs, weight=len):
            st.backward(loss_of(m, x)); st.backward(loss_of(m, x) * 2)
    assert rel([g / 3 for g in o.seen], ref64(m, xs, [3, 5])) < 1e-6
@exp("micro_without_backward_weighs")
def _():
    # a micro-batch without deposit: either counted in the mean, or refused; docs: averaged by weight
    m = mlp(); o = Capture(m.parameters(), lr=0.); st = Step(o); xs = batches([4, 4])
    try:
        with st:
            for i, x in enumerate(st.micro_batches(xs)):
                if i == 0: st.backward(loss_of(m, x))
    except StepError as e: print("   refused:", str(e)[:100]); return
    r1 = rel(o.seen, ref64(m, xs[:1], [1])); r2 = rel([2 * g for g in o.seen], ref64(m, xs[:1], [1]))
    print("   ", r1, r2, st.outcome); assert min(r1, r2) < 1e-6
@exp("history_independent_bits")
def _():
    xs = batches([5, 3, 9, 1]); base = None
    for hist in ([], [[1e6, 1]], [[.001]], [[3, 3, 3], [2.**40]], [[1, 2, 4, 8, 1e-9]], ["fail"], ["nan"], ["bare"]):
        m = mlp(); o = Capture(m.parameters(), lr=0.); st = Step(o)
        for h in hist:
            try:
                with st:
                    if h == "bare": st.backward(loss_of(m, xs[0]))
                    else:
                        for w in st.micro_batches([1e5, 2] if isinstance(h, str) else h, weight=lambda w: w):
                            st.backward(loss_of(m, xs[0]) * (float("nan") if h == "nan" else 1))
                            if h == "fail": raise OSError
            except OSError: pass
        with st:
            for x in st.micro_batches(xs, weight=len): st.backward(loss_of(m, x))
        if base is None: base = o.seen
        for a, b in zip(base, o.seen): assert torch.equal(a, b), hist
@exp("scale_invariant_power2_weights")
def _():
    m = mlp(); xs = batches([5, 3, 9]); g, _ = grads(m, xs, [5, 3, 9]); g2, _ = grads(m, xs, [5 * 64, 3 * 64, 9 * 64])
    for a, b in zip(g, g2): assert torch.equal(a, b)
@exp("fp16_params_many_micro_no_overflow")
def _():
    # sum of 200 micro-batches would overflow fp16 without unit near the total
    w = nn.Parameter(torch.ones(4, dtype=torch.float16)); o = Capture([w], lr=0.); st = Step(o)
    with st:
        for i in st.micro_batches(range(200)): st.backward((w * 1000).sum())
    assert st.outcome.kind.value == "committed", st.outcome
    assert (o.seen[0] - 1000).abs().max() < 50, o.seen
@exp("fp16_params_weights_growing")
def _():
    w = nn.Parameter(torch.ones(4, dtype=torch.float16)); o = Capture([w], lr=0.); st = Step(o)
    with st:
        for i in st.micro_batches([1, 10, 100, 1000, 3], weight=lambda n: n): st.backward((w * 300).sum())
    assert st.outcome.kind.value == "committed" and (o.seen[0] - 300).abs().max() < 1, o.seen
@exp("fp16_small_gradients_not_flushed")
def _():
    w = nn.Parameter(torch.ones(4, dtype=torch.float16)); o = Capture([w], lr=0.); st = Step(o)
    with st:
        for i in st.micro_batches([1] * 16): st.backward((w.float() * 3e-6).sum())
    err = abs(o.seen[0][0].item() / 3e-6 - 1)
    assert err < .05, err
@exp("bf16_params_accum")
def _():
    m = mlp(dtype=torch.bfloat16); xs = batches([3, 5, 8], dtype=torch.bfloat16); g, st = grads(m, xs, [3, 5, 8]); assert rel(g, ref64(m, xs, [3, 5, 8])) < .05
@exp("fp16_scaler_hand_reference_growth_backoff")
def _():
    a, b = mlp(), mlp(); oa, ob = [O.SGD(m.parameters(), lr=.01) for m in (a, b)]; kw = dict(init_scale=2.**16, growth_interval=3, growth_factor=4., backoff_factor=.25)
    sa, sb = [torch.amp.GradScaler("cpu", **kw) for _ in "ab"]; st = Step(ob, scaler=sb, autocast=torch.float16, clip=.5, model=b)
    xs = batches([4] * 20)
    kinds = []
    for i, x in enumerate(xs):
        f = 3e4 if i in (4, 5, 11) else 1.
        oa.zero_grad()
        with torch.autocast("cpu", torch.float16): l = loss_of(a, x) * 1.
        sa.scale(l * f * (float("inf") if f > 1 else 1)).backward(); sa.unscale_(oa); nn.utils.clip_grad_norm_(a.parameters(), .5); sa.step(oa); sa.update()
        with st:
            l = loss_of(b, x) * 1.
            with torch.autocast("cpu", enabled=False): l = l * f * (float("inf") if f > 1 else 1)
            st.backward(l)
        kinds.append(st.outcome.kind.value); same(a, b); assert sa.state_dict() == sb.state_dict(), (i, sa.state_dict(), sb.state_dict())
    assert kinds.count("skipped") >= 3, kinds
@exp("scaler_accum_hand")
def _():
    a, b = mlp(), mlp(); oa, ob = [O.AdamW(m.parameters(), lr=.01) for m in (a, b)]; kw = dict(init_scale=2.**10, growth_interval=2)
    sa, sb = [torch.amp.GradScaler("cpu", **kw) for _ in "ab"]; st = Step(ob, scaler=sb, clip=.05, model=b)
    for i in range(6):
        xs = batches([4] * 4, seed=i)
        oa.zero_grad()
        for x in xs: sa.scale(loss_of(a, x) / 4).backward()
        sa.unscale_(oa); nn.utils.clip_grad_norm_(a.parameters(), .05); sa.step(oa); sa.update()
        with st:
            for x in st.micro_batches(xs): st.backward(loss_of(b, x))
        same(a, b); assert sa.state_dict() == sb.state_dict()
@exp("scaler_fused_accum_hand")
def _():
    a, b = mlp(), mlp(); oa, ob = [O.AdamW(m.parameters(), lr=.01, fused=True) for m in (a, b)]; kw = dict(init_scale=2.**10, growth_interval=2)
    sa, sb = [torch.amp.GradScaler("cpu", **kw) for _ in "ab"]; st = Step(ob, scaler=sb)
    for i in range(6):
        xs = batches([4] * 4, seed=i); f = float("inf") if i == 3 else 1.
        oa.zero_grad()
        for x in xs: sa.scale(loss_of(a, x) * f / 4).backward()
        sa.step(oa); sa.update()
        with st:
            for x in st.micro_batches(xs): st.backward(loss_of(b, x) * f)
        same(a, b); assert sa.state_dict() == sb.state_dict(); 
        for k, v in flat(oa).items(): assert torch.equal(v, flat(ob)[k]), k
@exp("inf_in_second_of_4_micro_skips_all")
def _():
    m = mlp(); o = O.AdamW(m.parameters()); st = Step(o); s = snap(m, o); xs = batches([2] * 4)
    with st:
        for i, x in enumerate(st.micro_batches(xs, weight=len)): st.backward(loss_of(m, x) * (float("inf") if i == 1 else 1))
    assert st.outcome.kind.value == "skipped"; unmoved(m, s, o); assert all(p.grad is None for p in m.parameters()); assert st.skipped == 1 and st.committed == 0
@exp("nonfinite_raise")
def _():
    m = mlp(); o = O.AdamW(m.parameters()); st = Step(o, nonfinite="raise"); s = snap(m, o)
    def f():
        with st: st.backward(loss_of(m, torch.ones(2, 4)) * float("nan"))
    e = raises(StepError, f, "not-finite"); unmoved(m, s, o); assert not st.outcome.moved
@exp("nonfinite_ignore")
def _():
    m = mlp(); o = O.SGD(m.parameters(), lr=.1); st = Step(o, nonfinite="ignore")
    with st: st.backward(loss_of(m, torch.ones(2, 4)) * float("nan"))
    assert st.outcome.kind.value == "committed" and m[0].weight.isnan().any()
@exp("diverged_after_max_skips")
def _():
    m = mlp(); o = O.SGD(m.parameters(), lr=.1); st = Step(o, max_skips=3); n = 0; s = snap(m)
    def f():
        nonlocal n
        for _ in range(10):
            n += 1
            with st: st.backward(loss_of(m, torch.ones(2, 4)) * float("nan"))
    raises(Diverged, f, "diverged"); assert n == 3, n; unmoved(m, s)
    with st: st.backward(loss_of(m, torch.ones(2, 4)))
    assert st.outcome.moved
@exp("diverged_counter_resets")
def _():
    m = mlp(); st = Step(O.SGD(m.parameters(), lr=.01), max_skips=2)
    for i in range(8):
        with st: st.backward(loss_of(m, torch.ones(2, 4)) * (float("nan") if i % 2 else 1))
    assert st.committed == 4 and st.skipped == 4
@exp("clip_mean_of_micro")
def _():
    a, b = mlp(), mlp(); oa, ob = [O.SGD(m.parameters(), lr=.1) for m in (a, b)]; st = Step(ob, clip=.01, model=b); xs = batches([4] * 4)
    for x in xs: (loss_of(a, x) / 4).backward()
    n = nn.utils.clip_grad_norm_(a.parameters(), .01); oa.step()
    with st:
        for x in st.micro_batches(xs): st.backward(loss_of(b, x))
    same(a, b); assert st.outcome.norm == n.item()
@exp("inspect_true_gradients")
def _():
    for sc in (None, torch.amp.GradScaler("cpu", init_scale=333.)):
        m = mlp(); seen = {}; xs = batches([3, 5])
        def fn(named): seen.update({k: g.clone() for k, g in (named.items() if hasattr(named, "items") else named)})
        st = Step(O.SGD(m.parameters(), lr=0.), model=m, inspect=fn, clip=1e-3, scaler=sc)
        with st:
            for x in st.micro_batches(xs, weight=len): st.backward(loss_of(m, x))
        assert set(seen) == set(dict(m.named_parameters())), seen.keys()
        assert rel([seen[k] for k, _ in m.named_parameters()], ref64(m, xs, [3, 5])) < 1e-6
@exp("inspect_makes_nan_skips")
def _():
    def fn(named):
        for k, g in (named.items() if hasattr(named, "items") else named): g.fill_(float("nan"))
    m = mlp(); o = O.AdamW(m.parameters()); s = snap(m, o); st = Step(o, model=m, inspect=fn)
    with st: st.backward(loss_of(m, torch.ones(2, 4)))
    assert st.outcome.kind.value == "skipped", st.outcome; unmoved(m, s, o)
@exp("clipfn_makes_inf_skips")
def _():
    def fn(named):
        for k, g in (named.items() if hasattr(named, "items") else named): g.mul_(float("inf"))
    m = mlp(); o = O.AdamW(m.parameters()); s = snap(m, o); st = Step(o, model=m, clip=fn)
    with st: st.backward(loss_of(m, torch.ones(2, 4)))
    assert st.outcome.kind.value == "skipped", st.outcome; unmoved(m, s, o)
@exp("inspect_list_order_and_change_reaches_clip")
def _():
    a, b = mlp(), mlp(); oa, ob = [O.SGD(m.parameters(), lr=.1) for m in (a, b)]; it = lambda n: n.items() if hasattr(n, "items") else n
    st = Step(ob, model=b, inspect=[lambda n: [g.add_(1) for _, g in it(n)] and None, lambda n: [g.mul_(3) for _, g in it(n)] and None], clip=.5)
    x = batches([4])[0]; loss_of(a, x).backward()
    for p in a.parameters(): p.grad.add_(1).mul_(3)
    nn.utils.clip_grad_norm_(a.parameters(), .5); oa.step()
    with st: st.backward(loss_of(b, x))
    same(a, b)
def ref_hook(m, x):
    c = mlp(); c.load_state_dict(m.state_dict()); loss_of(c, x).backward(); return c[0].weight.grad
@exp("hooks_see_documented_gradient")
def _():
    m = mlp(); st = Step(O.SGD(m.parameters(), lr=0.)); seen = []; m[0].weight.register_hook(lambda g: seen.append(g.clone())); xs = batches([4, 4, 4])
    with st:
        for x in st.micro_batches(xs): st.backward(loss_of(m, x))
    for s, x in zip(seen, xs): assert torch.equal(s, ref_hook(m, x)), "hook sees something else than gradient of the loss"
    seen.clear(); xs = batches([12, 4, 1])
    with st:
        for x in st.micro_batches(xs, weight=len): st.backward(loss_of(m, x))
    r = [(s / ref_hook(m, x)).median().item() for s, x in zip(seen, xs)]; assert .69 < r[0] < 1.43 and r[1] < r[0] and r[2] < r[1], r
@exp("clamping_hook_per_micro")
def _():
    a, b = mlp(), mlp(); oa, ob = [O.SGD(m.parameters(), lr=.1) for m in (a, b)]
    for m in (a, b): [p.register_hook(lambda g: g.clamp(-.02, .02)) for p in m.parameters()]
    st = Step(ob); xs = batches([4] * 4)
    for x in xs: loss_of(a, x).backward()
    for p in a.parameters(): p.grad.div_(4)
    oa.step()
    with st:
        for x in st.micro_batches(xs): st.backward(loss_of(b, x))
    same(a, b)
@exp("sparse_weighted_accum")
def _():
    torch.manual_seed(0); e = nn.Embedding(10, 3, sparse=True); d = copy.deepcopy(e); d.sparse = False
    o1, o2 = O.SGD(e.parameters(), lr=.1), O.SGD(d.parameters(), lr=.1); s1, s2 = Step(o1), Step(o2)
    ids = [torch.tensor([1, 2, 2]), torch.tensor([2, 5]), torch.tensor([9, 9, 9, 9, 1])]
    for _ in range(2):
        for st, m in ((s1, e), (s2, d)):
            with st:
                for i in st.micro_batches(ids, weight=len): st.backward(m(i).square().mean())
    close(e, d, 1e-6)
@exp("sparse_weighted_accum_ref_clip")
def _():
    torch.manual_seed(0); e = nn.Embedding(10, 3, sparse=True); d = copy.deepcopy(e); d.sparse = False
    o1, o2 = O.SGD(e.parameters(), lr=.1), O.SGD(d.parameters(), lr=.1)
    try: s1, s2 = Step(o1, clip=.01), Step(o2, clip=.01)
    except ZerogradError: raise Limit("refused")
    for st, m in ((s1, e), (s2, d)):
        with st:
            for i in st.micro_batches([torch.tensor([1, 2, 2]), torch.tensor([2, 5])], weight=len): st.backward(m(i).square().mean())
    close(e, d, 1e-6)
@exp("complex_weighted")
def _():
    torch.manual_seed(0); w = nn.Parameter(torch.randn(3, dtype=torch.cdouble)); w2 = nn.Parameter(w.detach().clone()); o = O.SGD([w], lr=.1); st = Step(o, clip=.1)
    xs = [torch.randn(n, 3, dtype=torch.cdouble) for n in (2, 5, 3)]; x = torch.cat(xs)
    with st:
        for b in st.micro_batches(xs, weight=len): st.backward((b @ w).abs().square().mean())
    (x @ w2).abs().square().mean().backward(); nn.utils.clip_grad_norm_([w2], .1); O.SGD([w2], lr=.1).step()
    assert (w - w2).abs().max() < 1e-14
@exp("groups_helper")
def _():
    assert list(groups("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]] and list(groups("bcde", 2, begun=1)) == [["b"], ["c", "d"], ["e"]]
    assert list(groups([], 3)) == [] and list(groups("ab", 5)) == [["a", "b"]]
    for bad in (dict(n=0), dict(n=-1), dict(n=2, begun=3), dict(n=2, begun=-1), dict(n=1.5), dict(n="2")):
        raises(ZerogradError, lambda: list(groups("abc", **bad)), "groups")
    assert list(groups("abc", 2, begun=2)) in ([["a", "b"], ["c"]], [[], ["a", "b"], ["c"]]), list(groups("abc", 2, begun=2))
@exp("groups_lazy")
def _():
    taken = []
    def gen():
        for i in range(10): taken.append(i); yield i
    g = groups(gen(), 3); next(g); assert taken == [0, 1, 2], taken
@exp("epoch_random_weights_vs_float64")
def _():
    random.seed(0); a, b = mlp(dtype=torch.float64), mlp(dtype=torch.float64); oa, ob = [O.AdamW(m.parameters(), lr=.01) for m in (a, b)]; st = Step(ob, clip=.3)
    xs = batches([random.randint(1, 9) for _ in range(23)], dtype=torch.float64)
    for g in groups(xs, 4):
        oa.zero_grad(); loss_of(a, torch.cat(g)).backward(); nn.utils.clip_grad_norm_(a.parameters(), .3); oa.step()
        with st:
            for x in st.micro_batches(g, weight=len): st.backward(loss_of(b, x))
        close(a, b, 1e-12)
@exp("weight_in_backward_gradient_arg")
def _():
    m = mlp(); o = Capture(m.parameters(), lr=0.); st = Step(o); xs = batches([3, 5])
    with st:
        for x in st.micro_batches(xs, weight=len):
            y = m(x).square(); st.backward(y, gradient=torch.full_like(y, 1 / y.numel()))
    assert rel(o.seen, ref64(m, xs, [3, 5])) < 1e-6
@exp("create_graph_with_weights_refused")
def _():
    m = mlp(); st = Step(O.SGD(m.parameters(), lr=.1)); s = snap(m)
    def f():
        with st:
            for x in st.micro_batches(batches([3, 5]), weight=len): st.backward(loss_of(m, x), create_graph=True)
    raises(StepError, f, "graph"); unmoved(m, s)
@exp("create_graph_bare_second_order")
def _():
    a, b = mlp(), mlp(); oa, ob = [O.SGD(m.parameters(), lr=.1) for m in (a, b)]; st = Step(ob); x = batches([4])[0]
    for _ in range(2):
        oa.zero_grad(); loss_of(a, x).backward(create_graph=True); sum(p.grad.square().sum() for p in a.parameters()).backward(); oa.step()
        try:
            with st:
                st.backward(loss_of(b, x), create_graph=True); st.backward(sum(p.grad.square().sum() for p in b.parameters()))
        except ZerogradError as e: raise AssertionError(f"refused {e}")
        close(a, b, 1e-7)
@exp("also_with_weights_unscaled")
def _():
    m = mlp(); st = Step(O.SGD(m.parameters(), lr=0.)); xs = [x.requires_grad_() for x in batches([3, 5])]
    with st:
        for x in st.micro_batches(xs, weight=len): st.backward(loss_of(m, x), also=[x])
    for x in xs:
        r, = torch.autograd.grad(loss_of(m, x), x); assert torch.allclose(x.grad, r, rtol=1e-5), (x.grad / r).mean()
@exp("compile_aot_eager")
def _():
    torch._dynamo.reset(); a, b = mlp(), mlp(); oa, ob = [O.AdamW(m.parameters()) for m in (a, b)]; ca, cb = [torch.compile(m, backend="aot_eager") for m in (a, b)]; st = Step(ob, clip=.1, model=cb)
    for i in range(3):
        xs = batches([4] * 2, seed=i); oa.zero_grad()
        for x in xs: (loss_of(ca, x) / 2).backward()
        nn.utils.clip_grad_norm_(a.parameters(), .1); oa.step()
        with st:
            for x in st.micro_batches(xs): st.backward(loss_of(cb, x))
        same(a, b)
@exp("weights_bool_masks_token_counts")
def _():
    # masked token loss with ignore_index
    torch.manual_seed(0); m = nn.Linear(4, 7); r = copy.deepcopy(m); o = O.SGD(m.parameters(), lr=.1); st = Step(o)
    xs = torch.randn(3, 5, 4); ys = torch.randint(7, (3, 5)); ys[0, 2:] = -100; ys[2, :] = -100
    with st:
        for x, y in st.micro_batches(zip(xs, ys), weight=lambda b: (b[1] >= 0).sum()): st.backward(F.cross_entropy(m(x), y))
    F.cross_entropy(r(xs.view(-1, 4)), ys.view(-1)).backward(); O.SGD(r.parameters(), lr=.1).step(); close(m, r, 1e-7); assert st.outcome.kind.value == "committed"
done()

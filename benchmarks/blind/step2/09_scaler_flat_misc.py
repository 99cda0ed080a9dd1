from common import *
import threading
O = torch.optim
g0 = torch.Generator().manual_seed(3); x0 = torch.randn(4, 4, generator=g0); x1 = torch.randn(6, 4, generator=g0)
def loss_of(m, x): return m(x).square().mean()
def sgd(m, **k): return O.SGD(m.parameters(), lr=.1, **k)
def GS(**k): return torch.amp.GradScaler("cpu", **{"init_scale": 64., **k})
class Boom(Exception): pass
def blk(s, m, xs, w=None):
    with s:
        for x in s.micro_batches(xs, weight=w): s.backward(loss_of(m, x))
def fr(s, b):
    with s: s.backward(loss_of(b, x0)); b[0].requires_grad_(False)
def blk0(s, b):
    with s: s.backward(loss_of(b, x0))
def wrong_or_refused(m, before, ref, f, s, tol=1e-6):
    "weights must be either unmoved with an error/skip, or those of ref"
    try: f()
    except ZerogradError as e: print("    refused:", str(e)[:110].replace("\n", " ")); unmoved(m, before); return
    except (AssertionError, RuntimeError) as e: print("    raw:", type(e).__name__, str(e)[:90]); unmoved(m, before); return
    if not s.outcome.moved: unmoved(m, before); print("    ", s.outcome.kind.value); return
    close(m, ref, tol, "SILENTLY WRONG weights")
def refw(xs=(x0,), seed=0):
    r = mlp(seed); o = sgd(r); loss_of(r, torch.cat(xs)).backward(); o.step(); return r
for how in ("update_new_scale", "load_state_dict", "private_scale_fill"):
    for n in (1, 2):
        @exp(f"scale_changed_inside_{how}_{n}")
        def _(how=how, n=n):
            m = mlp(); sc = GS(); s = Step(sgd(m), scaler=sc); 
            def warm(): pass
            sn = snap(m)
            def f():
                with s:
                    xs = [x0, x1][:n]
                    for i, x in enumerate(s.micro_batches(xs, weight=len)):
                        s.backward(loss_of(m, x))
                        if i == 0:
                            if how == "update_new_scale": sc.update(8.)
                            elif how == "load_state_dict": sc.load_state_dict({**sc.state_dict(), "scale": 8.})
                            else: sc._scale.fill_(8.)
            wrong_or_refused(m, sn, refw([x0, x1][:n]), f, s)
@exp("two_open_steps_share_scaler_other_overflows")
def _():
    a, b = mlp(), mlp(1); sc = GS(); sa, sb = Step(sgd(a), scaler=sc), Step(sgd(b), scaler=sc); sn = snap(a)
    def f():
        with sa:
            sa.backward(loss_of(a, x0))
            with sb: sb.backward(loss_of(b, x0) * float("inf"))
            with sb: sb.backward(loss_of(b, x0) * float("inf"))
    wrong_or_refused(a, sn, refw(), f, sa)
@exp("two_open_steps_share_scaler_interleaved_micro")
def _():
    a, b = mlp(), mlp(1); sc = GS(growth_interval=1); sa, sb = Step(sgd(a), scaler=sc), Step(sgd(b), scaler=sc); sn = snap(a)
    def f():
        with sa:
            for x in sa.micro_batches([x0, x1], weight=len):
                sa.backward(loss_of(a, x))
                with sb: sb.backward(loss_of(b, x))
    wrong_or_refused(a, sn, refw([x0, x1]), f, sa)
@exp("exception_then_other_scale")
def _():
    m = mlp(); sc = GS(); s = Step(sgd(m), scaler=sc)
    try:
        with s: s.backward(loss_of(m, x0)); raise Boom
    except Boom: pass
    sc.update(4.) if sc._scale is not None else None
    with s: s.backward(loss_of(m, x0))
    close(m, refw(), 1e-7); assert s.outcome.moved
@exp("scaler_plain_use_between_blocks")
def _():
    # plain loop with the same scaler before, then Step
    a, b = mlp(), mlp(); oa, ob = sgd(a), sgd(b); sa, sb = GS(growth_interval=2), GS(growth_interval=2); s = Step(ob, scaler=sb)
    for i in range(6):
        for o, sc, m in ((oa, sa, a), (ob, sb, b)):
            if m is b and i % 2: 
                with s: s.backward(loss_of(b, x0))
            else: o.zero_grad(); sc.scale(loss_of(m, x0)).backward(); sc.step(o); sc.update(); o.zero_grad()
        same(a, b); assert sa.state_dict() == sb.state_dict(), i
@exp("unscaled_by_hand_before_block_leftover")
def _():
    m = mlp(); o = sgd(m); sc = GS(); s = Step(o, scaler=sc); sc.scale(loss_of(m, x0)).backward(); sc.unscale_(o)
    with s: s.backward(loss_of(m, x0))
    close(m, refw(), 1e-7)
@exp("fp16_params_scaler")
def _():
    m = mlp(dtype=torch.float16); s = Step(sgd(m), scaler=GS()); sn = snap(m); r = mlp(dtype=torch.float16); l = loss_of(r, x0.half()); l.backward(); sgd(r).step()
    wrong_or_refused(m, sn, r, lambda: blk(s, m, [x0.half()]), s, 2e-3)
# ---- flat
CF = dict(scaler=lambda: dict(scaler=GS()), clip=lambda: dict(clip=.05), value=lambda: dict(clip={"value": .01}), per=lambda: dict(clip={"norm": .01, "per": "group"}), weights=lambda: dict(restore="weights"))
for k, kw in CF.items():
    for on, mk in dict(adamw=lambda m: O.AdamW(m.parameters(), lr=.05), fused=lambda m: O.AdamW(m.parameters(), lr=.05, fused=True), sgdm=lambda m: sgd(m, momentum=.9)).items():
        @exp(f"flat_vs_none_{k}_{on}")
        def _(kw=kw, mk=mk):
            a, b = mlp(), mlp(); oa, ob = mk(a), mk(b); sa, sb = Step(oa, model=a, **kw()), Step(ob, model=b, grads="flat", **kw())
            for i in range(5):
                for s, m in ((sa, a), (sb, b)):
                    with s:
                        for x in s.micro_batches([x0, x1, x0[:1]], weight=len): s.backward(loss_of(m, x) * (float("nan") if i == 2 else 1))
                same(a, b); same_state(oa, ob); assert sa.outcome.kind == sb.outcome.kind
@exp("flat_zero_grad_user_reads_grad_after")
def _():
    m = mlp(); s = Step(sgd(m), grads="flat")
    with s: s.backward(loss_of(m, x0))
    assert all(p.grad is None for p in m.parameters())
    loss_of(m, x0).backward(); g = m[0].weight.grad.clone()
    with s: s.backward(loss_of(m, x1))
    assert all(p.grad is None for p in m.parameters())
@exp("flat_sparse")
def _():
    e = nn.Embedding(5, 2, sparse=True); r = copy.deepcopy(e); sn = snap(e)
    try:
        s = Step(sgd(e), grads="flat")
        with s: s.backward(e(torch.tensor([1, 2])).sum())
    except ZerogradError as ex: print("    refused", str(ex)[:80]); unmoved(e, sn); return
    r(torch.tensor([1, 2])).sum().backward(); sgd(r).step(); same(e, r)
@exp("flat_frozen_unused_wd")
def _():
    a, b = [nn.ModuleDict(dict(a=nn.Linear(4, 2), b=nn.Linear(4, 2), c=nn.Linear(4, 2))) for _ in "ab"]; b.load_state_dict(a.state_dict()); oa, ob = [O.AdamW(m.parameters(), lr=.1, weight_decay=.5) for m in (a, b)]; s = Step(ob, grads="flat", clip=.1, model=b)
    for i in range(6):
        k = "abc"[i % 3]
        for m in (a, b): m["a"].requires_grad_(i != 3); 
        if i == 3: k = "b"
        oa.zero_grad(); (a[k](x0).square().mean() + a["c"](x0).mean()).backward(); nn.utils.clip_grad_norm_(a.parameters(), .1); oa.step()
        with s: s.backward(b[k](x0).square().mean() + b["c"](x0).mean())
        same(a, b)
# ---- inside-the-block manipulations
@exp("freeze_after_deposit")
def _():
    a, b = mlp(), mlp(); oa, ob = sgd(a), sgd(b); s = Step(ob); sn = snap(b)
    oa.zero_grad(); loss_of(a, x0).backward(); a[0].requires_grad_(False); oa.step()
    wrong_or_refused(b, sn, a, lambda: fr(s, b), s)
@exp("thaw_inside_between_micro")
def _():
    a, b = mlp(), mlp(); oa, ob = sgd(a), sgd(b); s = Step(ob); sn = snap(b)
    for m in (a, b): m[0].requires_grad_(False)
    for i, x in enumerate([x0, x1]):
        if i: a[0].requires_grad_(True)
        (loss_of(a, x) * len(x) / 10).backward()
    oa.step()
    def f():
        with s:
            for i, x in enumerate(s.micro_batches([x0, x1], weight=len)):
                if i: b[0].requires_grad_(True)
                s.backward(loss_of(b, x))
    wrong_or_refused(b, sn, a, f, s)
@exp("param_data_swapped_inside")
def _():
    m = mlp(); s = Step(sgd(m)); sn = snap(m)
    new = torch.zeros_like(m[0].weight)
    r = mlp(); loss_of(r, x0).backward(); r[0].weight.data = new.clone(); sgd(r).step()
    def f():
        with s: s.backward(loss_of(m, x0)); m[0].weight.data = new
    f(); close(m, r, 1e-7)
@exp("grad_set_then_removed_by_user_hook")
def _():
    # post-accumulate hook that consumes and frees the gradient (optimizer-in-backward style)
    m = mlp(); s = Step(sgd(m)); sn = snap(m); h = m[0].weight.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    try: blk(s, m, [x0]); print("    ", s.outcome)
    except StepError as e: print("    refused", str(e)[:80]); unmoved(m, sn)
    h.remove(); blk(s, m, [x0]); assert s.outcome.moved
@exp("postacc_hook_scales_grad_inplace")
def _():
    a, b = mlp(), mlp(); oa, ob = sgd(a), sgd(b); s = Step(ob); sn = snap(b)
    for m in (a, b): m[0].weight.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(.5) and None if False else (p.grad.mul_(.5), None)[1])
    loss_of(a, x0).backward(); oa.step()
    wrong_or_refused(b, sn, a, lambda: blk0(s, b), s)
@exp("backward_inside_loss_other_model")
def _():
    m, other = mlp(), mlp(1); oo = sgd(other); s = Step(sgd(m))
    with s:
        oo.zero_grad(); loss_of(other, x0).backward(); oo.step(); s.backward(loss_of(m, x0))
    same(m, refw()); 
@exp("autograd_grad_inside_untouched")
def _():
    m = mlp(); s = Step(sgd(m))
    with s:
        l = loss_of(m, x0); torch.autograd.grad(l, list(m.parameters()), retain_graph=True); s.backward(l)
    same(m, refw())
@exp("optimizer_prehook_changes_grad")
def _():
    a, b = mlp(), mlp(); oa, ob = sgd(a), sgd(b); s = Step(ob, grads="flat")
    for o, m in ((oa, a), (ob, b)): o.register_step_pre_hook(lambda o, *_: [p.grad.mul_(.5) for gr in o.param_groups for p in gr["params"]] and None)
    loss_of(a, x0).backward(); oa.step(); blk0(s, b); same(a, b)
@exp("lr_changed_inside")
def _():
    a, b = mlp(), mlp(); oa, ob = sgd(a), sgd(b); s = Step(ob)
    loss_of(a, x0).backward(); oa.param_groups[0]["lr"] = .7; oa.step()
    with s: s.backward(loss_of(b, x0)); ob.param_groups[0]["lr"] = .7
    same(a, b)
@exp("load_model_inside")
def _():
    m = mlp(); s = Step(sgd(m)); sd = mlp(5).state_dict(); r = mlp(); loss_of(r, x0).backward(); r.load_state_dict(sd); sgd(r).step()
    with s: s.backward(loss_of(m, x0)); m.load_state_dict(sd)
    same(m, r)
@exp("no_grad_around_block")
def _():
    m = mlp(); s = Step(sgd(m))
    with torch.no_grad():
        with s:
            with torch.enable_grad(): l = loss_of(m, x0)
            s.backward(l)
    same(m, refw())
@exp("inference_mode_around_commit")
def _():
    m = mlp(); s = Step(sgd(m)); sn = snap(m)
    try:
        with torch.enable_grad():
            s.__enter__(); s.backward(loss_of(m, x0))
        with torch.inference_mode(): s.__exit__(None, None, None)
    except Exception as e: print("    ", type(e).__name__, str(e)[:100]); unmoved(m, sn); return
    close(m, refw(), 0); blk0(s, m)
@exp("autocast_around_block_clip_scaler")
def _():
    a, b = mlp(), mlp(); oa, ob = sgd(a), sgd(b); sa, sb = GS(), GS(); s = Step(ob, scaler=sb, clip=.05, model=b)
    with torch.autocast("cpu", torch.bfloat16): l = loss_of(a, x0)
    sa.scale(l).backward(); sa.unscale_(oa); nn.utils.clip_grad_norm_(a.parameters(), .05); sa.step(oa); sa.update()
    with torch.autocast("cpu", torch.bfloat16):
        with s: s.backward(loss_of(b, x0))
    same(a, b)
@exp("default_dtype_double_mode")
def _():
    torch.set_default_dtype(torch.float64)
    try:
        a, b = mlp(dtype=torch.float32), mlp(dtype=torch.float32); oa, ob = sgd(a), sgd(b); s = Step(ob, clip=.05, model=b, scaler=None)
        for _ in range(3):
            oa.zero_grad(); loss_of(a, x0).backward(); nn.utils.clip_grad_norm_(a.parameters(), .05); oa.step(); blk0(s, b); same(a, b)
    finally: torch.set_default_dtype(torch.float32)
@exp("deterministic_algorithms_and_anomaly")
def _():
    with torch.autograd.set_detect_anomaly(True): a = mlp(); s = Step(sgd(a)); blk0(s, a); same(a, refw())
    m = mlp(); s = Step(sgd(m)); sn = snap(m)
    def f():
        with torch.autograd.set_detect_anomaly(True):
            with s: s.backward((m(x0) * 0).sqrt().mean() * float("nan"))
    try: f(); assert not s.outcome.moved
    except RuntimeError: pass
    unmoved(m, sn)
@exp("weakref_and_gc_of_step_between")
def _():
    import weakref
    m = mlp(); s = Step(sgd(m)); blk0(s, m); w = weakref.ref(s); del s; gc.collect(); assert w() is None, "Step leaks"
@exp("no_graph_leak")
def _():
    m = mlp(); s = Step(sgd(m), clip=.1); import weakref; refs = []
    for _ in range(3):
        with s: l = loss_of(m, x0); refs.append(weakref.ref(l)); s.backward(l); del l
    gc.collect(); assert all(r() is None for r in refs)
@exp("hundred_micro_memory_flat")
def _():
    m = mlp(); s = Step(sgd(m)); r = mlp(dtype=torch.float64)
    with s:
        for x in s.micro_batches([x0] * 300 + [x1], weight=len): s.backward(loss_of(m, x))
    (sum(loss_of(r, x.double()) * len(x) for x in [x0] * 300 + [x1]) / 1206).backward(); sgd(r).step(); close(m, r, 1e-5)
@exp("optimizer_same_params_twice_groups_warn")
def _():
    w = nn.Parameter(torch.ones(2)); a = O.SGD([w], lr=.1); b = O.AdamW([w], lr=.1); 
    try:
        s = Step([a, b]); w2 = nn.Parameter(torch.ones(2)); a2 = O.SGD([w2], lr=.1); b2 = O.AdamW([w2], lr=.1); w2.square().sum().backward(); a2.step(); b2.step()
        with s: s.backward(w.square().sum())
        assert torch.equal(w, w2)
    except StepError as e: print("    refused", str(e)[:90])
@exp("shared_param_two_optimizers_clip_norm_counts_once")
def _():
    w = nn.Parameter(torch.ones(4)); v = nn.Parameter(torch.ones(2)); a = O.SGD([w], lr=.1); b = O.SGD([w, v], lr=.1)
    try:
        s = Step([a, b], clip=1.)
        with s: s.backward(w.sum() + v.sum())
        assert abs(s.outcome.norm - 6**.5) < 1e-6, s.outcome.norm
    except StepError as e: print("    refused", str(e)[:90])
@exp("norm_huge_gradients")
def _():
    w = nn.Parameter(torch.ones(4)); s = Step(O.SGD([w], lr=1.), clip=1.); 
    with s: s.backward((w * 1e18).sum())
    assert torch.allclose(w, torch.full((4,), .5)), w
@exp("norm_overflow_float32")
def _():
    w = nn.Parameter(torch.ones(4)); s = Step(O.SGD([w], lr=1.), clip=1.)
    with s: s.backward((w * 1e30).sum())
    r = nn.Parameter(torch.ones(4)); (r * 1e30).sum().backward(); nn.utils.clip_grad_norm_([r], 1.); O.SGD([r], lr=1.).step(); assert torch.equal(r, w), (r, w, s.outcome)
@exp("scaled_overflow_but_true_finite_skips_like_torch")
def _():
    a, b = mlp(), mlp(); oa, ob = sgd(a), sgd(b); sa, sb = GS(init_scale=2.**120), GS(init_scale=2.**120); s = Step(ob, scaler=sb)
    for _ in range(6):
        oa.zero_grad(); sa.scale(loss_of(a, x0 * 1e6)).backward(); sa.step(oa); sa.update(); 
        with s: s.backward(loss_of(b, x0 * 1e6))
        same(a, b); assert sa.get_scale() == sb.get_scale()
@exp("scale_never_below_diverged")
def _():
    m = mlp(); s = Step(sgd(m), scaler=GS(init_scale=4.), max_skips=5); n = 0
    try:
        for n in range(400): 
            with s: s.backward(loss_of(m, x0) * float("nan"))
        raise AssertionError("never diverged")
    except Diverged: print("    after", n + 1, "scale", s and None)
@exp("cuda_scaler_disabled_on_cpu_default")
def _():
    # torch.amp.GradScaler() default device cuda: on a machine without one it disables itself; plain loop works
    m = mlp(); s = Step(sgd(m), scaler=torch.amp.GradScaler()); blk0(s, m); same(m, refw())
@exp("step_in_module_attr_and_state_dict_roundtrip_counts")
def _():
    m = mlp(); s = Step(sgd(m)); blk0(s, m); d = s.state_dict(); t = Step(sgd(m)); t.load_state_dict(d); assert t.committed == 1
@exp("weight_decay_none_vs_zero_micro")
def _():
    # parameter used only in one micro-batch, and one never: never-used keeps None (no decay, no momentum)
    a = nn.ModuleDict(dict(a=nn.Linear(4, 2), b=nn.Linear(4, 2), c=nn.Linear(4, 2))); b = copy.deepcopy(a); oa, ob = [sgd(m, weight_decay=.3, momentum=.9) for m in (a, b)]; s = Step(ob)
    for i in range(3):
        oa.zero_grad()
        for k, x in (("a", x0), ("b", x0)): (a[k](x).square().mean() / 2).backward()
        oa.step()
        with s:
            for k in s.micro_batches(["a", "b"]): s.backward(b[k](x0).square().mean())
        same(a, b)
@exp("lazy_module_and_uninitialised")
def _():
    m = nn.Sequential(nn.LazyLinear(3), nn.Linear(3, 1)); o = O.SGD(m.parameters(), lr=.1); s = Step(o)
    try:
        m(x0); blk0(s, m); assert s.outcome.moved
    except ZerogradError as e: print("    refused", str(e)[:80])
@exp("tensor_subclass_params_quant_dtype_meta")
def _():
    m = nn.Linear(4, 2, device="meta")
    try: s = Step(sgd(m))
    except ZerogradError as e: print("    refused", str(e)[:80])
@exp("two_forward_threads_dataparallel_style")
def _():
    m = mlp(); s = Step(sgd(m)); res = []
    with s:
        th = threading.Thread(target=lambda: res.append(loss_of(m, x0))); th.start(); th.join(); s.backward(res[0])
    same(m, refw())
@exp("copy_params_to_other_step_after_gc_reuse_id")
def _():
    for i in range(30):
        m = mlp(); s = Step(sgd(m)); blk0(s, m); same(m, refw()); del m, s
@exp("func_grad_vmap_inside_loss")
def _():
    m = mlp(); r = mlp(); o = sgd(r); s = Step(sgd(m))
    L = lambda m: torch.vmap(lambda v: m(v[None]).square().mean())(x0).mean()
    L(r).backward(); o.step()
    with s: s.backward(L(m))
    same(m, r)
@exp("jvp_hessian_vector_inside")
def _():
    L = lambda m: sum(t.square().sum() for t in torch.autograd.grad(loss_of(m, x0), list(m.parameters()), create_graph=True))
    m, r = mlp(), mlp(); L(r).backward(); sgd(r).step(); s = Step(sgd(m))
    with s: s.backward(L(m))
    same(m, r)
@exp("maml_inner_functional")
def _():
    def L(m):
        ps = dict(m.named_parameters())
        for _ in range(2):
            l = torch.func.functional_call(m, ps, (x0,)).square().mean(); gs = torch.autograd.grad(l, list(ps.values()), create_graph=True); ps = {k: p - .1 * g for (k, p), g in zip(ps.items(), gs)}
        return torch.func.functional_call(m, ps, (x1,)).square().mean()
    m, r = mlp(), mlp(); L(r).backward(); sgd(r).step(); s = Step(sgd(m))
    with s: s.backward(L(m))
    same(m, r)
@exp("reentrant_checkpoint_weighted_other_leaves")
def _():
    from torch.utils.checkpoint import checkpoint
    m, r, other = mlp(), mlp(), nn.Linear(2, 2); s = Step(sgd(m)); xr = [x.clone().requires_grad_() for x in (x0, x1)]
    for x in xr: (checkpoint(lambda t: other(r(t)), x, use_reentrant=True).square().mean() * len(x) / 10).backward()
    sgd(r).step(); other.zero_grad()
    with s:
        for x in s.micro_batches(xr, weight=len): s.backward(checkpoint(lambda t: other(m(t)), x, use_reentrant=True).square().mean())
    close(m, r, 1e-7); assert other.weight.grad is None
done()

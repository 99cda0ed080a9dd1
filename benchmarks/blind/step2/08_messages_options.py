from common import *
import threading, pickle
O = torch.optim
x0 = torch.randn(4, 4, generator=torch.Generator().manual_seed(3))
def loss_of(m, x): return m(x).square().mean()
def sgd(m): return O.SGD(m.parameters(), lr=.1)
m = mlp()
BAD = {
 "optimizers_empty": lambda: Step([]), "optimizers_none": lambda: Step(None), "optimizers_str": lambda: Step("sgd"), "optimizers_dup": lambda: (lambda o: Step([o, o]))(sgd(m)), "optimizers_model": lambda: Step(m), "optimizers_params": lambda: Step(list(m.parameters())), "optimizers_generator_mix": lambda: Step([sgd(m), 3]),
}
for k, f in BAD.items(): exp(k)(lambda f=f: raises(StepError, f, "errors.md#optimizers"))
OPT = dict(clip=[0, -1, "1", float("nan"), {"norm": 0}, {"norm": "x"}, {"value": -1}, {"norm": 1, "per": "param"}, {"foo": 1}, {}, {"norm": 1, "value": 1}, True, [1.0], torch.tensor(1.0), {"value": .5, "per": "group"}, {"norm": float("nan")}, {"per": "group"}],
 nonfinite=["", "SKIP", None, True, "warn"], max_skips=[0, -1, "3", None, float("nan")], autocast=["bf16", True, torch.int32, torch.complex64], restore=["weight", ("rng", "foo"), 3, {"weights": 1} and ["weights", None], True], inspect=[3, "x", [lambda n: None, 3]], grads=["", "Flat", None, 1], sync=["", "all", 1, True], isolate=["no"], trace=[3], model=["x", 3], scheduler=["x", 3], scaler=["x", 3])
for k, vs in OPT.items():
    for v in vs:
        @exp(f"option_{k}_{v!r:.40}")
        def _(k=k, v=v):
            mm = mlp()
            try: s = Step(sgd(mm), **{k: v})
            except StepError as e: assert "docs/errors.md#" in str(e), e; return
            except Exception as e: raise AssertionError(f"raw {type(e).__name__}: {e}")
            # accepted: does it work, sensibly?
            try:
                with s: s.backward(loss_of(mm, x0))
                print(f"    accepted {k}={v!r}: {s.outcome.kind.value}")
                assert (k, repr(v)) in {("clip", "tensor(1.)"), ("isolate", "'no'"), ("max_skips", "nan"), ("model", "None"), ("clip", "True"), ("sync", "''"), ("autocast", "torch.int32"), ("autocast", "torch.complex64")} , "accepted without a word"
            except StepError as e: print("    late:", str(e)[:80])
@exp("unknown_keyword")
def _(): raises(TypeError, lambda: Step(sgd(m), clip_norm=1))
@exp("plateau_refused")
def _(): o = sgd(m); raises(StepError, lambda: Step(o, scheduler=O.lr_scheduler.ReduceLROnPlateau(o)), "errors.md#scheduler")
@exp("foreign_scheduler_refused")
def _(): o = sgd(m); raises(StepError, lambda: Step(o, scheduler=O.lr_scheduler.StepLR(sgd(m), 1)), "errors.md#scheduler")
@exp("chained_sequential_foreign_refused")
def _(): o = sgd(m); q = sgd(m); raises(StepError, lambda: Step(o, scheduler=O.lr_scheduler.ChainedScheduler([O.lr_scheduler.StepLR(q, 1)])), "errors.md#scheduler")
@exp("scaler_nonfinite_raise_refused")
def _(): raises(StepError, lambda: Step(sgd(m), scaler=torch.amp.GradScaler("cpu"), nonfinite="raise"), "errors.md#")
@exp("scaler_disabled_ok")
def _():
    a, b = mlp(), mlp(); s = Step(sgd(a), scaler=torch.amp.GradScaler("cpu", enabled=False)); o = sgd(b)
    with s: s.backward(loss_of(a, x0))
    loss_of(b, x0).backward(); o.step(); same(a, b)
for nm, body in dict(
  scale=lambda m, s, sc: s.backward(sc.scale(loss_of(m, x0))), scale_term=lambda m, s, sc: s.backward(sc.scale(loss_of(m, x0)) + m(x0).mean()), unscale=lambda m, s, sc: (s.backward(loss_of(m, x0)), sc.unscale_(s_o[0])), step=lambda m, s, sc: (s.backward(loss_of(m, x0)), sc.step(s_o[0])), update=lambda m, s, sc: (s.backward(loss_of(m, x0)), sc.update())).items():
    @exp("scaler_by_hand_" + nm)
    def _(nm=nm, body=body):
        global s_o; mm = mlp(); o = sgd(mm); s_o = [o]; sc = torch.amp.GradScaler("cpu", init_scale=1024.); s = Step(o, scaler=sc); sn = snap(mm)
        with s: s.backward(loss_of(mm, x0))
        sn = snap(mm); s0 = sc.get_scale()
        def f():
            with s: body(mm, s, sc)
        try: f()
        except StepError as e: assert "errors.md#scaler" in str(e) or "inside" in str(e) or "changed" in str(e), e; unmoved(mm, sn)
        except Exception as e: unmoved(mm, sn); raise AssertionError(f"raw {type(e).__name__}: {e}")
        else: raise AssertionError("accepted")
        with s: s.backward(loss_of(mm, x0))
        assert s.outcome.moved, s.outcome
for nm, args in dict(not_tensor=lambda m: 3., loss_int=lambda m: torch.tensor(3), none=lambda m: None, numpy=lambda m: m(x0).detach().numpy(), multi=lambda m: m(x0), list_=lambda m: [m(x0).mean()], item=lambda m: m(x0).mean().item()).items():
    @exp("backward_arg_" + nm)
    def _(args=args):
        mm = mlp(); s = Step(sgd(mm)); sn = snap(mm)
        def f():
            with s: s.backward(args(mm))
        try: f()
        except StepError as e: assert "errors.md#" in str(e)
        except RuntimeError as e: assert nm == "multi" or "grad can be implicitly" in str(e), e; print("    torch says:", str(e)[:70])
        except Exception as e: raise AssertionError(f"raw {type(e).__name__}: {e}")
        else: raise AssertionError("accepted")
        unmoved(mm, sn)
        with s: s.backward(loss_of(mm, x0))
@exp("all_frozen")
def _():
    mm = mlp(); mm.requires_grad_(False); s = Step(sgd(mm)); xr = x0.clone().requires_grad_()
    def f():
        with s: s.backward(loss_of(mm, xr))
    raises(StepError, f, "detached-loss")
for nm, it in dict(none=None, int_=3, empty=[], gen_empty=iter(())).items():
    @exp("micro_batches_of_" + nm)
    def _(it=it):
        mm = mlp(); s = Step(sgd(mm)); sn = snap(mm)
        def f():
            with s:
                for x in s.micro_batches(it): s.backward(loss_of(mm, x))
        try: f()
        except StepError as e: print("   ", str(e)[:80].replace("\n", " "))
        except TypeError as e: print("    plain Python:", e)
        except Exception as e: raise AssertionError(f"raw {type(e).__name__}: {e}")
        else: print("    ", s.outcome)
        unmoved(mm, sn)
        with s: s.backward(loss_of(mm, x0))
for nm, kw in dict(weight_str=dict(weight="len"), weight_num=dict(weight=3), reduce_x=dict(reduce="max"), reduce_none=dict(reduce=None)).items():
    @exp("micro_kw_" + nm)
    def _(kw=kw):
        mm = mlp(); s = Step(sgd(mm)); sn = snap(mm)
        def f():
            with s:
                for x in s.micro_batches([x0, x0], **kw): s.backward(loss_of(mm, x))
        try: f()
        except StepError as e: assert "errors.md#" in str(e)
        except TypeError as e: print("    plain Python:", e)
        except Exception as e: raise AssertionError(f"raw {type(e).__name__}: {e}")
        else: raise AssertionError("accepted")
        unmoved(mm, sn)
for nm, mk in dict(not_leaf=lambda: x0 * 1, no_rg=lambda: x0.clone(), computed=lambda: x0.clone().requires_grad_() * 2, string="x", param=None).items():
    @exp("also_" + nm)
    def _(nm=nm, mk=mk):
        mm = mlp(); s = Step(sgd(mm)); sn = snap(mm); t = mk() if callable(mk) else mk
        if nm == "param": t = mm[0].weight
        def f():
            with s: s.backward(loss_of(mm, t if torch.is_tensor(t) and t.shape == (4, 4) else x0), also=[t])
        try: f(); print("    accepted", s.outcome.kind.value, nm); assert nm == "param", "accepted"
        except StepError as e: assert "errors.md#also" in str(e), e; unmoved(mm, sn)
        except AssertionError: raise
        except Exception as e: raise AssertionError(f"raw {type(e).__name__}: {e}")
@exp("also_retain_grad_ok")
def _():
    mm = mlp(); s = Step(sgd(mm)); h = None
    with s:
        h = mm[0](x0); h.retain_grad(); s.backward(mm[2](mm[1](h)).square().mean(), also=[h])
    assert h.grad is not None
@exp("state_dict_inside_error_include_drop")
def _():
    mm = mlp(); s = Step(sgd(mm)); 
    with s:
        s.backward(loss_of(mm, x0)); raises(StepError, lambda: s.state_dict(), "errors.md#in-flight"); a = s.state_dict(inflight="include"); b = s.state_dict(inflight="drop"); raises(StepError, lambda: s.state_dict(inflight="x"), "errors.md#")
    assert s.outcome.moved
for nm, st in dict(empty={}, none=None, string="x", wrong=dict(a=1), list_=[]).items():
    @exp("load_state_dict_" + nm)
    def _(st=st):
        s = Step(sgd(mlp())); 
        try: s.load_state_dict(st)
        except StepError as e: assert "in-flight" in str(e), e
        except Exception as e: raise AssertionError(f"raw {type(e).__name__}: {e}")
        else: raise AssertionError("accepted")
@exp("load_inflight_other_shapes_refused")
def _():
    a = mlp(); s = Step(sgd(a))
    try:
        with s:
            for x in s.micro_batches([x0] * 3): s.backward(loss_of(a, x)); st = s.state_dict(inflight="include"); raise OSError
    except OSError: pass
    b = mlp(h=7); s2 = Step(sgd(b)); raises(StepError, lambda: s2.load_state_dict(st), "in-flight"); assert s2.in_flight == 0
    with s2: s2.backward(loss_of(b, x0))
    assert s2.outcome.moved
@exp("inflight_pickle_torch_save_weights_only")
def _():
    import io
    a = mlp(); s = Step(sgd(a)); b = io.BytesIO()
    try:
        with s:
            for i, x in enumerate(s.micro_batches([x0[:3], x0], weight=len)): s.backward(loss_of(a, x)); torch.save(s.state_dict(inflight="include"), b); raise OSError
    except OSError: pass
    b.seek(0); st = torch.load(b, weights_only=True); c = mlp(); sc = Step(sgd(c)); sc.load_state_dict(st); assert sc.in_flight == 1
    with sc:
        for x in sc.micro_batches([x0], weight=len): sc.backward(loss_of(c, x))
    d = mlp(); sd = Step(sgd(d))
    with sd:
        for x in sd.micro_batches([x0[:3], x0], weight=len): sd.backward(loss_of(d, x))
    same(c, d); assert sc.outcome.weight == 7 and sc.outcome.micro_batches == 2, sc.outcome
@exp("inflight_with_scaler_other_scale")
def _():
    a = mlp(); s = Step(sgd(a), scaler=torch.amp.GradScaler("cpu", init_scale=1024.))
    try:
        with s:
            for i, x in enumerate(s.micro_batches([x0[:3], x0], weight=len)): s.backward(loss_of(a, x)); st = s.state_dict(inflight="include"); raise OSError
    except OSError: pass
    for scale in (1024., 8., None):
        c = mlp(dtype=torch.float32); sc = Step(sgd(c), scaler=torch.amp.GradScaler("cpu", init_scale=scale) if scale else None)
        try:
            sc.load_state_dict(st)
            with sc:
                for x in sc.micro_batches([x0], weight=len): sc.backward(loss_of(c, x))
        except StepError as e: print("    refused", scale, str(e)[:100]); continue
        d = mlp(); loss_of(d, torch.cat([x0[:3], x0])).backward(); sgd(d).step(); close(c, d, 1e-6)
@exp("inflight_then_exception_then_next")
def _():
    # loaded deposits, the block rolls back: what of the deposits? nothing leaks into a later block unless documented
    a = mlp(); s = Step(sgd(a))
    try:
        with s:
            for x in s.micro_batches([x0[:3], x0], weight=len): s.backward(loss_of(a, x)); st = s.state_dict(inflight="include"); raise OSError
    except OSError: pass
    c = mlp(); sc = Step(sgd(c)); sc.load_state_dict(st)
    try:
        with sc:
            for x in sc.micro_batches([x0], weight=len): raise OSError
    except OSError: pass
    print("    in_flight after the failure:", sc.in_flight, sc.outcome)
    with sc:
        for x in sc.micro_batches([x0], weight=len): sc.backward(loss_of(c, x))
    d = mlp(); loss_of(d, x0).backward(); sgd(d).step(); e = mlp(); loss_of(e, torch.cat([x0[:3], x0])).backward(); sgd(e).step()
    try: close(c, d, 1e-6); print("    deposits were dropped with the block")
    except AssertionError: close(c, e, 1e-6); print("    deposits are kept for the next block")
@exp("inflight_flat")
def _():
    for g1 in ("none", "flat"):
        for g2 in ("none", "flat"):
            a = mlp(); s = Step(sgd(a), grads=g1)
            try:
                with s:
                    for x in s.micro_batches([x0[:3], x0], weight=len): s.backward(loss_of(a, x)); st = s.state_dict(inflight="include"); raise OSError
            except OSError: pass
            c = mlp(); sc = Step(sgd(c), grads=g2); sc.load_state_dict(st)
            with sc:
                for x in sc.micro_batches([x0], weight=len): sc.backward(loss_of(c, x))
            e = mlp(); se = Step(sgd(e))
            with se:
                for x in se.micro_batches([x0[:3], x0], weight=len): se.backward(loss_of(e, x))
            same(c, e)
@exp("pickle_step")
def _():
    mm = mlp(); o = sgd(mm); s = Step(o, clip=1.)
    try: m2, o2, s2 = pickle.loads(pickle.dumps((mm, o, s)))
    except ZerogradError as e: print("    refused", e); return
    except Exception as e: print("    raw", type(e).__name__, str(e)[:100]); raise
    with s2: s2.backward(loss_of(m2, x0))
    with s: s.backward(loss_of(mm, x0))
    same(mm, m2)
@exp("deepcopy_while_open")
def _():
    mm = mlp(); o = sgd(mm); s = Step(o)
    with s:
        s.backward(loss_of(mm, x0))
        try: m2, o2, s2 = copy.deepcopy((mm, o, s)); r = "copied"
        except ZerogradError as e: r = "refused " + str(e)[:60]
        except Exception as e: raise AssertionError(f"raw {type(e).__name__}: {e}")
    print("   ", r); assert s.outcome.moved
    if r == "copied":
        try:
            with s2: s2.backward(loss_of(m2, x0))
        except ZerogradError as e: print("   ", e)
        else: same(mm, m2)
@exp("deepcopy_step_alone")
def _():
    mm = mlp(); s = Step(sgd(mm)); s2 = copy.deepcopy(s); sn = snap(mm)
    try:
        with s2: s2.backward(loss_of(mm, x0))
        print("    copy of the step alone moved the original:", s2.outcome)
    except ZerogradError as e: unmoved(mm, sn)
@exp("trace_callable_and_path")
def _():
    import tempfile
    ev = []; mm = mlp(); s = Step(sgd(mm), trace=ev.append)
    with s: s.backward(loss_of(mm, x0))
    assert ev
    f = tempfile.mktemp(prefix="tmp_tr_"); s = Step(sgd(mm), trace=f)
    with s: s.backward(loss_of(mm, x0))
    del s; gc.collect(); assert os.path.getsize(f) > 0; os.unlink(f)
@exp("trace_raises")
def _():
    mm = mlp(); 
    def bad(e): raise OSError("disk")
    s = Step(sgd(mm), trace=bad); sn = snap(mm)
    try:
        with s: s.backward(loss_of(mm, x0))
        print("    swallowed", s.outcome)
    except BaseException as e: print("   ", type(e).__name__, str(e)[:90].replace("\n", " "), s.outcome and s.outcome.kind.value)
    mv = any(not torch.equal(p, q) for p, q in zip(mm.parameters(), sn[0])); assert s.outcome is None or s.outcome.kind.value == "torn" or mv == s.outcome.moved, (mv, s.outcome)
@exp("reuse_outcome_repr_and_none")
def _():
    s = Step(sgd(mlp())); assert s.outcome is None and s.committed == 0 and s.skipped == 0 and s.in_flight == 0
@exp("audit_plays_along")
def _():
    mm = mlp(); s = Step(sgd(mm), clip=1.)
    with zerograd.audit(on_finding="collect") as a:
        for i in range(4):
            with s:
                for x in s.micro_batches([x0, x0[:2]], weight=len): s.backward(loss_of(mm, x) * (float("nan") if i == 2 else 1))
    assert not a.findings, a.findings
@exp("warning_when_skipped")
def _():
    mm = mlp(); s = Step(sgd(mm))
    with warnings.catch_warnings(record=True) as ws:
        warnings.simplefilter("always")
        with s: s.backward(loss_of(mm, x0) * float("nan"))
    assert ws, "skips, says so (faq)"; print("   ", str(ws[0].message)[:100])
@exp("accelerate_optimizer_scheduler")
def _():
    from accelerate import Accelerator
    acc = Accelerator(cpu=True); a, b = mlp(), mlp(); oa, ob = sgd(a), sgd(b); cb = O.lr_scheduler.StepLR(ob, 1); ca = O.lr_scheduler.StepLR(oa, 1); pm, po, pc = acc.prepare(b, ob, cb); s = Step(po, clip=.1, model=pm)
    for k in range(3):
        oa.zero_grad(); loss_of(a, x0).backward(); nn.utils.clip_grad_norm_(a.parameters(), .1); oa.step()
        with s: s.backward(loss_of(pm, x0))
        same(a, b)
@exp("accelerate_accumulate_idle")
def _():
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, GradientState
    AcceleratorState._reset_state(True); GradientState._reset_state(); acc = Accelerator(cpu=True, gradient_accumulation_steps=4); b = mlp(); pm, po = acc.prepare(b, sgd(b)); s = Step(po); sn = snap(b)
    def f():
        for _ in range(2):
            with acc.accumulate(pm):
                with s: s.backward(loss_of(pm, x0))
    raises(StepError, f, "idle-optimizer"); unmoved(b, sn); GradientState._reset_state(); AcceleratorState._reset_state(True)
@exp("transformers_scheduler_and_model")
def _():
    from transformers import get_cosine_schedule_with_warmup, GPT2Config, GPT2LMHeadModel
    torch.manual_seed(0); cfg = GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=17, n_positions=16, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0); a = GPT2LMHeadModel(cfg); b = copy.deepcopy(a); oa, ob = O.AdamW(a.parameters(), lr=.01), O.AdamW(b.parameters(), lr=.01); ca, cb = [get_cosine_schedule_with_warmup(o, 2, 10) for o in (oa, ob)]; s = Step(ob, clip=.5, scheduler=cb, model=b)
    for k in range(4):
        ids = torch.randint(17, (2, 6), generator=torch.Generator().manual_seed(k)); oa.zero_grad(); a(input_ids=ids, labels=ids).loss.backward(); nn.utils.clip_grad_norm_(a.parameters(), .5); oa.step(); ca.step()
        with s: s.backward(b(input_ids=ids, labels=ids).loss)
        same(a, b); assert ca.get_last_lr() == cb.get_last_lr()
@exp("lightning_fabric_optimizer")
def _():
    from lightning.fabric import Fabric
    fa = Fabric(accelerator="cpu", devices=1); a, b = mlp(), mlp(); oa, ob = O.AdamW(a.parameters()), O.AdamW(b.parameters()); fm, fo = fa.setup(b, ob); s = Step(fo, clip=.1)
    for k in range(3):
        oa.zero_grad(); loss_of(a, x0).backward(); nn.utils.clip_grad_norm_(a.parameters(), .1); oa.step()
        with s: s.backward(loss_of(fm, x0))
        same(a, b)
@exp("custom_optimizer_no_foreach")
def _():
    class My(O.Optimizer):
        def __init__(s, p): super().__init__(p, {})
        @torch.no_grad()
        def step(s, closure=None):
            for g in s.param_groups:
                for p in g["params"]:
                    if p.grad is not None: p -= .1 * p.grad; s.state[p]["n"] = s.state[p].get("n", 0) + 1
    a, b = mlp(), mlp(); oa, ob = My(a.parameters()), My(b.parameters()); s = Step(ob, restore="weights")
    for _ in range(3):
        oa.zero_grad(); loss_of(a, x0).backward(); oa.step()
        with s: s.backward(loss_of(b, x0))
    same(a, b)
@exp("backward_through_input_grad_hook_second_model_training")
def _():
    # retain_grad on intermediate as in plain loop
    mm = mlp(); s = Step(sgd(mm))
    with s: h = mm[0](x0); h.retain_grad(); s.backward(mm[2](h).mean())
    assert h.grad is not None, "limits: hooks and retain_grad on tensors that lead to none of the params run as in plain loop; these lead to params"
@exp("frozen_leaf_requires_grad_input_not_left")
def _():
    mm = mlp(); s = Step(sgd(mm)); xi = x0.clone().requires_grad_()
    with s: s.backward(loss_of(mm, xi))
    assert xi.grad is None
@exp("loss_of_other_dtype_half")
def _():
    mm = mlp(); s = Step(sgd(mm)); r = mlp()
    with s:
        for x in s.micro_batches([x0] * 3): s.backward(loss_of(mm, x).half())
    for _ in range(3): loss_of(r, x0).half().backward()
    for p in r.parameters(): p.grad.div_(3)
    sgd(r).step(); close(mm, r, 1e-4)
@exp("fp16_loss_with_big_weight_no_overflow")
def _():
    mm = mlp(); s = Step(sgd(mm)); r = mlp()
    with s:
        for x in s.micro_batches([x0, x0], weight=lambda x: 1e7): s.backward(loss_of(mm, x).half())
    assert s.outcome.kind.value == "committed"; loss_of(r, x0).half().backward(); sgd(r).step(); close(mm, r, 1e-3)
@exp("light_micro_batch_underflow_fp16_loss")
def _():
    # a micro-batch much lighter than the heaviest must still count (fp32 params, fp16 loss)
    w = nn.Parameter(torch.zeros(2)); s = Step(O.SGD([w], lr=1.)); 
    with s:
        for i, n in enumerate(s.micro_batches([2**20, 1], weight=lambda n: n)): s.backward((w[i] * (1. if i == 0 else 2.**20)).half() if False else (w[i] * (1. if i == 0 else 1000.)))
    exp_ = -1000. / (2**20 + 1); assert abs(w[1].item() - exp_) < abs(exp_) * 1e-5, (w[1].item(), exp_)
done()

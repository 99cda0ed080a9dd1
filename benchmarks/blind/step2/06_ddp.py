# 2 ranks over gloo. python 06_ddp.py starts both; rank 0 prints.
import os, sys, subprocess, socket, time
if "RANK" not in os.environ:
    s = socket.socket(); s.bind(("127.0.0.1", 0)); port = s.getsockname()[1]; s.close()
    import tempfile, shutil; tmp = tempfile.mkdtemp(prefix="tmp_ddp_")
    ps = [subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, RANK=str(r), WORLD_SIZE="2", LOCAL_RANK=str(r), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1", TMPD=tmp)) for r in (0, 1)]
    try:
        end = time.time() + 170; rc = [p.wait(max(1, end - time.time())) for p in ps]
    except subprocess.TimeoutExpired:
        print("FAIL whole: hang", flush=True); [p.kill() for p in ps]; rc = [1]
    shutil.rmtree(tmp, ignore_errors=True); sys.exit(1 if any(rc) else 0)
from common import *
import common, datetime, builtins
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
RANK = int(os.environ["RANK"]); TMP = os.environ["TMPD"]
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=25))
O = torch.optim
class Boom(Exception): pass
def loss_of(m, x): return m(x).square().mean()
def dexp(name):
    "an experiment on both ranks; OK only if both are"
    def deco(f):
        if sys.argv[1:] and not any(o in name for o in sys.argv[1:]): return f
        try: f(); r = ("OK", "")
        except Limit as e: r = ("LIMIT", str(e))
        except BaseException as e:
            r = ("FAIL", f"rank {RANK}: {type(e).__name__} {e}".replace("\n", " | ")[:500])
            if os.environ.get("TB"): traceback.print_exc()
        out = [None, None]; dist.all_gather_object(out, r)
        worst = max(out, key=lambda t: ["OK", "LIMIT", "FAIL"].index(t[0])); RES.append((name, worst[0]))
        if RANK == 0: print(worst[0], name + (": " + " || ".join(o[1] for o in out if o[1]) if worst[1] else ""), flush=True)
        gc.collect()
        return f
    return deco
def msg(e):
    o = [None, None]; dist.all_gather_object(o, str(e))
    if RANK == 0: print("    ", o, flush=True)
    assert "rank 1" in o[0], "the other rank is not told who failed"
def data(k, sizes0, sizes1, d=4, dtype=torch.float64):
    g = torch.Generator().manual_seed(100 + k); xs = [[torch.randn(n, d, generator=g, dtype=torch.float64).to(dtype) for n in s] for s in (sizes0, sizes1)]
    return xs[RANK], xs[0] + xs[1]
def gathered_same(m):
    v = torch.cat([p.detach().flatten().double() for p in m.parameters()]); o = [torch.empty_like(v) for _ in range(2)]; dist.all_gather(o, v); assert torch.equal(o[0], o[1]), f"ranks drifted by {(o[0]-o[1]).abs().max()}"
SHAPES = dict(equal=([4, 4], [4, 4]), unequal=([4, 1, 7], [2, 9, 3]), counts=([4, 1, 7], [5]), none=([3, 2], []), one_zero=([3, 2], [0, 0]))
for sync in ("overlap", "commit", "each", None):
    for sh, (a, b) in SHAPES.items():
        if sync == "each" and sh == "none": pass
        @dexp(f"ddp_exact_{sync}_{sh}")
        def _(sync=sync, a=a, b=b):
            m = mlp(dtype=torch.float64); r = mlp(dtype=torch.float64); w = DDP(m); o, ro = O.AdamW(m.parameters(), lr=.01), O.AdamW(r.parameters(), lr=.01); s = Step(o, clip=.3, sync=sync)
            for k in range(3):
                mine, all_ = data(k, a, b)
                ro.zero_grad(); loss_of(r, torch.cat(all_)).backward(); n = nn.utils.clip_grad_norm_(r.parameters(), .3); ro.step()
                with s:
                    for x in s.micro_batches(mine, weight=len): s.backward(loss_of(w, x))
                close(m, r, 1e-12); gathered_same(m); assert abs(s.outcome.norm - n.item()) < 1e-12
    @dexp(f"ddp_bare_{sync}")
    def _(sync=sync):
        a, b = mlp(dtype=torch.float64), mlp(dtype=torch.float64); wa, wb = DDP(a), DDP(b); oa, ob = [O.AdamW(m.parameters(), lr=.01) for m in (a, b)]; s = Step(ob, sync=sync)
        for k in range(4):
            mine, _ = data(k, [4], [4]); oa.zero_grad(); loss_of(wa, mine[0]).backward(); oa.step()
            with s: s.backward(loss_of(wb, mine[0]))
            close(a, b, 1e-14)
    @dexp(f"ddp_scaler_inf_one_rank_{sync}")
    def _(sync=sync):
        m = mlp(); w = DDP(m); o = O.AdamW(m.parameters()); sc = torch.amp.GradScaler("cpu", init_scale=64., growth_interval=2); c = O.lr_scheduler.StepLR(o, 1); s = Step(o, scaler=sc, scheduler=c, sync=sync)
        for k in range(5):
            mine, _ = data(k, [4, 2], [3, 3], dtype=torch.float32); sn = snap(m, o)
            with s:
                for x in s.micro_batches(mine, weight=len): s.backward(loss_of(w, x) * (float("inf") if k == 2 and RANK == 1 else 1))
            if k == 2: assert s.outcome.kind.value == "skipped"; unmoved(m, sn, o)
            else: assert s.outcome.kind.value == "committed"
            gathered_same(m)
        assert c.last_epoch == 4 and sc.get_scale() == 128., (c.last_epoch, sc.get_scale())
    for how in ("raise_before", "raise_mid", "raise_end", "abort", "oom", "loader"):
        @dexp(f"ddp_fail_{how}_{sync}")
        def _(sync=sync, how=how):
            m = mlp(dtype=torch.float64); r = mlp(dtype=torch.float64); w = DDP(m); o, ro = [O.AdamW(q.parameters(), lr=.01) for q in (m, r)]; s = Step(o, sync=sync)
            for k in range(5):
                mine, all_ = data(k, [4, 2], [3, 3]); bad = k == 2; sn = snap(m, o)
                def it():
                    for i, x in enumerate(mine):
                        if bad and RANK == 1 and how == "loader" and i == 1: raise Boom
                        yield x
                try:
                    with s:
                        if bad and RANK == 1 and how == "raise_before": raise Boom
                        for i, x in enumerate(s.micro_batches(it(), weight=len)):
                            if bad and RANK == 1 and i == 1:
                                if how == "raise_mid": raise Boom
                                if how == "abort": s.abort()
                                if how == "oom": raise torch.OutOfMemoryError("CUDA out of memory")
                            s.backward(loss_of(w, x))
                        if bad and RANK == 1 and how == "raise_end": raise Boom
                    err = None
                except (Boom, zerograd.PeerFailed, torch.OutOfMemoryError) as e: err = e
                if bad:
                    unmoved(m, sn, o); assert not s.outcome.moved
                    if how == "abort": assert s.outcome.kind.value == "aborted" or RANK == 0, s.outcome
                    elif RANK == 0: assert isinstance(err, zerograd.PeerFailed) and "rank 1" in str(err), err
                    else: assert not isinstance(err, zerograd.PeerFailed) and err is not None
                else:
                    assert err is None, err; ro.zero_grad(); loss_of(r, torch.cat(all_)).backward(); ro.step(); close(m, r, 1e-12)
@dexp("ddp_unused_params_find")
def _():
    def mk(): torch.manual_seed(0); return nn.ModuleDict(dict(a=nn.Linear(4, 2), b=nn.Linear(4, 2), c=nn.Linear(4, 2))).double()
    class W(nn.Module):
        def __init__(s, m): super().__init__(); s.m = m
        def forward(s, x, k): return s.m[k](x)
    m, r = mk(), mk(); w = DDP(W(m), find_unused_parameters=True); o, ro = [O.SGD(q.parameters(), lr=.1, weight_decay=.1) for q in (m, r)]; s = Step(o)
    for k in range(4):
        mine, all_ = data(k, [4], [4]); key = "ab"[RANK] 
        ro.zero_grad(); ((r["a"](all_[0]).square().mean() + r["b"](all_[1]).square().mean()) / 2).backward(); ro.step()
        with s: s.backward(w(mine[0], key).square().mean())
        close(m, r, 1e-12); gathered_same(m)
@dexp("ddp_unused_no_find_flag")
def _():
    def mk(): torch.manual_seed(0); return nn.ModuleDict(dict(a=nn.Linear(4, 2), b=nn.Linear(4, 2))).double()
    class W(nn.Module):
        def __init__(s, m): super().__init__(); s.m = m
        def forward(s, x, k): return s.m[k](x)
    m, r = mk(), mk(); w = DDP(W(m)); o, ro = [O.SGD(q.parameters(), lr=.1) for q in (m, r)]; s = Step(o)
    for k in range(4):
        mine, all_ = data(k, [4, 3], [4, 5]); key = "ab"[RANK]
        tot = 16; ro.zero_grad(); (sum(r["a"](x).square().mean() * len(x) for x in all_[:2]) / tot + sum(r["b"](x).square().mean() * len(x) for x in all_[2:]) / tot).backward(); ro.step()
        with s:
            for x in s.micro_batches(mine, weight=len): s.backward(w(x, key).square().mean())
        close(m, r, 1e-12); gathered_same(m)
for opt in ("static_graph", "bucket_view", "small_buckets", "bf16_hook"):
    @dexp("ddp_opt_" + opt)
    def _(opt=opt):
        kw = dict(static_graph=dict(static_graph=True), bucket_view=dict(gradient_as_bucket_view=True), small_buckets=dict(bucket_cap_mb=1e-5)).get(opt, {})
        m, r = mlp(dtype=torch.float64), mlp(dtype=torch.float64); w = DDP(m, **kw); o, ro = [O.SGD(q.parameters(), lr=.1) for q in (m, r)]; s = Step(o, clip=.3)
        if opt == "bf16_hook":
            from torch.distributed.algorithms.ddp_comm_hooks import default_hooks; w.register_comm_hook(None, default_hooks.allreduce_hook)
        for k in range(4):
            mine, all_ = data(k, [4, 2], [3, 3]); ro.zero_grad(); loss_of(r, torch.cat(all_)).backward(); nn.utils.clip_grad_norm_(r.parameters(), .3); ro.step()
            with s:
                for x in s.micro_batches(mine, weight=len): s.backward(loss_of(w, x))
            close(m, r, 1e-12); gathered_same(m)
@dexp("no_wrapper_commit")
def _():
    m, r = mlp(dtype=torch.float64), mlp(dtype=torch.float64); o, ro = [O.AdamW(q.parameters(), lr=.01) for q in (m, r)]; s = Step(o, sync="commit")
    for k in range(3):
        mine, all_ = data(k, [4, 2], [7]); ro.zero_grad(); loss_of(r, torch.cat(all_)).backward(); ro.step()
        with s:
            for x in s.micro_batches(mine, weight=len): s.backward(loss_of(m, x))
        close(m, r, 1e-12); gathered_same(m)
@dexp("wrapped_after_step_blocks")
def _():
    m, r = mlp(dtype=torch.float64), mlp(dtype=torch.float64); o, ro = [O.AdamW(q.parameters(), lr=.01) for q in (m, r)]; s = Step(o)
    x = torch.ones(2, 4).double(); 
    for q, oo in ((r, ro),): oo.zero_grad(); loss_of(q, x).backward(); oo.step()
    with s: s.backward(loss_of(m, x))
    w = DDP(m)
    for k in range(3):
        mine, all_ = data(k, [4, 2], [7]); ro.zero_grad(); loss_of(r, torch.cat(all_)).backward(); ro.step()
        with s:
            for x in s.micro_batches(mine, weight=len): s.backward(loss_of(w, x))
        close(m, r, 1e-12); gathered_same(m)
@dexp("join_gan_ddp")
def _():
    def mk(): torch.manual_seed(0); return nn.Linear(4, 4).double(), nn.Linear(4, 1).double()
    G, D = mk(); G2, D2 = mk(); wG, wD = DDP(G2), DDP(D2); og, od = O.SGD(G.parameters(), lr=.1), O.SGD(D.parameters(), lr=.1); sg, sd = Step(O.SGD(G2.parameters(), lr=.1)), Step(O.SGD(D2.parameters(), lr=.1))
    for k in range(3):
        mine, all_ = data(k, [4], [4]); z = torch.cat(all_)
        gd = torch.autograd.grad(D(G(z).detach()).square().mean(), list(D.parameters())); gg = torch.autograd.grad(-D(G(z)).mean(), list(G.parameters()))
        for p, g in zip(list(D.parameters()) + list(G.parameters()), gd + gg): p.grad = g
        od.step(); og.step()
        with join(sd, sg): f = wG(mine[0]); sd.backward(wD(f.detach()).square().mean()); sg.backward(-wD(f).mean())
        close(G2, G, 1e-12); close(D2, D, 1e-12)
@dexp("join_gan_ddp_one_rank_raises")
def _():
    torch.manual_seed(0); G, D = nn.Linear(4, 4), nn.Linear(4, 1); wG, wD = DDP(G), DDP(D); sg, sd = [Step(O.SGD(q.parameters(), lr=.1)) for q in (G, D)]; x = torch.ones(2, 4); s1, s2 = snap(G), snap(D)
    try:
        with join(sd, sg):
            sd.backward(wD(wG(x).detach()).mean())
            if RANK == 1: raise Boom
            sg.backward(-wD(wG(x)).mean())
    except (Boom, zerograd.PeerFailed): pass
    unmoved(G, s1); unmoved(D, s2)
    with join(sd, sg): sd.backward(wD(wG(x).detach()).mean()); sg.backward(-wD(wG(x)).mean())
    assert sg.outcome.moved and sd.outcome.moved; gathered_same(G); gathered_same(D)
@dexp("split_ddp_oom_one_rank")
def _():
    m, r = mlp(dtype=torch.float64), mlp(dtype=torch.float64); w = DDP(m); o, ro = [O.SGD(q.parameters(), lr=.1) for q in (m, r)]; s = Step(o)
    for k in range(3):
        mine, all_ = data(k, [6], [6]); ro.zero_grad(); loss_of(r, torch.cat(all_)).backward(); ro.step()
        def fn(x):
            if RANK == 1 and len(x) > 2: raise torch.OutOfMemoryError("x")
            return loss_of(w, x)
        with s: s.split(mine[0], fn)
        close(m, r, 1e-12)
@dexp("inspect_raises_one_rank")
def _():
    m = mlp(); w = DDP(m); on = [False]
    def ins(n):
        if on[0] and RANK == 1: raise Boom
    s = Step(O.AdamW(m.parameters()), model=m, inspect=ins); x = torch.ones(2, 4) * (RANK + 1)
    for k in range(3):
        on[0] = k == 1; sn = snap(m)
        try:
            with s: s.backward(loss_of(w, x))
            assert k != 1
        except (Boom, zerograd.PeerFailed): assert k == 1; unmoved(m, sn)
    gathered_same(m)
@dexp("zero_redundancy_resume_exact")
def _():
    from torch.distributed.optim import ZeroRedundancyOptimizer as Z
    def mk(seed=0): m = mlp(seed, dtype=torch.float64); w = DDP(m); o = Z(m.parameters(), O.AdamW, lr=.05); return m, w, o, Step(o, clip=.3)
    r = mlp(dtype=torch.float64); ro = O.AdamW(r.parameters(), lr=.05)
    def tr(w, s, ks):
        for k in ks:
            mine, all_ = data(k, [4, 2], [7])
            with s:
                for x in s.micro_batches(mine, weight=len): s.backward(loss_of(w, x))
    for k in range(6): _, all_ = data(k, [4, 2], [7]); ro.zero_grad(); loss_of(r, torch.cat(all_)).backward(); nn.utils.clip_grad_norm_(r.parameters(), .3); ro.step()
    m, w, o, s = mk(); tr(w, s, range(3)); c = Checkpoints(TMP + "/zero", s, model=w); c.save(); c.close(); tr(w, s, range(3, 6)); close(m, r, 1e-12)
    m2, w2, o2, s2 = mk(4); c = Checkpoints(TMP + "/zero", s2, model=w2); assert c.resume(); c.close(); tr(w2, s2, range(3, 6)); same(m, m2)
def cworld(seed=0, bn=False):
    from torch.utils.data import DataLoader, TensorDataset, DistributedSampler
    torch.manual_seed(seed); m = nn.Sequential(nn.Linear(4, 5), nn.Dropout(.2), nn.Linear(5, 2)); w = DDP(m); o = O.AdamW(m.parameters(), lr=.02); c = O.lr_scheduler.StepLR(o, 2); s = Step(o, scheduler=c, clip=.3)
    d = TensorDataset(torch.randn(46, 4, generator=torch.Generator().manual_seed(2))); return m, w, o, c, s, Cursor(DataLoader(d, batch_size=3, sampler=DistributedSampler(d)))
class Stop(Exception): pass
def crun(W, ck, stop=None, where=None, tr=None, epochs=2):
    m, w, o, c, s, cur = W; n = 0
    while cur.epoch < epochs:
        for g in groups(cur, 3, begun=s.in_flight):
            with s:
                for (x,) in s.micro_batches(g, weight=lambda b: len(b[0])):
                    tr.append(x); s.backward(loss_of(w, x)); n += 1
                    if stop == n and where == "inside": ck.save(); raise Stop
            if stop is not None and n >= stop and where == "after": ck.save(); raise Stop
for where in ("inside", "after"):
    @dexp("ddp_resume_points_" + where)
    def _(where=where):
        torch.manual_seed(50 + RANK); W = cworld(); torch.manual_seed(50 + RANK); tr = []; crun(W, None, tr=tr)
        for k in ((1, 3, 4, 8, 9, 13) if where == "inside" else (3, 8, 9)):
            f = f"{TMP}/{where}{k}"; V = cworld(); torch.manual_seed(50 + RANK); ck = Checkpoints(f, V[4], model=V[1], loader=V[5]); t1 = []
            try: crun(V, ck, k, where, t1)
            except (Stop, zerograd.PeerFailed): pass
            ck.close(); U = cworld(9); ck = Checkpoints(f, U[4], model=U[1], loader=U[5]); assert ck.resume(); t2 = []; crun(U, None, tr=t2); ck.close()
            assert len(t1) + len(t2) == len(tr) and all(torch.equal(a, b) for a, b in zip(t1 + t2, tr)), (k, len(t1), len(t2), len(tr)); same(W[0], U[0], f"at {k}: weights"); assert U[3].last_epoch == W[3].last_epoch
@dexp("save_fails_on_one_rank")
def _():
    class S:
        on = False
        def state_dict(s):
            if s.on and RANK == 1: raise OSError(28, "No space left on device")
            return {"v": RANK}
        def load_state_dict(s, d): s.v = d["v"]
    m = mlp(); w = DDP(m); s = Step(O.AdamW(m.parameters())); q = S(); c = Checkpoints(TMP + "/sf", s, model=w, also={"q": q})
    with s: s.backward(loss_of(w, torch.ones(2, 4)))
    c.save(); q.on = True; e = raises(CheckpointError, c.save); q.on = False; msg(e)
    with s: s.backward(loss_of(w, torch.ones(2, 4)))
    c.save(); assert c.resume() and q.v == RANK; c.close()
@dexp("load_fails_on_one_rank_nothing_changed")
def _():
    class S:
        v = 1; bad = False
        def state_dict(s): return {"v": s.v}
        def load_state_dict(s, d):
            if s.bad and RANK == 1: s.bad = False; s.v = "broken"; raise Boom
            s.v = d["v"]
    m = mlp(); w = DDP(m); o = O.AdamW(m.parameters()); s = Step(o); q = S(); c = Checkpoints(TMP + "/lf", s, model=w, also={"q": q})
    with s: s.backward(loss_of(w, torch.ones(2, 4)))
    c.save()
    with s: s.backward(loss_of(w, torch.ones(2, 4)))
    q.v = 5; sn = snap(m, o); q.bad = True; e = raises(CheckpointError, c.resume); msg(e); unmoved(m, sn, o); assert q.v == 5 and s.committed == 2; assert c.resume() and q.v == 1 and s.committed == 1; c.close()
@dexp("damaged_seen_by_all")
def _():
    import pathlib
    m = mlp(); w = DDP(m); o = O.AdamW(m.parameters()); s = Step(o); c = Checkpoints(TMP + "/dm", s, model=w)
    with s: s.backward(loss_of(w, torch.ones(2, 4)))
    p = c.save()
    if RANK == 0: f = max((q for q in pathlib.Path(p).rglob("*") if q.is_file()), key=lambda q: q.stat().st_size); b = bytearray(f.read_bytes()); b[20] ^= 4; f.write_bytes(b)
    dist.barrier(); sn = snap(m, o); raises(CheckpointError, c.resume, "damaged"); unmoved(m, sn, o); c.close()
@dexp("bare_micro_mean_equal_weights_counts_differ")
def _():
    m, r = mlp(dtype=torch.float64), mlp(dtype=torch.float64); w = DDP(m); o, ro = [O.SGD(q.parameters(), lr=.1) for q in (m, r)]; s = Step(o)
    for k in range(3):
        mine, all_ = data(k, [3, 3, 3], [3]); ro.zero_grad(); loss_of(r, torch.cat(all_)).backward(); ro.step()
        with s:
            for x in s.micro_batches(mine): s.backward(loss_of(w, x))
        close(m, r, 1e-12)
@dexp("one_rank_all_nan_weights_zero")
def _():
    m, r = mlp(dtype=torch.float64), mlp(dtype=torch.float64); w = DDP(m); o, ro = [O.SGD(q.parameters(), lr=.1) for q in (m, r)]; s = Step(o)
    for k in range(3):
        mine, all_ = data(k, [3, 3], [3, 3]); wt = (lambda x: 0) if RANK == 1 else len; ro.zero_grad(); loss_of(r, torch.cat(all_[:2])).backward(); ro.step()
        with s:
            for x in s.micro_batches(mine, weight=wt): s.backward(loss_of(w, x))
        close(m, r, 1e-12); gathered_same(m)
@dexp("all_ranks_zero_weight_skips")
def _():
    m = mlp(); w = DDP(m); s = Step(O.SGD(m.parameters(), lr=.1)); sn = snap(m)
    with s:
        for x in s.micro_batches([torch.ones(2, 4)], weight=lambda x: 0): s.backward(loss_of(w, x))
    assert s.outcome.kind.value == "skipped", s.outcome; unmoved(m, sn)
@dexp("minimize_among_ranks_refused")
def _():
    m = mlp(); w = DDP(m); s = Step(O.LBFGS(m.parameters())); sn = snap(m); raises(StepError, lambda: s.minimize(lambda q: q.backward(loss_of(w, torch.ones(2, 4))))); unmoved(m, sn)
@dexp("capture_among_ranks")
def _():
    m = mlp(); w = DDP(m); s = Step(O.SGD(m.parameters(), lr=.1)); x = torch.ones(2, 4) * (1 + RANK)
    try: u = s.capture(lambda x: s.backward(loss_of(w, x)), x); u(x); gathered_same(m)
    except ZerogradError: pass
@dexp("torn_on_one_rank")
def _():
    class T(O.SGD):
        on = False
        def step(s, c=None):
            if s.on and RANK == 1: raise Boom
            return super().step(c)
    m = mlp(); w = DDP(m); o = T(m.parameters(), lr=.1); s = Step(o)
    with s: s.backward(loss_of(w, torch.ones(2, 4)))
    o.on = True
    try:
        with s: s.backward(loss_of(w, torch.ones(2, 4)))
        assert RANK == 0
    except TornStep: assert RANK == 1
    if RANK == 1:
        o.on = False; raises((StepError, TornStep), lambda: s.__enter__())
    assert s.outcome.kind.value == ("torn" if RANK else "committed"), s.outcome
dist.barrier()
n = len(RES); k = sum(r[1] == "FAIL" for r in RES)
if RANK == 0: print(f"# {n} experiments, {k} failures", flush=True)
if sys.argv[1:]: dist.destroy_process_group(); sys.exit(1 if k else 0)
# last: a rank that dies is told at the next vote
m = mlp(); w = DDP(m); st = Step(O.SGD(m.parameters(), lr=.1))
with st: st.backward(loss_of(w, torch.ones(2, 4)))
dist.barrier()
if RANK == 1: os._exit(1 if k else 0)
sn = snap(m); t0 = time.time()
try:
    with st: st.backward(loss_of(w, torch.ones(2, 4)))
    r = f"FAIL dead_rank: no error {st.outcome}"
except zerograd.PeerFailed as e:
    try: unmoved(m, sn); r = "OK dead_rank"; print("    ", round(time.time() - t0, 1), "s", str(e)[:120])
    except AssertionError as f: r = f"FAIL dead_rank: {f}"
except BaseException as e: r = f"FAIL dead_rank: raw {type(e).__name__} {str(e)[:200]}, promised PeerFailed (scale.md)"
print(r, flush=True); os._exit(1 if k or r.startswith("FAIL") else 0)

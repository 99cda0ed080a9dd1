from common import *
import tempfile, shutil, random, pathlib, signal, subprocess, json, errno
from torch.utils.data import DataLoader, TensorDataset, RandomSampler, IterableDataset, Dataset, BatchSampler, WeightedRandomSampler
import numpy as np
O = torch.optim
class Boom(Exception): pass
def loss_of(m, x): return m(x).square().mean()
TMP = tempfile.mkdtemp(prefix="tmp_ck_")
import atexit; atexit.register(lambda: shutil.rmtree(TMP, ignore_errors=True))
N = [0]
def folder(): N[0] += 1; return os.path.join(TMP, str(N[0]))
def ds(n=20): return TensorDataset(torch.randn(n, 4, generator=torch.Generator().manual_seed(2)))
def world(kind="plain", opt=None, **kw):
    torch.manual_seed(7); random.seed(7); np.random.seed(7)
    m = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(.3), nn.Linear(5, 2))
    if kind == "two":
        os_ = [O.AdamW(m[0].parameters(), lr=.02), O.SGD([*m[1].parameters(), *m[3].parameters()], lr=.1, momentum=.9)]
    else: os_ = [(opt or (lambda p: O.AdamW(p, lr=.02)))(m.parameters())]
    cs = [O.lr_scheduler.OneCycleLR(os_[0], max_lr=.1, total_steps=60)] + ([O.lr_scheduler.StepLR(os_[1], 3)] if kind == "two" else [])
    sc = torch.amp.GradScaler("cpu", init_scale=512., growth_interval=3) if kind == "scaler" else None
    s = Step(os_, scheduler=cs, clip=.3, scaler=sc, model=m, **kw)
    ld = DataLoader(ds(), batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(11) if kind == "gen" else None)
    return m, os_, cs, sc, s, Cursor(ld)
class Stop(Exception): pass
def run(w, ck, epochs=2, stop=None, where="end", trace=None):
    "stop: number of micro-batch at which to save and stop"
    m, os_, cs, sc, s, cur = w; n = 0
    while cur.epoch < epochs:
        for g in groups(cur, 4, begun=s.in_flight):
            with s:
                for (x,) in s.micro_batches(g, weight=lambda b: len(b[0])):
                    if trace is not None: trace.append(x)
                    s.backward(loss_of(m, x) + .0 * torch.rand(()))
                    n += 1
                    if stop == n and where == "inside": ck.save(); raise Stop
            if where == "after" and stop is not None and n >= stop: ck.save(); raise Stop
    return m
def world_state(w):
    m, os_, cs, sc, s, cur = w
    return m.state_dict(), [flat(o) for o in os_], [{k: v for k, v in c.state_dict().items() if not callable(v)} for c in cs], sc.state_dict() if sc else None, torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist(), s.committed, cur.epoch
def eq(a, b, path=""):
    if torch.is_tensor(a): assert torch.equal(a, b), f"{path} differs by {(a.double()-b.double()).abs().max()}"
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), path
        for k in a: eq(a[k], b[k], f"{path}/{k}")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), path
        for i, (x, y) in enumerate(zip(a, b)): eq(x, y, f"{path}/{i}")
    else: assert a == b, f"{path}: {a} != {b}"
for kind in ("plain", "two", "scaler", "gen"):
    w = world(kind); tr = []; run(w, None, trace=tr); FULL = world_state(w); total = len(tr)
    for where in ("inside", "after"):
        @exp(f"resume_every_point_{kind}_{where}")
        def _(kind=kind, where=where, FULL=FULL, tr=tr):
            pts = range(1, total + 1) if where == "inside" else (1, 5, 8, 9)
            for k in pts:
                d = folder(); w = world(kind); ck = Checkpoints(d, w[4], model=w[0], loader=w[5]); t1 = []
                try: run(w, ck, stop=k, where=where, trace=t1); 
                except Stop: pass
                ck.close()
                w2 = world(kind); torch.manual_seed(99); random.seed(4); np.random.seed(5)
                ck2 = Checkpoints(d, w2[4], model=w2[0], loader=w2[5]); assert ck2.resume(); t2 = []
                run(w2, ck2, trace=t2); ck2.close()
                assert len(t1) + len(t2) == len(tr), f"at {k}: {len(t1)}+{len(t2)} micro-batches, not {len(tr)}"
                for a, b in zip(t1 + t2, tr): assert torch.equal(a, b), f"data differs at {k}"
                eq(world_state(w2), FULL, f"at {k}")
def small(d, seed=0, kw={}, opt=None, **ck):
    m = mlp(seed); o = (opt or (lambda p: O.AdamW(p, lr=.1)))(m.parameters()); s = Step(o); c = Checkpoints(d, s, model=m, **ck); return m, o, s, c
x0 = torch.randn(4, 4, generator=torch.Generator().manual_seed(3))
def one(m, s):
    with s: s.backward(loss_of(m, x0))
@exp("resume_empty_false")
def _():
    m, o, s, c = small(folder()); assert c.resume() is False; c.close()
@exp("every_and_keep")
def _():
    d = folder(); m, o, s, c = small(d, every=2, keep=2)
    for i in range(9): one(m, s); c.keep_up()
    c.close(); l = sorted(os.listdir(d)); print("   ", l); assert len(l) == 2, l
    m2, o2, s2, c2 = small(d, 5); assert c2.resume(); assert s2.committed == 8, s2.committed; c2.close()
@exp("foreign_files_untouched")
def _():
    d = folder(); os.makedirs(d); open(d + "/notes.txt", "w").write("x"); os.makedirs(d + "/tb"); open(d + "/tb/ev", "w").write("y"); m, o, s, c = small(d, keep=1)
    for i in range(3): one(m, s); c.save()
    assert open(d + "/notes.txt").read() == "x" and open(d + "/tb/ev").read() == "y"; c.close()
def files(p): return [q for q in pathlib.Path(p).rglob("*") if q.is_file()]
def prep():
    d = folder(); m, o, s, c = small(d); one(m, s); p1 = c.save(); a1 = copy.deepcopy((m.state_dict(), flat(o))); one(m, s); p2 = c.save(); c.close(); return d, p1, p2, a1
def names(): 
    d, p1, p2, a = prep(); return [str(f.relative_to(p2)) for f in files(p2)]
NAMES = names(); print("   files:", NAMES)
for how in ("delete", "truncate", "flip_first", "flip_mid", "flip_last", "append", "empty"):
    @exp("damage_" + how)
    def _(how=how):
        for n in NAMES:
            d, p1, p2, a1 = prep(); f = pathlib.Path(p2) / n; b = bytearray(f.read_bytes())
            if how == "delete": f.unlink()
            else:
                if how == "truncate": b = b[:len(b) // 2]
                elif how == "empty": b = b""
                elif how == "append": b += b"\0"
                elif len(b):
                    i = {"flip_first": 0, "flip_mid": len(b) // 2, "flip_last": len(b) - 1}[how]; b[i] ^= 1
                f.write_bytes(b)
            m, o, s, c = small(d, 9)
            with warnings.catch_warnings(record=True) as ws:
                warnings.simplefilter("always"); assert c.resume(), "did not resume"
            assert any("damaged" in str(w.message).lower() or n in str(w.message) for w in ws), f"{n}: no warning {[str(w.message) for w in ws]}"
            eq((m.state_dict(), flat(o)), a1, f"{how} {n}"); assert s.committed == 1
            # named damaged one raises and nothing changes
            sn = snap(m, o); raises(CheckpointError, lambda: c.resume(os.path.basename(p2)), "damaged"); unmoved(m, sn, o); c.close()
@exp("all_damaged_raises_nothing_changed")
def _():
    d, p1, p2, a1 = prep()
    for p in (p1, p2):
        f = max(files(p), key=lambda f: f.stat().st_size); b = bytearray(f.read_bytes()); b[len(b) // 2] ^= 255; f.write_bytes(b)
    m, o, s, c = small(d, 9); sn = snap(m, o); raises(CheckpointError, c.resume, "damaged"); unmoved(m, sn, o); c.close()
@exp("consistent_manifest_tamper_pickle")
def _():
    # replace .metadata by an evil pickle, fix nothing: never executed
    import pickle
    class Evil:
        def __reduce__(self): return (os.mkdir, (TMP + "/EVIL",))
    d, p1, p2, a1 = prep()
    for f in files(p2):
        if "metadata" in f.name: f.write_bytes(pickle.dumps(Evil()))
    m, o, s, c = small(d, 9); c.resume(); assert not os.path.exists(TMP + "/EVIL"); c.close()
@exp("other_shape")
def _():
    d, *_ = prep(); m = mlp(h=6); o = O.AdamW(m.parameters()); s = Step(o); c = Checkpoints(d, s, model=m); sn = snap(m, o); raises(CheckpointError, c.resume, "other-checkpoint"); unmoved(m, sn, o); c.close()
@exp("other_optimizer_class")
def _():
    d, *_ = prep(); m, o, s, c = small(d, 9, opt=lambda p: O.SGD(p, lr=.1)); sn = snap(m, o); raises(CheckpointError, c.resume, "other-checkpoint"); unmoved(m, sn, o); c.close()
@exp("other_extra_scheduler")
def _():
    d, *_ = prep(); m = mlp(); o = O.AdamW(m.parameters()); s = Step(o, scheduler=O.lr_scheduler.StepLR(o, 1)); c = Checkpoints(d, s, model=m); sn = snap(m, o); raises(CheckpointError, c.resume, "other-checkpoint"); unmoved(m, sn, o); c.close()
@exp("other_extra_scaler")
def _():
    d, *_ = prep(); m = mlp(); o = O.AdamW(m.parameters()); s = Step(o, scaler=torch.amp.GradScaler("cpu")); c = Checkpoints(d, s, model=m); sn = snap(m, o); raises(CheckpointError, c.resume, "other-checkpoint"); unmoved(m, sn, o); c.close()
@exp("other_dtype")
def _():
    d, *_ = prep(); m = mlp(dtype=torch.float64); o = O.AdamW(m.parameters()); s = Step(o); c = Checkpoints(d, s, model=m)
    try: print("    resumed across dtype:", c.resume(), m[0].weight.dtype)
    except CheckpointError as e: print("    refused", str(e)[:90])
    c.close()
@exp("other_param_groups")
def _():
    d, *_ = prep(); m = mlp(); o = O.AdamW([{"params": m[0].parameters()}, {"params": m[2].parameters()}]); s = Step(o); c = Checkpoints(d, s, model=m); sn = snap(m, o); raises(CheckpointError, c.resume, "other-checkpoint"); unmoved(m, sn, o); c.close()
@exp("other_param_order_in_optimizer")
def _():
    # same groups, the parameters in another order: state by position would go to the wrong parameter
    d = folder(); torch.manual_seed(0); m = nn.ModuleDict(dict(a=nn.Linear(4, 4), b=nn.Linear(4, 4))); o = O.AdamW(m.parameters(), lr=.1); s = Step(o); f = lambda m: m["b"](torch.tanh(m["a"](x0))).square().mean()
    with s: s.backward(f(m))
    c = Checkpoints(d, s, model=m); c.save(); c.close(); st = {n: o.state[p]["exp_avg"].clone() for n, p in m.named_parameters()}
    torch.manual_seed(1); m2 = nn.ModuleDict(dict(a=nn.Linear(4, 4), b=nn.Linear(4, 4))); o2 = O.AdamW([*m2["b"].parameters(), *m2["a"].parameters()], lr=.1); s2 = Step(o2); c2 = Checkpoints(d, s2, model=m2)
    try: c2.resume()
    except CheckpointError as e: print("    refused", str(e)[:90]); return
    finally: c2.close()
    for n, p in m2.named_parameters(): assert torch.equal(o2.state[p]["exp_avg"], st[n]), f"momentum of {n} was given to another parameter"
@exp("also_roundtrip_and_missing")
def _():
    d = folder(); m, o, s, _c = small(d); _c.close(); ema = torch.optim.swa_utils.AveragedModel(m); c = Checkpoints(d, s, model=m, also={"ema": ema}); one(m, s); ema.update_parameters(m); c.save(); c.close()
    m2, o2, s2, c2 = small(d, 4); sn = snap(m2, o2)
    try: c2.resume(); r = "resumed"
    except CheckpointError as e: assert "other-checkpoint" in str(e); r = "refused"; unmoved(m2, sn, o2)
    c2.close(); print("    without also:", r)
    e2 = torch.optim.swa_utils.AveragedModel(m2); c3 = Checkpoints(d, s2, model=m2, also={"ema": e2}); assert c3.resume(); same(ema, e2); c3.close()
class Odd:
    def __init__(s, v): s.v = v
    def state_dict(s): return {"v": s.v}
    def load_state_dict(s, d): s.v = d["v"]
import enum, collections, datetime
class E(enum.IntEnum): A = 3
for nm, v in dict(nested={"a": [1, 2.5, None, True, "x", (1, "y"), {1, 2}], 5: {"z": b"bytes"}}, np=np.arange(6).reshape(2, 3), npscalar=np.float32(1.5), big=2**80, nan=float("nan"), inf=-float("inf"), tensor={"t": torch.arange(3), "b": torch.ones(2, dtype=torch.bfloat16), "c": torch.ones(1, dtype=torch.cfloat)}, tuplekey={(1, 2): "a"}, emptytensor=torch.zeros(0, 3), zerod=torch.tensor(3.), bool=torch.tensor([True]), negzero=-0.0, uni="\udcffä\0", frozenset=frozenset([1]), deque=collections.deque([1, 2]), ordered=collections.OrderedDict(a=1), dd=collections.defaultdict(int, a=1), enum=E.A, cplx=1 + 2j, nested_np={"a": [np.array(["x", "y"])]}, npobj=np.array([None, {}], dtype=object), obj=object(), fn=len, date=datetime.date(2020, 1, 1), sparse=torch.eye(2).to_sparse(), noncontig=torch.arange(6).view(2, 3).t(), param=nn.Parameter(torch.ones(2)), intkeys={1: "a", "1": "b", True: "c"}, nonekey={None: 1}, cyc=None, view=torch.arange(10)[::2], dtypeval=torch.float16, f8=torch.ones(2).to(torch.float8_e4m3fn), nptime=np.datetime64("2020-01-01"), u16=torch.tensor([65535], dtype=torch.uint16), device=torch.device("cpu"), size=torch.Size([1, 2]), slice_=slice(1, 2), bytearray_=bytearray(b"a"), rng=np.random.default_rng(3).bit_generator.state, pyrng=random.Random(3).getstate()).items():
    @exp("also_value_" + nm)
    def _(nm=nm, v=v):
        d = folder(); m, o, s, _c = small(d); _c.close()
        if nm == "cyc": v = []; v.append(v)
        c = Checkpoints(d, s, model=m, also={"odd": Odd(v)}); one(m, s)
        try: c.save()
        except CheckpointError as e: assert "checkpoint" in str(e) or "not-saved" in str(e); print(f"    {nm} refused: {str(e)[:110]!r}"); assert nm in ("npobj", "obj", "fn", "date", "sparse", "cyc", "dtypeval", "device", "slice_", "nested_np", "cplx", "deque", "nptime", "bytearray_", "frozenset"), "refused"; assert not files(d), files(d); return
        finally: c.close()
        q = Odd("unset"); m2, o2, s2, _c = small(d, 3); _c.close(); c2 = Checkpoints(d, s2, model=m2, also={"odd": q}); assert c2.resume(); c2.close()
        def dq(a, b, p=""):
            if torch.is_tensor(a): assert torch.is_tensor(b) and a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.detach().view(torch.uint8) if a.is_contiguous() and a.dtype == torch.float8_e4m3fn else a.detach(), b.detach().view(torch.uint8) if b.dtype == torch.float8_e4m3fn else b), (p, a, b)
            elif isinstance(a, np.ndarray): assert isinstance(b, np.ndarray) and a.dtype == b.dtype and (a == b).all(), (p, a, b)
            elif isinstance(a, dict): assert list(a.keys()) == list(b.keys()) and [type(k) for k in a] == [type(k) for k in b], (p, a, b); [dq(a[k], b[k], p + f"/{k}") for k in a]
            elif isinstance(a, (list, tuple)): assert len(a) == len(b) and (type(a) is type(b) or nm == "size"), (p, type(a), type(b)); [dq(x, y, p) for x, y in zip(a, b)]
            elif isinstance(a, float): assert repr(float(a)) == repr(float(b)), (p, a, b)
            else: assert a == b, (p, a, b)
            if nm == "npscalar" and type(a) is not type(b): raise Limit("numpy scalar came back as a plain number, as limits.md says of numbers of a class of their own")
            if nm in ("frozenset", "deque", "bytearray_", "cplx") : assert type(a) is type(b), f"type {type(a)} came back as {type(b)}"
        dq(v, q.v)
class BadSave(Odd):
    def state_dict(s):
        if s.v: raise Boom("state_dict")
        return {"v": s.v}
@exp("save_fails_state_dict_raises_then_ok")
def _():
    d = folder(); m, o, s, _c = small(d); _c.close(); b = BadSave(0); c = Checkpoints(d, s, model=m, also={"b": b}); one(m, s); p = c.save(); before = sorted(os.listdir(d)); b.v = 1; sn = snap(m, o)
    raises(CheckpointError, c.save, "not-saved"); unmoved(m, sn, o); assert sorted(os.listdir(d)) == before, os.listdir(d); b.v = 0; one(m, s); c.save(); c.close(); assert len(os.listdir(d)) == 2
class BadLoad(Odd):
    def __init__(s, v, bad=True): s.v = v; s.bad = bad
    def load_state_dict(s, d):
        s.v = "broken"
        if s.bad: s.bad = False; raise Boom("load")
        s.v = d["v"]
@exp("load_fails_all_brought_back")
def _():
    d = folder(); m, o, s, _c = small(d); _c.close(); c = Checkpoints(d, s, model=m, also={"a": Odd(1), "z": BadLoad(2)}); one(m, s); c.save(); c.close()
    m2, o2, s2, _c = small(d, 5); _c.close(); one(m2, s2); one(m2, s2); a, z = Odd(10), BadLoad(20); c2 = Checkpoints(d, s2, model=m2, also={"a": a, "z": z}); sn = snap(m2, o2); r = torch.get_rng_state()
    raises(CheckpointError, c2.resume, "not-loaded"); unmoved(m2, sn, o2); assert a.v == 10 and z.v == 20, (a.v, z.v); assert s2.committed == 2; assert torch.equal(r, torch.get_rng_state())
    one(m2, s2); assert c2.resume() and a.v == 1 and z.v == 2; c2.close()
@exp("load_fails_scheduler_scaler_back")
def _():
    d = folder(); w = world("scaler"); c = Checkpoints(d, w[4], model=w[0], loader=w[5], also={"z": BadLoad(2)})
    try: run(w, c, stop=5, where="after")
    except Stop: pass
    c.close(); w2 = world("scaler"); 
    try: run(w2, None, stop=2, where="after")
    except AttributeError: pass
    z = BadLoad(20); c2 = Checkpoints(d, w2[4], model=w2[0], loader=w2[5], also={"z": z}); st = copy.deepcopy(world_state(w2)); raises(CheckpointError, c2.resume, "not-loaded"); eq(world_state(w2), st); c2.close()
@exp("disk_full_small_tmpfs")
def _():
    mnt = folder(); os.makedirs(mnt)
    r = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mnt], capture_output=True)
    if r.returncode: raise Limit("cannot mount here: " + r.stderr.decode()[:60])
    try:
        torch.manual_seed(0); m = nn.Linear(100, 100); o = O.SGD(m.parameters(), lr=.1); s = Step(o); c = Checkpoints(mnt, s, model=m, keep=9); n = 0
        with s: s.backward(m(torch.ones(2, 100)).mean())
        for i in range(9):
            try: c.save(); n += 1
            except CheckpointError as e: assert "not-saved" in str(e), e; print("    disk full says:", str(e)[:110]); break
        else: raise AssertionError("never full")
        l = sorted(os.listdir(mnt)); assert len(l) == n, l
        torch.manual_seed(3); m2 = nn.Linear(100, 100); s2 = Step(O.SGD(m2.parameters(), lr=.1)); c2 = Checkpoints(mnt, s2, model=m2); assert c2.resume(); same(m, m2); c.close(); c2.close()
        shutil.rmtree(os.path.join(mnt, l[0])); 
        with s: s.backward(m(torch.ones(2, 100)).mean())
        c3 = Checkpoints(mnt, s, model=m); c3.save(); c3.close()
    finally: subprocess.run(["umount", mnt])
@exp("readonly_or_file_as_folder")
def _():
    d = folder(); open(d, "w").write("x"); m = mlp(); s = Step(O.SGD(m.parameters(), lr=.1))
    try:
        c = Checkpoints(d, s, model=m); one(m, s); sn = snap(m)
        try: c.save(); raise AssertionError("no error")
        except CheckpointError as e: assert "not-saved" in str(e), e; unmoved(m, sn)
        try: print("    resume on file:", c.resume())
        except CheckpointError as e: print("    resume:", str(e)[:100])
    except ZerogradError as e: print("    refused at construction", str(e)[:90])
@exp("sigterm_saves_and_leaves_75")
def _():
    d = folder(); prog = f'''
import sys; sys.argv=["x"]
from common import *
import os, signal
m=mlp(); s=Step(torch.optim.SGD(m.parameters(), lr=.01)); c=Checkpoints({d!r}, s, model=m, every=1000)
for i in range(50):
    with s:
        for j in s.micro_batches(range(3)):
            s.backward(m(torch.ones(2,4)).square().mean())
            if i==7 and j==1: os.kill(os.getpid(), signal.SIGTERM)
    c.keep_up()
print("went on")
'''
    r = subprocess.run([sys.executable, "-c", prog], capture_output=True, text=True, cwd=TMP); assert r.returncode == 75, (r.returncode, r.stdout, r.stderr[-300:])
    m, o, s, c = small(d, opt=lambda p: O.SGD(p, lr=.01)); assert c.resume() and s.committed == 8, s.committed; c.close()
@exp("close_restores_sigterm")
def _():
    h = signal.getsignal(signal.SIGTERM); m, o, s, c = small(folder()); one(m, s); c.save(); c.close(); assert signal.getsignal(signal.SIGTERM) == h
@exp("kill9_in_save_sweeps")
def _():
    d = folder(); prog = f'''
import sys; sys.argv=["x"]
from common import *
import os, signal, threading, time, random
m=mlp(); s=Step(torch.optim.SGD(m.parameters(), lr=.01)); c=Checkpoints({d!r}, s, model=m); c.resume()
with s: s.backward(m(torch.ones(2,4)).square().mean())
c.save()
threading.Thread(target=lambda: (time.sleep(random.random()*.05), os.kill(os.getpid(), 9))).start()
while True:
    with s: s.backward(m(torch.ones(2,4)).square().mean())
    c.save()
'''
    for _ in range(3):
        subprocess.run([sys.executable, "-c", prog], capture_output=True, cwd=TMP)
    left = os.listdir(d); m, o, s, c = small(d, opt=lambda p: O.SGD(p, lr=.01)); assert c.resume(); one(m, s); c.save(); l = os.listdir(d); print("    before", left, "after", sorted(l)); assert len(l) <= 3, l; c.close()
@exp("save_inside_other_loader_refused_inside_block")
def _():
    d = folder(); m, o, s, _c = small(d); _c.close(); c = Checkpoints(d, s, model=m, loader=Odd(3)); 
    def f():
        with s:
            for x in s.micro_batches([x0, x0]): s.backward(loss_of(m, x)); c.save()
    raises(CheckpointError, f); c.close(); assert not files(d) if os.path.exists(d) else True
@exp("resume_inside_open_block")
def _():
    d, *_ = prep(); m, o, s, c = small(d, 9); sn = snap(m, o)
    def f():
        with s: s.backward(loss_of(m, x0)); c.resume()
    try: f(); print("    accepted", s.outcome)
    except ZerogradError as e: print("    refused", str(e)[:100]); unmoved(m, sn, o)
    c.close()
@exp("params_outside_model_kept")
def _():
    d = folder(); m = mlp(); p = nn.Parameter(torch.ones(3)); s = Step([O.SGD(m.parameters(), lr=.1), O.SGD([p], lr=.1, momentum=.9)]); 
    with s: s.backward(loss_of(m, x0) + p.square().sum())
    c = Checkpoints(d, s, model=m); c.save(); c.close(); m2 = mlp(5); p2 = nn.Parameter(torch.zeros(3)); s2 = Step([O.SGD(m2.parameters(), lr=.1), O.SGD([p2], lr=.1, momentum=.9)]); c2 = Checkpoints(d, s2, model=m2); assert c2.resume(); c2.close(); assert torch.equal(p, p2); same(m, m2)
@exp("several_steps_gan_resume")
def _():
    def mk(): torch.manual_seed(0); G, D = nn.Linear(3, 4), nn.Linear(4, 1); ss = [Step(O.Adam(n.parameters(), lr=.1)) for n in (G, D)]; return nn.ModuleDict(dict(G=G, D=D)), ss
    def it(M, ss):
        z = torch.randn(4, 3)
        with ss[1]: ss[1].backward(M["D"](M["G"](z).detach()).square().mean())
        with ss[0]: ss[0].backward(-M["D"](M["G"](z)).mean())
    a, sa = mk(); d = folder()
    for _ in range(3): it(a, sa)
    c = Checkpoints(d, sa, model=a); c.save(); c.close()
    for _ in range(3): it(a, sa)
    b, sb = mk(); c = Checkpoints(d, sb, model=b); c.resume(); c.close()
    for _ in range(3): it(b, sb)
    same(a, b)
@exp("tied_and_nonpersistent_and_extra_state")
def _():
    class M(nn.Module):
        def __init__(s): super().__init__(); s.a = nn.Linear(4, 4); s.b = nn.Linear(4, 4); s.b.weight = s.a.weight; s.register_buffer("np_", torch.zeros(2), persistent=False); s.ex = 1
        def get_extra_state(s): return {"ex": s.ex}
        def set_extra_state(s, v): s.ex = v["ex"]
        def forward(s, x): return s.b(s.a(x))
    d = folder(); m = M(); s = Step(O.AdamW(m.parameters())); m.ex = 42; m.np_.add_(3); one(m, s); c = Checkpoints(d, s, model=m); c.save(); c.close(); m2 = M(); s2 = Step(O.AdamW(m2.parameters())); c = Checkpoints(d, s2, model=m2); assert c.resume(); c.close(); same(list(m.parameters()), list(m2.parameters())); assert m2.ex == 42 and m2.b.weight is m2.a.weight; one(m, s); one(m2, s2); same(list(m.parameters()), list(m2.parameters())); print("    non-persistent buffer came back:", m2.np_.tolist())
for optn, mk in dict(lbfgs=lambda p: O.LBFGS(p, lr=.5), sgd_nostate=lambda p: O.SGD(p, lr=.1), adafactor=lambda p: O.Adafactor(p), nadam=lambda p: O.NAdam(p), rprop=lambda p: O.Rprop(p), adam_tensor_lr=lambda p: O.Adam(p, lr=torch.tensor(.05), foreach=False), asgd=lambda p: O.ASGD(p), ams=lambda p: O.AdamW(p, amsgrad=True)).items():
    @exp("opt_roundtrip_" + optn)
    def _(optn=optn, mk=mk):
        st = (lambda m, s: s.minimize(lambda q: q.backward(loss_of(m, x0)))) if optn == "lbfgs" else one
        d = folder(); m, o, s, c = small(d, opt=mk); st(m, s); st(m, s)
        if optn == "adam_tensor_lr": o.param_groups[0]["lr"].fill_(.02)
        c.save(); c.close(); st(m, s); m2, o2, s2, c2 = small(d, 8, opt=mk); st(m2, s2); assert c2.resume(); c2.close(); st(m2, s2); same(m, m2)
@exp("fresh_optimizer_checkpoint_into_stateful")
def _():
    # checkpoint before the first step: resuming must empty the state of one that has stepped
    d = folder(); m, o, s, c = small(d); c.save(); c.close(); one(m, s); m2, o2, s2, c2 = small(d, 8); one(m2, s2); one(m2, s2); c2.resume(); c2.close(); one(m2, s2); same(m, m2); same_state(o, o2)
@exp("lr_changed_by_hand_kept")
def _():
    d = folder(); m, o, s, c = small(d); one(m, s); o.param_groups[0]["lr"] = .0123; o.param_groups[0]["my_note"] = "x"; c.save(); c.close(); m2, o2, s2, c2 = small(d); c2.resume(); c2.close(); assert o2.param_groups[0]["lr"] == .0123
@exp("keyboardinterrupt_in_save")
def _():
    class K(Odd):
        on = False
        def state_dict(s):
            if s.on: raise KeyboardInterrupt
            return {"v": 1}
    d = folder(); m, o, s, _c = small(d); _c.close(); k = K(1); c = Checkpoints(d, s, model=m, also={"k": k}); one(m, s); c.save(); k.on = True
    try: c.save(); raise AssertionError("swallowed")
    except (KeyboardInterrupt, CheckpointError) as e: print("   ", type(e).__name__)
    k.on = False; assert len(os.listdir(d)) == 1, os.listdir(d); one(m, s); c.save(); c.close()
@exp("inplace_change_after_save_not_in_checkpoint")
def _():
    d = folder(); m, o, s, c = small(d); one(m, s); sd = copy.deepcopy(m.state_dict()); c.save(); one(m, s); c.close(); m2, o2, s2, c2 = small(d, 4); c2.resume(); c2.close(); eq(m2.state_dict(), sd)
@exp("resume_by_name_older_then_save_next_number")
def _():
    d, p1, p2, a1 = prep(); m, o, s, c = small(d, 9); assert c.resume(os.path.basename(p1)); eq((m.state_dict(), flat(o)), a1); p3 = c.save(); assert os.path.basename(p3) not in (os.path.basename(p1), os.path.basename(p2)), p3; c.close(); m2, o2, s2, c2 = small(d, 3); c2.resume(); eq(m2.state_dict(), a1[0]); c2.close()
@exp("resume_unknown_name")
def _():
    d, *_ = prep(); m, o, s, c = small(d, 9); sn = snap(m, o)
    for n in ("nope", "../x", "", "/etc"):
        try: r = c.resume(n); print("   ", repr(n), r)
        except CheckpointError as e: print("   ", repr(n), str(e)[:80])
        unmoved(m, sn, o) if n else None
    c.close()
@exp("scaler_nan_skipped_counts_kept")
def _():
    d = folder(); m = mlp(); o = O.SGD(m.parameters(), lr=.1); s = Step(o, max_skips=3); c = Checkpoints(d, s, model=m)
    def nan(m, s):
        with s: s.backward(loss_of(m, x0) * float("nan"))
    nan(m, s); nan(m, s); c.save(); c.close(); m2 = mlp(); s2 = Step(O.SGD(m2.parameters(), lr=.1), max_skips=3); c = Checkpoints(d, s2, model=m2); c.resume(); c.close(); assert s2.skipped == 2; raises(Diverged, lambda: nan(m2, s2))
done()

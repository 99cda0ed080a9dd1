"""Part c: the audit changes nothing."""
from harness import *
import contextlib, copy, gc, inspect, io, pickle, signal, threading, tracemalloc, weakref
from torch import nn
import torch.nn.functional as F

EXP = []
def exp(fn): EXP.append(fn); return fn
def net(i=4, o=1): return nn.Sequential(nn.Linear(i, 5), nn.Dropout(.3), nn.Tanh(), nn.Linear(5, o))
def data(n=30, b=6): return [(torch.randn(b, 4), torch.randn(b, 1)) for _ in range(n)]
def plain(o_of, clear=True, n=30):
    m = net(); o = o_of(m.parameters())
    for x, y in data(n):
        if clear: o.zero_grad()
        F.mse_loss(m(x), y).backward(); o.step()
    return m
def both(fn):
    """fn without and with the audit in four ways: '' if all is bitwise the same, random states too."""
    import numpy
    def go():
        seed(); out = tensors(fn()); return out, torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()
    a = go()
    for mode, sample in MODES:
        with zerograd.audit(on_finding="collect", mode=mode, sample=sample): b = go()
        if not same(a[0], b[0]): return f"{mode}/{sample}: results differ"
        if not torch.equal(a[1], b[1]) or a[2:] != b[2:]: return f"{mode}/{sample}: random state differs"
    return ""

for name in "SGD Adam AdamW RMSprop Adagrad Adadelta NAdam RAdam Adamax ASGD Rprop".split():
    def f(name=name): return both(lambda: plain(lambda p: getattr(torch.optim, name)(p, lr=.01)))
    f.__name__ = "weights_" + name; exp(f)
@exp
def weights_of_faulty_loop_sgd(): return both(lambda: plain(lambda p: torch.optim.SGD(p, .05), clear=False))
@exp
def weights_of_faulty_loop_adam_150_steps(): return both(lambda: plain(torch.optim.Adam, clear=False, n=150))
@exp
def weights_of_lbfgs():
    def go():
        m = net().eval(); o = torch.optim.LBFGS(m.parameters(), max_iter=4); x, y = data(1)[0]
        def c(): o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); return l
        return [torch.as_tensor(float(o.step(c))) for _ in range(5)], m
    return both(go)
@exp
def weights_with_nan_and_scaler():
    def go():
        m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.amp.GradScaler("cpu"); sc = []
        for i, (x, y) in enumerate(data()):
            o.zero_grad(); s.scale(F.mse_loss(m(x), y) * (float("nan") if i % 7 == 2 else 1.)).backward(); s.step(o); s.update(); sc.append(torch.tensor(s.get_scale()))
        return m, sc
    return both(go)
@exp
def bfloat16_and_double():
    def go():
        r = []
        for dt in (torch.bfloat16, torch.float64):
            m = net().to(dt); o = torch.optim.AdamW(m.parameters())
            for x, y in data(): F.mse_loss(m(x.to(dt)), y.to(dt)).backward(); o.step()
            r.append(m)
        return r
    return both(go)
@exp
def gradient_objects_and_versions():
    def go():
        m = net(); o = torch.optim.SGD(m.parameters(), .1); r = []
        for x, y in data(20):
            o.zero_grad(set_to_none=False); F.mse_loss(m(x), y).backward(); ids = [id(p.grad) for p in m.parameters()]; r.append([p.grad._version for p in m.parameters()])
            o.step(); r.append([p.grad._version for p in m.parameters()] + [p._version for p in m.parameters()])
            if ids != [id(p.grad) for p in m.parameters()]: r.append([-1])
        return [torch.tensor(k) for k in r]
    return both(go)
@exp
def user_hooks_called_as_often():
    def go():
        m = net(); o = torch.optim.SGD(m.parameters(), .1); n = {k: 0 for k in "abcdef"}
        def up(k): n[k] += 1
        m[0].weight.register_hook(lambda g: up("a")); m[0].weight.register_post_accumulate_grad_hook(lambda p: up("b"))
        m.register_full_backward_hook(lambda *a: up("c")); m.register_forward_hook(lambda *a: up("d")); o.register_step_pre_hook(lambda *a: up("e")); o.register_step_post_hook(lambda *a: up("f"))
        for x, y in data(): o.zero_grad(); F.mse_loss(m(x.requires_grad_()), y).backward(); o.step()
        return torch.tensor(list(n.values()))
    return both(go)
@exp
def every_patch_taken_out_again():
    import torch.optim.optimizer as O, torch.nn.modules.module as M, torch.autograd.variable as V, torch.autograd.graph as G
    def snap():
        c = {"engine": V.Variable._execution_engine, "backward": torch.Tensor.backward, "ab": torch.autograd.backward, "grad": torch.autograd.grad, "clip": nn.utils.clip_grad_norm_,
             "clip2": torch.nn.utils.clip_grad.clip_grad_norm_, "clipv": nn.utils.clip_grad_value_, "zg": torch.optim.Optimizer.zero_grad, "mzg": nn.Module.zero_grad, "sgdstep": torch.optim.SGD.step, "adamstep": torch.optim.Adam.step, "init": torch.optim.Optimizer.__init__,
             "unscale": torch.amp.GradScaler.unscale_, "scale": torch.amp.GradScaler.scale, "sstep": torch.amp.GradScaler.step, "upd": torch.amp.GradScaler.update, "ddp": nn.parallel.DistributedDataParallel.no_sync,
             "sched": torch.optim.lr_scheduler.StepLR.step, "lrs": torch.optim.lr_scheduler.LRScheduler.step, "addg": torch.optim.Optimizer.add_param_group, "ex": sys.excepthook, "thex": threading.excepthook, "show": warnings.showwarning,
             "call": nn.Module.__call__, "sa": nn.Module.__setattr__, "import": __builtins__.__import__ if hasattr(__builtins__, "__import__") else None, "trace": sys.gettrace(), "prof": sys.getprofile(), "out": sys.stdout, "err": sys.stderr}
        n = {k: len(v) for k, v in {**vars(O), **vars(M)}.items() if isinstance(v, dict) and "hook" in k}
        return c, n, signal.getsignal(signal.SIGINT), gc.get_threshold(), len(gc.callbacks), threading.active_count()
    a = snap()
    with zerograd.audit(on_finding="collect", mode="full"): plain(lambda p: torch.optim.SGD(p, .1), clear=False)
    b = snap(); d = [k for k in a[0] if a[0][k] is not b[0][k] and a[0][k] != b[0][k]]
    return f"not restored: {d}" if d else "" if a[1:] == b[1:] else f"{a[1:]} became {b[1:]}"
@exp
def nothing_left_on_optimizer_and_parameters():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    def snap(): return sorted(vars(o)), [sorted(p.__dict__) for p in m.parameters()], [len(p._backward_hooks or ()) for p in m.parameters()], len(o._optimizer_step_pre_hooks), len(o._optimizer_step_post_hooks), sorted(vars(m[0]))
    for x, y in data(3): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    a = snap()
    with zerograd.audit(on_finding="collect", mode="full"):
        for x, y in data(20): F.mse_loss(m(x), y).backward(); o.step(); inside = snap()
    b = snap(); return "" if a == b == inside else f"{a} / inside {inside} / after {b}"
@exp
def exceptions_pass_unchanged():
    class Boom(Exception): pass
    e0 = Boom("x"); m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for where in "forward backward step block".split():
        try:
            with zerograd.audit(on_finding="collect"):
                for x, y in data(5):
                    if where == "forward": raise e0
                    z = m(x)
                    if where == "backward":
                        def bad(g): raise e0
                        z.register_hook(bad)
                    if where == "step":
                        def bad2(*a): raise e0
                        o.register_step_pre_hook(bad2)
                    F.mse_loss(z, y).backward(); o.step()
                raise e0
        except Boom as e:
            if e is not e0 or e.__cause__ or e.__context__: return f"{where}: another exception"
        else: return f"{where}: swallowed"
        o = torch.optim.SGD(m.parameters(), .1)
    return ""
@exp
def raise_mode_raises_at_the_step_and_stops():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); n = 0
    try:
        with zerograd.audit(on_finding="raise"):
            for x, y in data(10): F.mse_loss(m(x), y).backward(); o.step(); n += 1
    except zerograd.FaultFound as e: return "" if n in (1, 2) and "ZG001" in str(e) else f"after {n} steps: {e}"
    return "no FaultFound"
@exp
def losses_models_and_optimizers_are_freed():
    with zerograd.audit(on_finding="collect", mode="full"):
        m = net(); o = torch.optim.Adam(m.parameters()); refs = []
        for x, y in data(40):
            o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); o.step(); refs.append(weakref.ref(l))
        live = sum(r() is not None for r in refs); r2 = [weakref.ref(m), weakref.ref(o), *[weakref.ref(p) for p in m.parameters()]]
        del l, m, o, x, y; gc.collect(); left = sum(r() is not None for r in (*refs, *r2))
    return "" if live <= 1 and not left else f"{live} losses alive in the loop, {left} objects behind it"
@exp
def gradients_are_freed_without_gc():
    gc.disable()
    try:
        with zerograd.audit(on_finding="collect"):
            m = net(); o = torch.optim.SGD(m.parameters(), .1); refs = []
            for x, y in data(40):
                o.zero_grad(); F.mse_loss(m(x), y).backward(); refs += [weakref.ref(p.grad) for p in m.parameters()]; o.step()
            n = sum(r() is not None for r in refs)
    finally: gc.enable()
    return "" if n <= 4 else f"{n} gradients alive"
@exp
def memory_does_not_grow():
    m = net(); o = torch.optim.SGD(m.parameters(), .01); x, y = data(1)[0]
    for mode in ("lean", "full"):
        with zerograd.audit(on_finding="collect", mode=mode):
            def go(n):
                for _ in range(n): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
                gc.collect()
            go(300); tracemalloc.start(); go(200); a = tracemalloc.get_traced_memory()[0]; go(2000); b = tracemalloc.get_traced_memory()[0]; tracemalloc.stop()
        if b - a > 60_000: return f"{mode}: {b - a} bytes in 2000 steps"
    return ""
@exp
def memory_does_not_grow_with_finding_and_new_models():
    with zerograd.audit(on_finding="collect"):
        def go(n):
            for _ in range(n):
                m = net(); o = torch.optim.SGD(m.parameters(), .01)
                for x, y in data(3): F.mse_loss(m(x), y).backward(); o.step()
            del m, o; gc.collect()
        go(60); tracemalloc.start(); go(60); a = tracemalloc.get_traced_memory()[0]; go(500); b = tracemalloc.get_traced_memory()[0]; tracemalloc.stop()
    return "" if b - a < 250_000 else f"{b - a} bytes for 500 models that are gone"
@exp
def warnings_are_the_same():
    def go():
        m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.optim.lr_scheduler.StepLR(o, 1)
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always"); s.step(); l = F.mse_loss(m(torch.ones(2, 4)), torch.ones(3, 1).mean()); l.backward(); o.step(); s.step(); torch.optim.SGD([*m.parameters(), *m[0].parameters()], .1)
            l.grad; s.step(3)
        return sorted((str(k.category), str(k.message)[:60], os.path.basename(k.filename)) for k in w)
    a = go()
    with zerograd.audit(on_finding="collect", mode="full"): b = go()
    return "" if a == b else f"without {a}, with {b}"
@exp
def warnings_filtered_by_module_of_the_caller():
    def go():
        m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.optim.lr_scheduler.StepLR(o, 1)
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always"); warnings.filterwarnings("ignore", module="__main__")   # the user's: nothing from my own file
            F.mse_loss(m(torch.ones(2, 4)), torch.ones(2, 1)).backward(); o.step(); s.step(3)
        return [str(k.message)[:50] for k in w]
    a = go()
    with zerograd.audit(on_finding="collect"): b = go()
    return "" if a == b else f"without {a}, with {b}"
@exp
def return_values_and_signatures():
    def go():
        m = net(); o = torch.optim.SGD(m.parameters(), .1); F.mse_loss(m(torch.ones(2, 4)), torch.ones(2, 1)).backward()
        return [str(inspect.signature(f)) for f in (nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_, torch.Tensor.backward, torch.autograd.backward, o.step, o.zero_grad, m.zero_grad, torch.amp.GradScaler.unscale_)] + [type(nn.utils.clip_grad_norm_(m.parameters(), 1.)).__name__, repr(o.step()), repr(o.step(lambda: 5)), repr(o.zero_grad()), nn.utils.clip_grad_norm_.__name__, torch.autograd.backward.__module__]
    a = go()
    with zerograd.audit(on_finding="collect"): b = go()
    return "" if a == b else f"{[(x, y) for x, y in zip(a, b) if x != y]}"
@exp
def deepcopy_pickle_and_save_inside():
    def go():
        m = net(); o = torch.optim.Adam(m.parameters())
        for i, (x, y) in enumerate(data(12)):
            o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
            if i == 6: m, o = pickle.loads(pickle.dumps((m, o)))
            if i == 9: m, o = copy.deepcopy((m, o))
        b = io.BytesIO(); torch.save((m.state_dict(), o.state_dict()), b); return m, torch.tensor(list(b.getvalue()))
    return both(go)
@exp
def anomaly_profiler_and_nested_modes():
    def go():
        m = net(); o = torch.optim.SGD(m.parameters(), .1)
        with torch.autograd.set_detect_anomaly(True), torch.autograd.profiler.profile():
            for x, y in data(5): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
        with torch.inference_mode(): m(torch.ones(1, 4))
        return m, torch.tensor([torch.is_grad_enabled(), torch.is_anomaly_enabled(), torch.is_autocast_enabled("cpu")])
    return both(go)
@exp
def torch_functions_modes_and_tensor_subclass():
    class T(torch.Tensor): pass
    def go():
        p = nn.Parameter(torch.ones(3)); x = torch.ones(3).as_subclass(T); o = torch.optim.SGD([p], .1)
        for _ in range(12): o.zero_grad(); (p * x).square().sum().backward(); o.step()
        return p
    return both(go)
@exp
def two_threads_stepping_while_audit_starts_and_stops():
    stop = []; err = []
    def work():
        try:
            m = net(); o = torch.optim.SGD(m.parameters(), .1)
            while not stop: o.zero_grad(); m(torch.ones(2, 4)).square().mean().backward(); o.step()
        except BaseException as e: err.append(e)
    ts = [threading.Thread(target=work) for _ in range(2)]; [t.start() for t in ts]; found = []
    for _ in range(40):
        with zerograd.audit(on_finding="collect") as a: plain(lambda p: torch.optim.SGD(p, .1), n=5)
        found += [f for f in a.findings if certain(f)]
    stop.append(1); [t.join() for t in ts]
    return f"errors {err[:1]}" if err else f"accused {tell(found[0])}" if found else ""
@exp
def audit_started_and_stopped_in_mid_iteration():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); bad = []
    for k in range(6):
        a = zerograd.audit(on_finding="collect"); 
        for i, (x, y) in enumerate(data(6)):
            if k == 0 and i == 2: a.start()
            if k == 3 and i == 2: a.stop()
            if k not in (0, 3) and i == 2: a.start()
            l = F.mse_loss(m(x), y)
            l.backward()
            if k == 1 and i == 4: a.stop(); a.stop()
            o.step()
            if k == 2 and i == 4: a.stop()
            o.zero_grad()
        a.stop(); bad += [tell(f) for f in a.findings if certain(f)]
    return "; ".join(bad)
@exp
def nested_audit_refused_and_outer_goes_on():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    with zerograd.audit(on_finding="collect") as a:
        try:
            with zerograd.audit(on_finding="collect"): pass
            return "a second audit was let in (errors.md#audit-running)"
        except Exception as e:
            if "audit-running" not in str(e): return f"raised {e!r}"
        for x, y in data(5): F.mse_loss(m(x), y).backward(); o.step()
    return "" if [f.code for f in a.findings] == ["ZG001"] else f"outer found {a.findings}"

# a process of its own
CLI = r'''
import sys, os, torch, random, hashlib
torch.manual_seed(int(sys.argv[1])); m = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Dropout(.2), torch.nn.Linear(5, 1)); o = torch.optim.Adam(m.parameters())
for i in range(20): m(torch.randn(3, 4)).square().mean().backward(); o.step(); print("step", i, end="\r")
print(); print(__name__, os.path.basename(__file__), os.path.basename(sys.argv[0]), sys.argv[1:], os.path.basename(sys.path[0])[:3], sys.stdin.read())
print(hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in m.parameters())).hexdigest(), torch.randn(1).item(), random.Random(1).random())
print("to stderr", file=sys.stderr)
import atexit; atexit.register(print, "at exit")
'''
def run_two(tail, cli=(), stdin="hello\nworld"):
    f = tempfile.mkdtemp(prefix="zgc"); path = os.path.join(f, "train.py"); open(path, "w").write(CLI + tail); r = []
    for pre in ([PY], [PY, "-m", "zerograd", "run", *cli]):
        r.append(subprocess.run([*pre, path, "3", "--lr", "0.1"], capture_output=True, text=True, input=stdin, cwd=f, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"}))
    a, b = r
    if a.returncode != b.returncode: return f"exit {a.returncode} became {b.returncode}: {b.stderr[-300:]}"
    if a.stdout != b.stdout: return f"stdout {a.stdout[-300:]!r} became {b.stdout[-300:]!r}"
    if a.stderr.strip().splitlines()[-1:] and a.stderr.strip().splitlines()[-1] not in b.stderr: return f"last line of stderr {a.stderr.strip().splitlines()[-1]!r} is missing in {b.stderr[-300:]!r}"
    return ""
for nm, tail, cli in [("cli_output_same", "", ()), ("cli_full_sampled_exit_3", "sys.exit(3)", ("--mode", "full", "--sample", "4")), ("cli_sys_exit_text", "sys.exit('bye')", ()),
                      ("cli_uncaught_exception", "raise KeyError('k')", ("--strict",)), ("cli_os_exit_7", "sys.stdout.flush(); os._exit(7)", ()), ("cli_sigterm", "sys.stdout.flush(); os.kill(os.getpid(), 15)", ()), ("cli_keyboard_interrupt", "sys.stdout.flush(); os.kill(os.getpid(), 2); import time; time.sleep(3)", ())]:
    def f(tail=tail, cli=cli): return run_two(tail, cli)
    f.__name__ = nm; exp(f)

@exp
def cli_exit_status_with_warnings_as_errors_elsewhere():
    # "errors, but not from my own script" is a common set of filters; the schedule is told the epoch, which torch deprecates
    t = """import warnings, torch
warnings.simplefilter("error"); warnings.filterwarnings("ignore", module="__main__")
p = torch.nn.Parameter(torch.ones(1)); o = torch.optim.SGD([p], 0.1); s = torch.optim.lr_scheduler.StepLR(o, 3)
for epoch in range(4):
    o.zero_grad(); p.square().sum().backward(); o.step(); s.step(epoch)
print("done")
"""
    a, b = script(t, audit=False), script(t)
    return "" if (a.returncode, a.stdout) == (b.returncode, b.stdout) else f"exit {a.returncode} {a.stdout!r} became {b.returncode} {b.stdout!r}: {b.stderr[-500:]!r}"

for f in EXP:
    if sys.argv[1:] and f.__name__ not in sys.argv[1:]: continue
    try: r = f()
    except BaseException as e: traceback.print_exc(); r = f"raised {type(e).__name__}: {e}"
    say("FAIL" if r else "OK", f.__name__, r and r + "; promised: audit.md, it changes no number, no output and no exit status, and keeps nothing alive")
done()

import os, sys, traceback, warnings, copy, gc
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")
import torch
torch.set_num_threads(1)
import zerograd
from zerograd import *
from zerograd import Step, groups, join, Checkpoints, Cursor, StepError, ZerogradError, TornStep, Diverged, CheckpointError
import torch.nn as nn, torch.nn.functional as F
RES = []
class Limit(Exception): pass
def exp(name, *args):
    def deco(f):
        only = sys.argv[1:]
        if only and not any(o in name for o in only): return f
        try:
            f(*args); RES.append((name, "OK")); print("OK", name, flush=True)
        except Limit as e:
            RES.append((name, "LIMIT")); print("LIMIT", name + ":", e, flush=True)
        except BaseException as e:
            RES.append((name, "FAIL"))
            print("FAIL", name + ":", type(e).__name__, str(e).replace("\n", " | ")[:600], flush=True)
            if os.environ.get("TB"): traceback.print_exc()
        return f
    return deco
def done():
    n = len(RES); k = sum(r[1] == "FAIL" for r in RES)
    print(f"# {n} experiments, {k} failures, {sum(r[1]=='LIMIT' for r in RES)} limits", flush=True)
    sys.exit(1 if k else 0)
def mlp(seed=0, d=4, h=5, o=2, dtype=torch.float32):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(d, h), nn.Tanh(), nn.Linear(h, o)).to(dtype)
def same(a, b, what="weights"):
    sa = a.state_dict() if isinstance(a, nn.Module) else dict(enumerate(a)); sb = b.state_dict() if isinstance(b, nn.Module) else dict(enumerate(b))
    assert sa.keys() == sb.keys()
    for k in sa:
        if not torch.equal(sa[k], sb[k]):
            x=sa[k]; y=sb[k]
            raise AssertionError(f"{what} differ at {k}: max |d|={((x-y).abs().max()).item():.3e}")
def close(a, b, tol, what="weights"):
    sa = a.state_dict() if isinstance(a, nn.Module) else dict(enumerate(a)); sb = b.state_dict() if isinstance(b, nn.Module) else dict(enumerate(b))
    for k in sa:
        d = (sa[k].double() - sb[k].double()).abs().max().item()
        assert d <= tol, f"{what} differ at {k}: {d:.3e} > {tol}"
def flat(o):
    "optimizer state as comparable"
    s = o.state_dict()
    out = {}
    for i, st in s["state"].items():
        for k, v in st.items(): out[(i, k)] = v
    return out
def same_state(o1, o2):
    a, b = flat(o1), flat(o2)
    assert a.keys() == b.keys(), f"state keys differ {a.keys() ^ b.keys()}"
    for k in a:
        if torch.is_tensor(a[k]): assert torch.equal(a[k], b[k]), f"state differs at {k}"
        else: assert a[k] == b[k], f"state differs at {k}: {a[k]} {b[k]}"
def raises(err, f, *words):
    try: f()
    except err as e:
        for w in words: assert w.lower() in str(e).lower(), f"{w!r} not in message: {e}"
        return e
    except BaseException as e:
        raise AssertionError(f"expected {err.__name__}, got {type(e).__name__}: {e}")
    raise AssertionError(f"expected {getattr(err,'__name__',err)}, nothing raised")
def snap(model, *opts):
    return ([p.detach().clone() for p in model.parameters()], [copy.deepcopy(o.state_dict()) for o in opts])
def unmoved(model, s, *opts):
    for p, q in zip(model.parameters(), s[0]): assert torch.equal(p, q), "weights moved"
    for o, q in zip(opts, s[1]):
        n = o.state_dict()
        assert repr(n["param_groups"]) == repr(q["param_groups"]), "param_groups moved"
        assert n["state"].keys() == q["state"].keys(), "optimizer state appeared/vanished"
        for i in n["state"]:
            for k in n["state"][i]:
                v, w = n["state"][i][k], q["state"][i][k]
                assert (torch.equal(v, w) if torch.is_tensor(v) else v == w), f"state {k} moved"

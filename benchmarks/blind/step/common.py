import sys, traceback, warnings, os, copy, math
warnings.filterwarnings("ignore")
import torch
from torch import nn
import zerograd
from zerograd import Step, join, groups
torch.set_num_threads(1)
N=[0,0]
def exp(name):
    def deco(f):
        try:
            r=f()
        except (zerograd.StepError, zerograd.CheckpointError) as e:
            N[0]+=1; N[1]+=1
            print(f"FAIL {name}: refused {type(e).__name__}: {str(e)[:400]!r}", flush=True)
            if os.environ.get("TB"): traceback.print_exc()
            return f
        except BaseException as e:
            N[0]+=1; N[1]+=1
            print(f"FAIL {name}: raised {type(e).__name__}: {str(e)[:400]!r}", flush=True)
            if os.environ.get("TB"): traceback.print_exc()
            return f
        N[0]+=1
        if r: 
            N[1]+=1; print(f"FAIL {name}: {r}", flush=True)
        else: print(f"OK {name}", flush=True)
        return f
    return deco
def done():
    print(f"-- {N[0]} experiments, {N[1]} fails", flush=True)
    sys.stdout.flush()
    sys.exit(1 if N[1] else 0)
def diff(a,b,tol=0):
    a=list(a); b=list(b)
    if len(a)!=len(b): return f"different number of tensors {len(a)} {len(b)}"
    for i,(x,y) in enumerate(zip(a,b)):
        x=x.detach(); y=y.detach()
        if tol==0:
            if not torch.equal(torch.nan_to_num(x.to_dense() if x.is_sparse else x,nan=123.),torch.nan_to_num(y.to_dense() if y.is_sparse else y,nan=123.)): return f"tensor {i} differs by {(x-y).abs().max().item():.3g} (bit for bit promised)"
        else:
            d=(x.double()-y.double()).abs().max().item()
            if not d<=tol: return f"tensor {i} differs by {d:.3g} (tolerance {tol})"
    return None
def mlp(dtype=torch.float32, seed=0, width=7):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5,width),nn.Tanh(),nn.Linear(width,3)).to(dtype)
def data(n=6,b=8,dtype=torch.float32,seed=1):
    g=torch.Generator().manual_seed(seed)
    return [(torch.randn(b,5,generator=g).to(dtype),torch.randn(b,3,generator=g).to(dtype)) for _ in range(n)]
def mse(m,b): return nn.functional.mse_loss(m(b[0]),b[1])
def refused(f, kinds=None):
    """returns None if f raises a zerograd error"""
    try: f()
    except zerograd.ZerogradError as e:
        return None
    return "was not refused"

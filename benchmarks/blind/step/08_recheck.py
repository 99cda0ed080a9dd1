from common import *
import tempfile, shutil, pathlib, signal, io
from zerograd import Checkpoints
F=torch.float64; D=data(6,dtype=F)
for idx in ([1,1,1,1],[1,2]):
    for n in (1,3):
        @exp(f"sparse value clip idx {idx} micro {n}")
        def _():
            e=nn.Embedding(10,4,sparse=True,dtype=F); w=e.weight.detach().clone(); st=Step(torch.optim.SGD(e.parameters(),lr=1.),clip={"value":.7})
            with st:
                for _ in st.micro_batches(range(n)): st.backward(e(torch.tensor(idx)).sum())
            d=(w-e.weight).abs().max().item()
            return None if abs(d-.7)<1e-9 else f"clip value .7 of gradient {len(idx) if len(set(idx))==1 else 1} moved {d}"
@exp("sparse value clip with dense plain reference: torch's own")
def _():
    e=nn.Embedding(10,4,sparse=True,dtype=F); e(torch.tensor([1,1,1,1])).sum().backward()
    try: nn.utils.clip_grad_value_(e.parameters(),.7); print("   torch gives",e.weight.grad.to_dense().max())
    except Exception as ex: print("   torch raises",repr(ex)[:100])
X=torch.randn(5,3,4,4,generator=torch.Generator().manual_seed(0))
def conv(seed=0):
    torch.manual_seed(seed); return nn.Sequential(nn.Conv2d(3,4,3),nn.Flatten(),nn.Linear(16,2)).to(memory_format=torch.channels_last)
@exp("plain loop with torch.save resumes channels_last fused right (reference)")
def _():
    def go(m,o,n):
        for _ in range(n): o.zero_grad(); m(X).square().mean().backward(); o.step()
    m=conv(); o=torch.optim.AdamW(m.parameters(),lr=.01,fused=True); go(m,o,3); f=io.BytesIO(); torch.save([m.state_dict(),o.state_dict()],f); go(m,o,3); f.seek(0)
    m2=conv(1); o2=torch.optim.AdamW(m2.parameters(),lr=.01,fused=True); a,b=torch.load(f); m2.load_state_dict(a); o2.load_state_dict(b); go(m2,o2,3)
    return diff(m.parameters(),m2.parameters())
@exp("Checkpoints channels_last fused: strides of optimizer state after resume")
def _():
    d=tempfile.mkdtemp(); m=conv(); o=torch.optim.AdamW(m.parameters(),lr=.01,fused=True); st=Step(o)
    with st: st.backward(m(X).square().mean())
    Checkpoints(d,st,model=m).save()
    m2=conv(1); o2=torch.optim.AdamW(m2.parameters(),lr=.01,fused=True); st2=Step(o2); Checkpoints(d,st2,model=m2).resume()
    a,b=o.state[m[0].weight]["exp_avg"],o2.state[m2[0].weight]["exp_avg"]
    return None if a.stride()==b.stride() else f"stride {a.stride()} -> {b.stride()} values equal {torch.equal(a,b)}"
@exp("rollback restore=weights keeps strides (fused channels_last)")
def _():
    m=conv(); st=Step(torch.optim.AdamW(m.parameters(),lr=.01,fused=True),restore="weights"); m2=conv(); o2=torch.optim.AdamW(m2.parameters(),lr=.01,fused=True)
    for i in range(4):
        try:
            with st:
                st.backward(m(X).square().mean())
                if i==2: raise OSError
        except OSError: continue
        o2.zero_grad(); m2(X).square().mean().backward(); o2.step()
    return diff(m.parameters(),m2.parameters())
@exp("torn restore=weights channels_last fused")
def _():
    flag=[0]
    class Bad(torch.optim.AdamW):
        def step(s,closure=None):
            super().step()
            if flag[0]: raise OSError
    m=conv(); st=Step(Bad(m.parameters(),lr=.01,fused=True),restore="weights"); m2=conv(); o2=torch.optim.AdamW(m2.parameters(),lr=.01,fused=True)
    for i in range(4):
        flag[0]=i==2
        try:
            with st: st.backward(m(X).square().mean())
        except (OSError,zerograd.TornStep): continue
        o2.zero_grad(); m2(X).square().mean().backward(); o2.step()
    return diff(m.parameters(),m2.parameters())
@exp("failed resume in channels_last fused brings back the state usable")
def _():
    class T:
        def state_dict(s): return {"v":1}
        def load_state_dict(s,x): 
            raise OSError
    class T2(T):
        def load_state_dict(s,x): pass
    d=tempfile.mkdtemp(); m0=conv(); s0=Step(torch.optim.AdamW(m0.parameters(),lr=.01,fused=True))
    with s0: s0.backward(m0(X).square().mean())
    Checkpoints(d,s0,model=m0,also={"t":T2()}).save()
    m=conv(3); st=Step(torch.optim.AdamW(m.parameters(),lr=.01,fused=True)); m2=conv(3); o2=torch.optim.AdamW(m2.parameters(),lr=.01,fused=True)
    for i in range(4):
        with st: st.backward(m(X).square().mean())
        o2.zero_grad(); m2(X).square().mean().backward(); o2.step()
        if i==1:
            try: Checkpoints(d,st,model=m,also={"t":T()}).resume(); return "no raise"
            except zerograd.CheckpointError: pass
    return diff(m.parameters(),m2.parameters())
@exp("checkpoint moved away and symlinked in its place: what is behind it must stay")
def _():
    d=pathlib.Path(tempfile.mkdtemp()); e=pathlib.Path(tempfile.mkdtemp()); m=mlp(F); st=Step(torch.optim.SGD(m.parameters(),lr=.1)); ck=Checkpoints(str(d),st,model=m,keep=1); p=pathlib.Path(ck.save())
    t=e/"arch"; shutil.move(str(p),str(t)); os.symlink(t,p); had=sorted(x.name for x in t.iterdir())
    ck.save(); 
    now=sorted(x.name for x in t.iterdir()) if t.exists() else None
    return None if now==had else f"behind the link: {had} -> {now}; folder {sorted(os.listdir(d))}"
@exp("a symlink with keep number NOT a checkpoint of ours (link to a folder of the user's)")
def _():
    d=pathlib.Path(tempfile.mkdtemp()); e=pathlib.Path(tempfile.mkdtemp()); (e/"precious").write_text("x"); m=mlp(F); st=Step(torch.optim.SGD(m.parameters(),lr=.1)); ck=Checkpoints(str(d),st,model=m,keep=1); p=pathlib.Path(ck.save()); print("   names",os.listdir(d))
    import re
    name=re.sub(r"\d+",lambda k:str(0).zfill(len(k.group())),p.name)
    if not (d/name).exists(): os.symlink(e,d/name)
    ck.save(); ck.save()
    return None if (e/"precious").exists() else "precious deleted"
@exp("two Checkpoints closed oldest first: SIGTERM is what it was")
def _():
    hit=[]
    old=signal.signal(signal.SIGTERM,lambda *a:hit.append(1))
    try:
        m=mlp(F); st=Step(torch.optim.SGD(m.parameters(),lr=.1)); c1=Checkpoints(tempfile.mkdtemp(),st,model=m); c2=Checkpoints(tempfile.mkdtemp(),st,model=m); c1.close(); c2.close()
        os.kill(os.getpid(),signal.SIGTERM)
        for _ in range(1000): pass
        return None if hit else f"SIGTERM swallowed after both were closed; handler {signal.getsignal(signal.SIGTERM)}"
    finally: signal.signal(signal.SIGTERM,old)
@exp("subprocess: two Checkpoints closed in order, SIGTERM ends the process")
def _():
    import subprocess,time
    code='''
import sys; sys.path.insert(0,"benchmarks/blind/step")
from common import *
from zerograd import Checkpoints
import tempfile,time
m=mlp(); st=Step(torch.optim.SGD(m.parameters(),lr=.1)); c1=Checkpoints(tempfile.mkdtemp(),st,model=m); c2=Checkpoints(tempfile.mkdtemp(),st,model=m); c1.close(); c2.close()
print("x",flush=True); time.sleep(3); print("survived",flush=True)
'''
    p=subprocess.Popen([sys.executable,"-c",code],stdout=subprocess.PIPE); p.stdout.readline(); p.terminate(); out=p.stdout.read(); p.wait()
    return None if p.returncode==-signal.SIGTERM else f"rc {p.returncode}, out {out}"
@exp("one Checkpoints not closed but garbage collected: SIGTERM?")
def _():
    import gc
    hit=[]
    old=signal.signal(signal.SIGTERM,lambda *a:hit.append(1))
    try:
        m=mlp(F); st=Step(torch.optim.SGD(m.parameters(),lr=.1)); c1=Checkpoints(tempfile.mkdtemp(),st,model=m); c1.save(); del c1; gc.collect()
        os.kill(os.getpid(),signal.SIGTERM)
        for _ in range(1000): pass
        print("   after gc hit:",hit)
    finally: signal.signal(signal.SIGTERM,old)
@exp("SIGTERM with Checkpoints.save only (no keep_up): stopping is True")
def _():
    old=signal.getsignal(signal.SIGTERM)
    m=mlp(F); st=Step(torch.optim.SGD(m.parameters(),lr=.1)); c1=Checkpoints(tempfile.mkdtemp(),st,model=m)
    os.kill(os.getpid(),signal.SIGTERM)
    for _ in range(1000): pass
    r=c1.stopping; c1.close(); signal.signal(signal.SIGTERM,old)
    return None if r else "not stopping"
@exp("manifest last byte")
def _():
    d=tempfile.mkdtemp(); m=mlp(F); st=Step(torch.optim.SGD(m.parameters(),lr=.1)); p=pathlib.Path(Checkpoints(d,st,model=m).save()); b=(p/"manifest.json").read_bytes(); print("   ends",b[-5:])
done()

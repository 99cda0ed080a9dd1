from ranks import *
from zerograd import Checkpoints, Cursor
import shutil, pathlib
D=data(6,dtype=F)
class EmaBuf(nn.Module):
    def __init__(s): super().__init__(); s.l=nn.Linear(5,3,dtype=F); s.register_buffer("c",torch.zeros(5,dtype=F))
    def forward(s,x):
        y=s.l(x-s.c)
        if s.training:
            with torch.no_grad(): s.c.mul_(.5).add_(x.mean(0),alpha=.5)
        return y
def buf(rank):
    torch.manual_seed(0); m=DDP(EmaBuf()); torch.manual_seed(0); r=DDP(EmaBuf()); st=Step(S(m.parameters())); ro=S(r.parameters()); log=[]
    for b in batches(rank,sizes=[4]*4):
        with st: st.backward(mse(m,b))
        ro.zero_grad(); mse(r,b).backward(); ro.step()
        ms=[torch.empty(5,dtype=F) for _ in range(2)]; rs=[torch.empty(5,dtype=F) for _ in range(2)]
        dist.all_gather(ms,m.module.c); dist.all_gather(rs,r.module.c)
        log.append((f"step r0==r1 {torch.equal(*ms)}",f"hand r0==r1 {torch.equal(*rs)}",f"step=hand on r0 {torch.equal(ms[0],rs[0])} r1 {torch.equal(ms[1],rs[1])}"))
    if rank==0: print("   ",log[-1],flush=True)
ranked("what are the buffers of rank 1 after a block (information)",buf)
def bufeval(rank):
    torch.manual_seed(0); m=DDP(EmaBuf()); st=Step(S(m.parameters()))
    for b in batches(rank,sizes=[4]*4):
        try:
            with st:
                st.backward(mse(m,b))
                if rank==1 and len(seen)==2: pass
        except OSError: pass
        seen.append(1)
    ms=[torch.empty(5,dtype=F) for _ in range(2)]; dist.all_gather(ms,m.module.c)
seen=[]
X=torch.randn(5,3,4,4,generator=torch.Generator().manual_seed(0))
def trans(s=0):
    torch.manual_seed(s); m=nn.Sequential(nn.Flatten(),nn.Linear(48,6),nn.Tanh(),nn.Linear(6,2)); m[1].weight=nn.Parameter(torch.randn(48,6).t()*.1); return m
for on,O in (("adamwfused",lambda p:torch.optim.AdamW(p,lr=.01,fused=True)),("adamw",lambda p:torch.optim.AdamW(p,lr=.01)),("sgdfused",lambda p:torch.optim.SGD(p,lr=.01,momentum=.9,fused=True))):
    @exp(f"transposed weight, resume {on}")
    def _():
        def go(st,m,n):
            for _ in range(n):
                with st: st.backward(m(X).square().mean())
        d=tempfile.mkdtemp(); m=trans(); st=Step(O(m.parameters())); go(st,m,3); Checkpoints(d,st,model=m).save(); go(st,m,3)
        m2=trans(1); st2=Step(O(m2.parameters())); Checkpoints(d,st2,model=m2).resume(); go(st2,m2,3); return diff(m.parameters(),m2.parameters())
    @exp(f"transposed weight, resume into Step that has trained already (state exists) {on}")
    def _():
        def go(st,m,n):
            for _ in range(n):
                with st: st.backward(m(X).square().mean())
        d=tempfile.mkdtemp(); m=trans(); st=Step(O(m.parameters())); go(st,m,3); Checkpoints(d,st,model=m).save(); go(st,m,3)
        m2=trans(1); st2=Step(O(m2.parameters())); go(st2,m2,1); Checkpoints(d,st2,model=m2).resume(); go(st2,m2,3); return diff(m.parameters(),m2.parameters())
@exp("only the model is channels_last at resume (saved contiguous), fused")
def _():
    def conv(cl,s=0):
        torch.manual_seed(s); m=nn.Sequential(nn.Conv2d(3,4,3),nn.Flatten(),nn.Linear(16,2)); return m.to(memory_format=torch.channels_last) if cl else m
    def go(st,m,n):
        for _ in range(n):
            with st: st.backward(m(X).square().mean())
    O=lambda p:torch.optim.AdamW(p,lr=.01,fused=True)
    d=tempfile.mkdtemp(); m=conv(False); st=Step(O(m.parameters())); go(st,m,3); Checkpoints(d,st,model=m).save(); go(st,m,3)
    m2=conv(True,1); st2=Step(O(m2.parameters())); Checkpoints(d,st2,model=m2).resume(); go(st2,m2,3); return diff(m.parameters(),m2.parameters(),1e-5)
for k in range(4):
    @exp(f"Ctrl-C during save {k}: nothing remains of it or whole; older whole; next save works")
    def _():
        d=tempfile.mkdtemp(); m=mlp(F,0,600); st=Step(A(m.parameters())); ck=Checkpoints(d,st,model=m,keep=5)
        with st: st.backward(mse(m,D[0]))
        ck.save()
        with st: st.backward(mse(m,D[1]))
        def h(*a): raise KeyboardInterrupt
        old=signal.signal(signal.SIGALRM,h); signal.setitimer(signal.ITIMER_REAL,.004*(k+1))
        try: ck.save(); signal.setitimer(signal.ITIMER_REAL,0)
        except KeyboardInterrupt: pass
        except zerograd.CheckpointError: pass
        finally: signal.setitimer(signal.ITIMER_REAL,0); signal.signal(signal.SIGALRM,old)
        with st: st.backward(mse(m,D[2]))
        ck.save(); m2=mlp(F,1,600); st2=Step(A(m2.parameters())); Checkpoints(d,st2,model=m2).resume()
        junk=[n for n in os.listdir(d) if not n.isdigit()]
        return diff(m.parameters(),m2.parameters()) or (None if not junk else f"junk {junk}")
@exp("full tmpfs-like: ENOSPC via /dev/full is not a folder: path is a file -> words")
def _():
    f=tempfile.mktemp(); open(f,"w").write("mine"); m=mlp(F); st=Step(A(m.parameters()))
    try: Checkpoints(f,st,model=m).save(); return "saved?"
    except zerograd.CheckpointError: pass
    return None if open(f).read()=="mine" else "user's file gone"
@exp("weight is a tensor that requires grad")
def _():
    m=mlp(F); st=Step(S(m.parameters())); w=torch.tensor(2.,requires_grad=True)
    with st:
        for b in st.micro_batches(D[:2],weight=lambda b:w): st.backward(mse(m,b))
    r=mlp(F); o=S(r.parameters()); ((mse(r,D[0])+mse(r,D[1]))/2).backward(); o.step(); return diff(r.parameters(),m.parameters(),1e-12) or ("w got grad" if w.grad is not None else None)
@exp("per-group clip with a frozen group and an unused group")
def _():
    def mk():
        m=mlp(F); x=nn.Linear(3,3,dtype=F); m.x=None; return m,x
    torch.manual_seed(5); m,x=mk(); m[0].requires_grad_(False)
    O=lambda m,x:torch.optim.SGD([{"params":m[0].parameters()},{"params":m[2].parameters()},{"params":x.parameters()}],lr=.1)
    st=Step(O(m,x),clip={"norm":.01,"per":"group"}); r=mlp(F); r[0].requires_grad_(False); o=torch.optim.SGD(r.parameters(),lr=.1)
    with st: st.backward(nn.functional.mse_loss(m[2](m[1](m[0](D[0][0]))),D[0][1]))
    mse(r,D[0]).backward(); nn.utils.clip_grad_norm_(r[2].parameters(),.01); o.step(); return diff(list(r.parameters()),[*m[0].parameters(),*m[2].parameters()])
@exp("symlinked run folder itself: works, target kept")
def _():
    e=tempfile.mkdtemp(); d=tempfile.mktemp(); os.symlink(e,d); m=mlp(F); st=Step(A(m.parameters())); ck=Checkpoints(d,st,model=m,keep=1)
    for b in D[:3]:
        with st: st.backward(mse(m,b))
        ck.save()
    return None if os.path.islink(d) and len(os.listdir(e))==1 else str(os.listdir(e))
@exp("user's hard-linked / extra file put inside an old checkpoint is deleted with it? (information)")
def _():
    d=tempfile.mkdtemp(); m=mlp(F); st=Step(A(m.parameters())); ck=Checkpoints(d,st,model=m,keep=1); p=pathlib.Path(ck.save()); (p/"notes.txt").write_text("mine"); ck.save(); print("   notes in old checkpoint survive:",(p/"notes.txt").exists(),os.listdir(d))
@exp("persistent workers: generator= of the loader given")
def _():
    from torch.utils.data import DataLoader,TensorDataset
    T=TensorDataset(torch.arange(23.)); f=lambda:Cursor(DataLoader(T,3,shuffle=True,num_workers=1,persistent_workers=True,generator=torch.Generator().manual_seed(3)))
    c=f(); out=[]; s=None
    for e in range(3):
        for b in c:
            out.append(b[0].tolist())
            if len(out)==11: s=copy.deepcopy(c.state_dict())
    c=f(); c.load_state_dict(s); rest=[]
    while c.epoch<3:
        for b in c: rest.append(b[0].tolist())
    return None if rest==out[11:] else f"differs: {rest[:2]} {out[11:13]}"
@exp("wrong: a Step's load_state_dict with partial keys refused before change")
def _():
    m=mlp(F); st=Step(A(m.parameters()))
    with st: st.backward(mse(m,D[0]))
    sd=st.state_dict(); k=next(iter(sd)); bad={x:y for x,y in sd.items() if x!=k}
    try: st.load_state_dict(bad); return "accepted"
    except zerograd.StepError: return None if st.committed==1 else "changed"
done()

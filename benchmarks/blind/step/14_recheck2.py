from ranks import *
class EmaBuf(nn.Module):
    def __init__(s): super().__init__(); s.l=nn.Linear(5,3,dtype=F); s.register_buffer("c",torch.zeros(5,dtype=F))
    def forward(s,x):
        y=s.l(x-s.c)
        if s.training:
            with torch.no_grad(): s.c.mul_(.5).add_(x.mean(0),alpha=.5)
        return y
for sync in (None,"overlap","commit","each"):
  for micro in (False,True):
    def buf(rank):
        torch.manual_seed(0); m=DDP(EmaBuf()); torch.manual_seed(0); r=DDP(EmaBuf()); st=Step(S(m.parameters()),sync=sync); ro=S(r.parameters())
        for b in batches(rank,sizes=[4]*6):
            with st:
                if micro:
                    for x in st.micro_batches([b]): st.backward(mse(m,x))
                else: st.backward(mse(m,b))
            ro.zero_grad(); mse(r,b).backward(); ro.step()
        a=diff(r.parameters(),m.parameters(),1e-12); q=diff(r.buffers(),m.buffers(),1e-12) if rank==0 else None
        return (a and "weights "+a) or (q and "buffers "+q)
    ranked(f"ddp broadcast_buffers: buffer used in forward, as DDP by hand {sync} micro={micro}",buf)
def bufacc(rank):
    import contextlib
    torch.manual_seed(0); m=DDP(EmaBuf()); torch.manual_seed(0); r=DDP(EmaBuf()); st=Step(S(m.parameters())); ro=S(r.parameters())
    for g in groups(batches(rank,sizes=[4]*8),2):
        with st:
            for x in st.micro_batches(g): st.backward(mse(m,x))
        ro.zero_grad()
        with r.no_sync(): (mse(r,g[0])/2).backward()
        (mse(r,g[1])/2).backward(); ro.step()
    a=diff(r.parameters(),m.parameters(),1e-12); q=diff(r.buffers(),m.buffers(),1e-12) if rank==0 else None
    return (a and "weights "+a) or (q and "buffers "+q)
ranked("ddp broadcast_buffers, accumulation with no_sync by hand",bufacc)
for kind in ("inspect","clip"):
  for val in ("nan","inf"):
    for sync in (None,"commit"):
        def one(rank):
            m=DDP(mlp(F)); fn=lambda n:[g.fill_(float(val)) for g in n.values()] if rank==1 else None
            st=Step(A(m.parameters()),sync=sync,**{kind:fn}); w=[p.detach().clone() for p in m.parameters()]
            with st: st.backward(mse(m,batches(rank)[0]))
            return (lambda d:d and f"outcome {st.outcome.kind.value}, weights moved")(diff(w,m.parameters())) or (None if st.outcome.kind.value=="skipped" else str(st.outcome))
        ranked(f"ddp {kind} leaves {val} on rank 1 only, sync={sync}: all ranks skip",one)
def fs(rank):
    m=mlp(F); fully_shard(m[0]); fully_shard(m[2]); fully_shard(m)
    def fn(n):
        if rank==1:
            for g in n.values(): (g.to_local() if hasattr(g,"to_local") else g).fill_(float("nan"))
    st=Step(A(m.parameters()),inspect=fn); w=[p.to_local().detach().clone() for p in m.parameters()]
    with st: st.backward(mse(m,batches(rank)[0]))
    return (lambda d:d and f"outcome {st.outcome.kind.value}, weights moved")(diff(w,[p.to_local() for p in m.parameters()])) or (None if st.outcome.kind.value=="skipped" else str(st.outcome))
ranked("fsdp inspect leaves NaN in rank 1's shards: all skip",fs)
def torn(restore):
    def fn(rank):
        flag=[0]
        class Bad(torch.optim.AdamW):
            def step(s,closure=None):
                if rank==1 and flag[0]: raise OSError("b")
                super().step()
        m=DDP(mlp(F)); st=Step(Bad(m.parameters(),lr=.01),restore=restore); k=[]
        for i,b in enumerate(batches(rank)):
            flag[0]=i==2
            try:
                with st: st.backward(mse(m,b))
                k.append(st.outcome.kind.value)
            except BaseException as e: k.append(type(e).__name__+": "+str(e).replace("\n"," ")[:160]+"/"+st.outcome.kind.value)
        ws=[torch.empty_like(m.module[0].weight) for _ in range(2)]
        try: dist.all_gather(ws,m.module[0].weight.detach())
        except BaseException as e: return None
        if not torch.equal(*ws) and k[-1]=="committed": return f"apart by {(ws[0]-ws[1]).abs().max():.2g} and committing: {k}"
    return fn
ranked("ddp optimizer.step raises on rank 1, restore=(): nobody goes on apart",torn(()))
ranked("ddp optimizer.step raises on rank 1, restore=weights: nobody goes on apart",torn("weights"))
from zerograd import Cursor, Checkpoints
from torch.utils.data import *
for pers in (False,True):
  for save_inside in (True,False):
    @exp(f"Checkpoints+Cursor shuffle workers persistent={pers} cut in 2nd epoch inside={save_inside}")
    def _():
        d=tempfile.mkdtemp(); X=TensorDataset(torch.arange(26.)[:,None].double())
        def mkrun():
            m=nn.Linear(1,1).double(); st=Step(torch.optim.AdamW(m.parameters(),lr=.01)); c=Cursor(DataLoader(X,4,shuffle=True,num_workers=1,persistent_workers=pers)); return m,st,c,Checkpoints(d,st,model=m,loader=c)
        class Cut(Exception): pass
        def go(r,cut,seen):
            m,st,c,ck=r
            while c.epoch<2:
                for g in groups(c,2,begun=st.in_flight):
                    with st:
                        for (b,) in st.micro_batches(g,weight=lambda b:len(b[0])):
                            st.backward(m(b).square().mean()); seen.append(b.flatten().int().tolist())
                            if len(seen)==cut and save_inside: ck.save(); raise Cut
                    if cut and len(seen)>=cut: ck.save(); raise Cut
        s1,s2=[],[]
        torch.manual_seed(1); a=mkrun(); go(a,None,s1); a[3].close()
        torch.manual_seed(1); b=mkrun()
        try: go(b,10,s2); return "not cut"
        except Cut: pass
        b[3].close(); e=mkrun(); e[3].resume(); go(e,None,s2); e[3].close()
        ep=sorted(sum(s2[7:],[]))
        return (None if s1==s2 else f"second epoch handed out {len(set(ep))} different of 26 items ({len(ep)} in all); first difference {next(i for i in range(len(s1)) if s1[i]!=s2[i])}")
D=data(6,dtype=F)
for how in ("data","numpy","detach","view"):
    @exp(f"grad changed through {how} inside micro_batches: refused")
    def _():
        m=mlp(F); st=Step(S(m.parameters()))
        def f():
            with st:
                for b in st.micro_batches(D[:2]): st.backward(mse(m,b))
                g=m[0].weight.grad
                if how=="data": g.data.clamp_(-1e-3,1e-3)
                elif how=="numpy": g.numpy()[:]=0
                elif how=="detach": g.detach().clamp_(-1e-3,1e-3)
                else: g.view(-1)[0]=5
        return refused(f)
    @exp(f"all grads changed through {how} inside a bare block: refused")
    def _():
        m=mlp(F); st=Step(S(m.parameters()))
        def f():
            with st:
                st.backward(mse(m,D[0]))
                for p in m.parameters():
                    g=p.grad
                    if how=="data": g.data.clamp_(-1e-3,1e-3)
                    elif how=="numpy": g.numpy()[:]=0
                    elif how=="detach": g.detach().clamp_(-1e-3,1e-3)
                    else: g.view(-1)[0]=5
        return refused(f)
@exp("LBFGS with: message")
def _():
    m=mlp(F); st=Step(torch.optim.LBFGS(m.parameters()))
    try:
        with st: st.backward(mse(m,D[0]))
    except BaseException as e: print("   ",type(e).__name__,str(e).replace("\n"," | ")[:400])
    try: st.minimize(lambda s:s.backward(mse(m,D[0])))
    except BaseException as e: return f"afterwards minimize: {type(e).__name__} {e}"[:300]
done()

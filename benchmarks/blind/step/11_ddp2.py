from ranks import *
def dies(rank):
    m=DDP(mlp(F)); st=Step(A(m.parameters()))
    for i,b in enumerate(batches(rank)):
        try:
            with st:
                if i==2 and rank==1: os._exit(0)
                st.backward(mse(m,b))
        except zerograd.PeerFailed: return None
        except BaseException as e: return f"{type(e).__name__} {e}"
    return "never noticed"
ranked("ddp rank dies: PeerFailed",dies)
def stepraises(rank):
    class Bad(torch.optim.AdamW):
        def step(s,closure=None):
            if rank==1 and FLAG[0]: raise OSError("b")
            super().step()
    kinds=[]; FLAG=[0]; m=DDP(mlp(F)); st=Step(Bad(m.parameters(),lr=.01),restore="weights")
    for i,b in enumerate(batches(rank)):
        FLAG[0]=i==2; w=[p.detach().clone() for p in m.parameters()]
        try:
            with st: st.backward(mse(m,b))
            kinds.append(st.outcome.kind.value)
        except zerograd.ZerogradError as e: kinds.append(type(e).__name__+"/"+st.outcome.kind.value)
        except OSError as e: kinds.append("OSError/"+st.outcome.kind.value)
    s=[torch.zeros_like(p) for p in m.parameters()]
    for p in m.parameters():
        q=p.detach().clone(); dist.all_reduce(q); 
        if not torch.allclose(q/2,p,atol=1e-12): return f"ranks have different weights now, and went on: {kinds}"
ranked("ddp optimizer.step raises on one rank, restore=weights: ranks do not go on apart silently",stepraises)
def inspfail(rank):
    m=DDP(mlp(F)); c=[0]
    def insp(n):
        c[0]+=1
        if rank==1 and c[0]==3: raise OSError("i")
    st=Step(A(m.parameters()),inspect=insp); r=DDP(mlp(F)); ro=A(r.parameters())
    for i,b in enumerate(batches(rank)):
        try:
            with st: st.backward(mse(m,b))
            if i==2: return "no raise"
        except (OSError,zerograd.PeerFailed): pass
        if i==2: continue
        ro.zero_grad(); mse(r,b).backward(); ro.step()
    return diff(r.parameters(),m.parameters(),1e-12)
ranked("ddp inspect raises on one rank",inspfail)
def inspdiff(rank):
    m=DDP(mlp(F)); st=Step(A(m.parameters()),inspect=lambda n:[g.fill_(float("nan")) for g in n.values()] if rank==1 else None); w=[p.detach().clone() for p in m.parameters()]
    with st: st.backward(mse(m,batches(rank)[0]))
    return diff(w,m.parameters()) or (None if st.outcome.kind.value=="skipped" else str(st.outcome))
ranked("ddp inspect makes NaN on one rank only",inspdiff)
def twosteps(rank):
    torch.manual_seed(0); G,d=DDP(nn.Linear(5,5,dtype=F)),DDP(nn.Linear(5,1,dtype=F)); sg,sd=Step(A(G.parameters())),Step(S(d.parameters()))
    torch.manual_seed(0); G2,d2=nn.Linear(5,5,dtype=F),nn.Linear(5,1,dtype=F); og,od=A(G2.parameters()),S(d2.parameters())
    for i in range(4):
        xs=[batches(r,sizes=[3]*4)[i][0] for r in range(2)]; x=xs[rank]
        with sd: sd.backward(d(G(x).detach()).square().mean())
        with sg: sg.backward(d(G(x)).sin().mean())
        X=torch.cat(xs); od.zero_grad(); d2(G2(X).detach()).square().mean().backward(); od.step(); og.zero_grad(); d2(G2(X)).sin().mean().backward(); og.step()
    return diff([*G2.parameters(),*d2.parameters()],[*G.parameters(),*d.parameters()],1e-12)
ranked("ddp GAN two wrappers",twosteps)
def jn(rank):
    torch.manual_seed(0); G,d=DDP(nn.Linear(5,5,dtype=F)),DDP(nn.Linear(5,1,dtype=F)); sg,sd=Step(A(G.parameters())),Step(S(d.parameters()))
    torch.manual_seed(0); G2,d2=nn.Linear(5,5,dtype=F),nn.Linear(5,1,dtype=F); og,od=A(G2.parameters()),S(d2.parameters())
    for i in range(4):
        xs=[batches(r,sizes=[3]*4)[i][0] for r in range(2)]; x=xs[rank]
        with join(sd,sg):
            sd.backward(d(G(x).detach()).square().mean()*(float("nan") if i==1 and rank==1 else 1)); sg.backward(d(G(x)).sin().mean())
        if i==1: continue
        X=torch.cat(xs); gd=torch.autograd.grad(d2(G2(X).detach()).square().mean(),d2.parameters()); gg=torch.autograd.grad(d2(G2(X)).sin().mean(),G2.parameters())
        for p,g in zip([*d2.parameters(),*G2.parameters()],gd+gg): p.grad=g
        od.step(); og.step()
    return diff([*G2.parameters(),*d2.parameters()],[*G.parameters(),*d.parameters()],1e-12)
ranked("ddp join, NaN of one step on one rank",jn)

class EmaBuf(nn.Module):
    """a buffer that is moved in forward and used by it (a VQ codebook, running centre)"""
    def __init__(s): super().__init__(); s.l=nn.Linear(5,3,dtype=F); s.register_buffer("c",torch.zeros(5,dtype=F))
    def forward(s,x):
        y=s.l(x-s.c)
        if s.training:
            with torch.no_grad(): s.c.mul_(.5).add_(x.mean(0),alpha=.5)
        return y
for sync in (None,"commit","each"):
  for micro in (False,True):
    def buf(rank):
        torch.manual_seed(0); m=DDP(EmaBuf()); torch.manual_seed(0); r=DDP(EmaBuf()); st=Step(S(m.parameters()),sync=sync); ro=S(r.parameters())
        for b in batches(rank,sizes=[4]*6):
            with st:
                if micro:
                    for x in st.micro_batches([b]): st.backward(mse(m,x))
                else: st.backward(mse(m,b))
            ro.zero_grad(); mse(r,b).backward(); ro.step()
        return diff(r.parameters(),m.parameters(),1e-12)
    ranked(f"ddp buffers used in the forward: weights as DDP by hand {sync} micro={micro}",buf)
done()

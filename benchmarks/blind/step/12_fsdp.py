from ranks import *
from torch.distributed.device_mesh import init_device_mesh
def mkf(rank,**k):
    m=mlp(F); fully_shard(m[0],**k); fully_shard(m[2],**k); fully_shard(m,**k); return m
def full(m): return [p.full_tensor() for p in m.parameters()]
def gr(rank,n,cnt): return list(groups(batches(rank,cnt),n))
def alone(gs,opt=A,clip=None):
    m=mlp(F); o=opt(m.parameters())
    for g in gs:
        o.zero_grad(); mse(m,cat(g)).backward()
        if clip: nn.utils.clip_grad_norm_(m.parameters(),clip)
        o.step()
    return m
def weighted(sync,opt=A,clip=None,counts=(6,6),scaler=None):
    def fn(rank):
        m=mkf(rank); st=Step(opt(m.parameters()),clip=clip,sync=sync,scaler=torch.amp.GradScaler("cpu",init_scale=scaler) if scaler else None)
        oth=[gr(r,3,counts[r]) for r in range(2)]; k=max(map(len,oth)); oth=[o+[[]]*(k-len(o)) for o in oth]
        for g in oth[rank]:
            with st:
                for b in st.micro_batches(g,weight=W): st.backward(mse(m,b))
        return diff(alone([a+b for a,b in zip(*oth)],opt,clip).parameters(),full(m),1e-12)
    return fn
for sync in (None,"overlap"):
    ranked(f"fsdp weighted {sync}",weighted(sync)); ranked(f"fsdp clip unequal {sync}",weighted(sync,clip=.05,counts=(6,5)))
    ranked(f"fsdp scaler {sync}",weighted(sync,scaler=1024.))
    def nan(rank):
        m=mkf(rank); st=Step(A(m.parameters()),sync=sync); bs=[batches(r,sizes=[3]*5) for r in range(2)]
        for i,b in enumerate(bs[rank]):
            with st: st.backward(mse(m,b)*(float("nan") if i==2 and rank==1 else 1))
        return diff(alone([[x,y] for i,(x,y) in enumerate(zip(*bs)) if i!=2]).parameters(),full(m),1e-12)
    ranked(f"fsdp nan on one rank {sync}",nan)
    def fail(rank):
        m=mkf(rank); st=Step(A(m.parameters()),sync=sync); bs=[batches(r,sizes=[3]*5) for r in range(2)]
        for i,b in enumerate(bs[rank]):
            try:
                with st:
                    st.backward(mse(m,b))
                    if i==2 and rank==1: raise OSError
                if i==2: return "no raise"
            except (OSError,zerograd.PeerFailed): pass
        return diff(alone([[x,y] for i,(x,y) in enumerate(zip(*bs)) if i!=2]).parameters(),full(m),1e-12)
    ranked(f"fsdp fail at end on one rank {sync}",fail)
def bare(rank):
    m=mkf(rank); r=mkf(rank); st=Step(A(m.parameters()),clip=.05); ro=A(r.parameters())
    for b in batches(rank):
        with st: st.backward(mse(m,b))
        ro.zero_grad(); mse(r,b).backward(); nn.utils.clip_grad_norm_(r.parameters(),.05); ro.step()
    return diff(full(r),full(m),1e-12)
ranked("fsdp bare by hand",bare)
def divf(rank):
    m=mkf(rank); r=mkf(rank)
    for q in (m,r):
        for x in (q[0],q[2],q): x.set_gradient_divide_factor(1.)
    st=Step(S(m.parameters())); ro=S(r.parameters())
    for b in batches(rank):
        with st: st.backward(mse(m,b))
        ro.zero_grad(); mse(r,b).backward(); ro.step()
    return diff(full(r),full(m),1e-12)
ranked("fsdp divide factor bare",divf)
def ck(rank):
    from zerograd import Checkpoints
    d=CK; m=mkf(rank); st=Step(A(m.parameters())); c=Checkpoints(d,st,model=m); bs=[batches(r,sizes=[3]*6) for r in range(2)]
    for i,b in enumerate(bs[rank]):
        with st: st.backward(mse(m,b))
        if i==2: c.save()
    m2=mkf(rank); st2=Step(A(m2.parameters())); Checkpoints(d,st2,model=m2).resume()
    for b in bs[rank][3:]:
        with st2: st2.backward(mse(m2,b))
    return diff(full(m),full(m2))
CK=tempfile.mkdtemp(); ranked("fsdp checkpoint resume",ck)
def one():
    from zerograd import Checkpoints
    m=mlp(F,5); st=Step(A(m.parameters())); Checkpoints(CK,st,model=m).resume(); bs=[batches(r,sizes=[3]*6) for r in range(2)]
    return diff(alone([[x,y] for x,y in list(zip(*bs))[:3]]).parameters(),m.parameters(),1e-12)
exp("fsdp checkpoint resumed by one process")(one)
def ck2(rank):
    from zerograd import Checkpoints
    m=DDP(mlp(F)); st=Step(A(m.parameters())); c=Checkpoints(CK2,st,model=m); bs=[batches(r,6) for r in range(2)]; saved=None
    with st:
        for i,b in enumerate(st.micro_batches(bs[rank],weight=W)):
            st.backward(mse(m,b))
            if i==2: c.save()
    m2=DDP(mlp(F,3)); st2=Step(A(m2.parameters())); Checkpoints(CK2,st2,model=m2).resume()
    with st2:
        for b in st2.micro_batches(bs[rank][3:],weight=W): st2.backward(mse(m2,b))
    return diff(m.parameters(),m2.parameters(),1e-12)
CK2=tempfile.mkdtemp(); ranked("ddp checkpoint mid-accumulation resume",ck2)
def one2():
    from zerograd import Checkpoints
    m=mlp(F,5); st=Step(A(m.parameters())); Checkpoints(CK2,st,model=m).resume(); bs=[batches(r,6) for r in range(2)]
    with st:
        for b in st.micro_batches(bs[0][3:]+bs[1][3:],weight=W): st.backward(mse(m,b))
    return diff(alone([bs[0]+bs[1]]).parameters(),m.parameters(),1e-12)
exp("ddp mid-accumulation by 2, resumed by 1: exact")(one2)
def ckfail(rank):
    from zerograd import Checkpoints
    class T:
        def state_dict(s):
            if rank==1 and flag[0]: raise OSError("sd")
            return {"a":1}
        def load_state_dict(s,x): pass
    flag=[1]; m=DDP(mlp(F)); st=Step(A(m.parameters())); c=Checkpoints(CK3,st,model=m,also={"t":T()})
    try: c.save(); return "no raise"
    except zerograd.CheckpointError: pass
    flag[0]=0; c.save(); dist.barrier(); return None if len(os.listdir(CK3))==1 else str(os.listdir(CK3))
CK3=tempfile.mkdtemp(); ranked("checkpoint state_dict raises on one rank: all raise, next ok",ckfail)
def term(rank):
    from zerograd import Checkpoints
    m=DDP(mlp(F)); st=Step(A(m.parameters())); c=Checkpoints(CK4,st,model=m)
    for i,b in enumerate(batches(rank,20)):
        with st: st.backward(mse(m,b))
        if i==5 and rank==1: os.kill(os.getpid(),signal.SIGTERM)
        try: c.keep_up()
        except SystemExit as e: return None if e.code==75 and len(os.listdir(CK4))==1 else f"{e.code} {os.listdir(CK4)}"
    return "did not stop"
CK4=tempfile.mkdtemp(); ranked("SIGTERM on rank 1 stops all with 75",term)
done()

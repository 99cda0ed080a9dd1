from common import *
F=torch.float64; D=data(6,dtype=F)
S=lambda p:torch.optim.SGD(p,lr=.1,momentum=.9); A=lambda p:torch.optim.AdamW(p,lr=.01)
# ---- minimize
for ls in (None,"strong_wolfe"):
    for dt in (F,torch.float32):
        @exp(f"LBFGS {ls} {dt} == plain")
        def _():
            DD=data(6,dtype=dt); m=mlp(dt); o=torch.optim.LBFGS(m.parameters(),max_iter=5,line_search_fn=ls)
            fl=[]
            for b in DD:
                def c(): o.zero_grad(); l=mse(m,b); l.backward(); return l
                fl.append(float(o.step(c)))
            m2=mlp(dt); st=Step(torch.optim.LBFGS(m2.parameters(),max_iter=5,line_search_fn=ls)); f2=[]
            for b in DD: f2.append(st.minimize(lambda s:s.backward(mse(m2,b))))
            return diff(m.parameters(),m2.parameters()) or (None if fl==f2 else f"losses {fl} {f2}")
@exp("LBFGS fail at nth evaluation: taken back, then as if never")
def _():
    m=mlp(F); st=Step(torch.optim.LBFGS(m.parameters(),max_iter=5)); r=mlp(F); o=torch.optim.LBFGS(r.parameters(),max_iter=5)
    n=[0]
    for i,b in enumerate(D):
        if i in (2,4):
            n[0]=0
            def bad(s):
                n[0]+=1
                if n[0]==i: raise OSError
                s.backward(mse(m,b))
            try: st.minimize(bad); return "no raise"
            except OSError: pass
            continue
        st.minimize(lambda s:s.backward(mse(m,b)))
        def c(): o.zero_grad(); l=mse(r,b); l.backward(); return l
        o.step(c)
    return diff(r.parameters(),m.parameters())
@exp("LBFGS NaN at evaluation: skipped and taken back")
def _():
    m=mlp(F); st=Step(torch.optim.LBFGS(m.parameters(),max_iter=5)); st.minimize(lambda s:s.backward(mse(m,D[0]))); w=[p.detach().clone() for p in m.parameters()]; n=[0]
    def f(s): n[0]+=1; s.backward(mse(m,D[1])*(float("nan") if n[0]==3 else 1))
    st.minimize(f)
    return diff(w,m.parameters()) or (None if st.outcome.kind.value=="skipped" else str(st.outcome))
@exp("minimize abort inside")
def _():
    m=mlp(F); st=Step(torch.optim.LBFGS(m.parameters(),max_iter=5)); w=[p.detach().clone() for p in m.parameters()]
    def f(s): s.backward(mse(m,D[1])); s.abort()
    st.minimize(f)
    return diff(w,m.parameters()) or (None if st.outcome.kind.value=="aborted" else str(st.outcome))
@exp("minimize with scheduler moves once, clip applied in each closure as plain")
def _():
    def mk(): m=mlp(F); o=torch.optim.LBFGS(m.parameters(),max_iter=4); return m,o,torch.optim.lr_scheduler.StepLR(o,1,.5)
    m,o,s=mk(); st=Step(o,scheduler=s,clip=.05); r,o2,s2=mk()
    for b in D:
        st.minimize(lambda q:q.backward(mse(m,b)))
        def c(): o2.zero_grad(); l=mse(r,b); l.backward(); nn.utils.clip_grad_norm_(r.parameters(),.05); return l
        o2.step(c); s2.step()
    return diff(r.parameters(),m.parameters())
@exp("minimize micro_batches weights")
def _():
    m=mlp(F); st=Step(torch.optim.LBFGS(m.parameters(),max_iter=4)); r=mlp(F); o=torch.optim.LBFGS(r.parameters(),max_iter=4)
    parts=[(b[0][:n],b[1][:n]) for b,n in zip(D,(1,8,3))]; X=torch.cat([p[0] for p in parts]);Y=torch.cat([p[1] for p in parts])
    def f(s):
        for b in s.micro_batches(parts,weight=lambda b:len(b[0])): s.backward(mse(m,b))
    st.minimize(f)
    def c(): o.zero_grad(); l=mse(r,(X,Y)); l.backward(); return l
    o.step(c); return diff(r.parameters(),m.parameters(),1e-10)
@exp("minimize with ordinary SGD closure")
def _():
    m=mlp(F); st=Step(S(m.parameters())); st.minimize(lambda s:s.backward(mse(m,D[0]))); r=mlp(F); o=S(r.parameters()); mse(r,D[0]).backward(); o.step(); return diff(r.parameters(),m.parameters())
@exp("minimize then with step")
def _():
    m=mlp(F); st=Step(S(m.parameters())); st.minimize(lambda s:s.backward(mse(m,D[0])))
    with st: st.backward(mse(m,D[1]))
    r=mlp(F); o=S(r.parameters())
    for b in D[:2]: o.zero_grad(); mse(r,b).backward(); o.step()
    return diff(r.parameters(),m.parameters())
@exp("LBFGS under with step (no closure) refused, nothing torn")
def _():
    m=mlp(F); st=Step(torch.optim.LBFGS(m.parameters())); w=[p.detach().clone() for p in m.parameters()]
    try:
        with st: st.backward(mse(m,D[0]))
    except zerograd.ZerogradError as e:
        if isinstance(e,zerograd.TornStep):
            try: st.minimize(lambda s:s.backward(mse(m,D[0])))
            except zerograd.ZerogradError: return "Step torn (can no longer be used) though nothing moved"
        return diff(w,m.parameters())
    return "committed?"
@exp("minimize fn returns loss tensors / deposit nothing refused")
def _():
    m=mlp(F); st=Step(torch.optim.LBFGS(m.parameters())); w=[p.detach().clone() for p in m.parameters()]
    try: st.minimize(lambda s:mse(m,D[0]))
    except zerograd.StepError: return diff(w,m.parameters())
    return "accepted"
# ---- split
class OOM:
    def __init__(s,fits): s.fits=fits; s.tried=[]
    def __call__(s,n):
        s.tried.append(n)
        if n>s.fits: raise torch.OutOfMemoryError("no room")
for n in (1,2,7,8,13):
  for fits in (1,3,5,100):
    @exp(f"split rows {n} fits {fits}")
    def _():
        m=mlp(F); st=Step(A(m.parameters()),clip=.05); g=torch.Generator().manual_seed(0); b=(torch.randn(n,5,generator=g,dtype=F),torch.randn(n,3,generator=g,dtype=F)); o=OOM(fits)
        def fn(b): o(len(b[0])); return mse(m,b)
        r=mlp(F); ro=A(r.parameters())
        for _ in range(3):
            with st: st.split(b,fn)
            ro.zero_grad(); mse(r,b).backward(); nn.utils.clip_grad_norm_(r.parameters(),.05); ro.step()
        return diff(r.parameters(),m.parameters(),1e-12)
@exp("split: OOM in the backward, not forward")
def _():
    m=mlp(F); st=Step(A(m.parameters())); flag=[True]
    class Bk(torch.autograd.Function):
        @staticmethod
        def forward(c,x): c.n=len(x); return x.clone()
        @staticmethod
        def backward(c,g):
            if c.n>3: raise torch.OutOfMemoryError("bw")
            return g
    class N(nn.Module):
        def forward(s,x): return m[2](Bk.apply(m[1](m[0](x))))
    nn_=N()
    with st: st.split(D[0],lambda b:nn.functional.mse_loss(nn_(b[0]),b[1]))
    r=mlp(F); o=A(r.parameters()); mse(r,D[0]).backward(); o.step(); return diff(r.parameters(),m.parameters(),1e-12)
@exp("split: 1 row does not fit: raises OOM, nothing moved, step usable")
def _():
    m=mlp(F); st=Step(A(m.parameters())); w=[p.detach().clone() for p in m.parameters()]
    def fn(b): raise torch.OutOfMemoryError("x")
    try:
        with st: st.split(D[0],fn)
        return "no raise"
    except torch.OutOfMemoryError: pass
    r=diff(w,m.parameters())
    if r: return r
    with st: st.split(D[0],lambda b:mse(m,b))
    q=mlp(F); o=A(q.parameters()); mse(q,D[0]).backward(); o.step(); return diff(q.parameters(),m.parameters(),1e-12)
@exp("split in micro_batches with weights (tokens)")
def _():
    m=mlp(F); st=Step(A(m.parameters())); o=OOM(3)
    def fn(b): o(len(b[0])); return mse(m,b)
    parts=[(b[0][:n],b[1][:n]) for b,n in zip(D,(1,8,5))]
    with st:
        for b in st.micro_batches(parts,weight=lambda b:len(b[0])): st.split(b,fn)
    r=mlp(F); ro=A(r.parameters()); mse(r,(torch.cat([p[0] for p in parts]),torch.cat([p[1] for p in parts]))).backward(); ro.step(); return diff(r.parameters(),m.parameters(),1e-12)
@exp("split with weight fn: masked mean")
def _():
    m=mlp(F); st=Step(A(m.parameters())); o=OOM(3); mask=torch.tensor([1,0,0,0,1,1,0,1.],dtype=F)
    def L(mod,b): e=(mod(b[0])-b[1]).square().mean(1); return (e*b[2]).sum()/b[2].sum()
    def fn(b): o(len(b[0])); return L(m,b)
    batch=(D[0][0],D[0][1],mask)
    with st: st.split(batch,fn,weight=lambda b:float(b[2].sum()))
    r=mlp(F); ro=A(r.parameters()); L(r,batch).backward(); ro.step(); return diff(r.parameters(),m.parameters(),1e-12)
@exp("split dropout+BN buffers: half retry restores rng and buffers (model=)")
def _():
    torch.manual_seed(0); m=nn.Sequential(nn.Linear(5,7),nn.BatchNorm1d(7),nn.Linear(7,3)).double(); m2=copy.deepcopy(m); st=Step(A(m.parameters()),model=m); calls=[0]
    def fn(b):
        l=mse(m,b)
        if len(b[0])>4: raise torch.OutOfMemoryError("x")
        return l
    with st: st.split(D[0],fn)
    o=A(m2.parameters()); b=D[0]
    for i in (0,4): (mse(m2,(b[0][i:i+4],b[1][i:i+4]))/2).backward()
    o.step(); return diff(m2.parameters(),m.parameters(),1e-12) or diff(m2.buffers(),m.buffers(),1e-12)
@exp("split dict batch with a scalar tensor & non-tensors")
def _():
    m=mlp(F); st=Step(A(m.parameters())); o=OOM(3)
    batch={"x":D[0][0],"y":D[0][1],"t":torch.tensor(2.,dtype=F),"name":"abc","k":[1,2,3]}
    def L(mod,b): return nn.functional.mse_loss(mod(b["x"]),b["y"])*b["t"]
    def fn(b): o(len(b["x"])); assert len(b["k"])==3 and b["name"]=="abc"; return L(m,b)
    with st: st.split(batch,fn)
    r=mlp(F); ro=A(r.parameters()); L(r,batch).backward(); ro.step(); return diff(r.parameters(),m.parameters(),1e-12)
@exp("split: square batch ambiguity rows==features (5x5 matrix constant in tuple)")
def _():
    torch.manual_seed(3); W=torch.randn(5,5,dtype=F); x=torch.randn(5,5,dtype=F); y=torch.randn(5,3,dtype=F)
    m=mlp(F); st=Step(A(m.parameters())); o=OOM(3)
    def L(mod,b): return nn.functional.mse_loss(mod(b[0]@W),b[1])
    def fn(b): o(len(b[0])); return L(m,b)
    with st: st.split((x,y),fn)
    r=mlp(F); ro=A(r.parameters()); L(r,(x,y)).backward(); ro.step(); return diff(r.parameters(),m.parameters(),1e-12)
@exp("split namedtuple batch")
def _():
    import collections; B=collections.namedtuple("B","x y"); m=mlp(F); st=Step(A(m.parameters())); o=OOM(3)
    def fn(b): o(len(b.x)); return nn.functional.mse_loss(m(b.x),b.y)
    with st: st.split(B(*D[0]),fn)
    r=mlp(F); ro=A(r.parameters()); mse(r,D[0]).backward(); ro.step(); return diff(r.parameters(),m.parameters(),1e-12)
# ---- carry
class R(nn.Module):
    def __init__(s): super().__init__(); s.r=nn.GRU(5,4,batch_first=True); s.h=nn.Linear(4,3)
    def forward(s,x,h): y,h=s.r(x,h); return s.h(y),h
def rnn(): torch.manual_seed(0); return R().double()
ch=[(torch.randn(2,6,5,dtype=F,generator=torch.Generator().manual_seed(i)),torch.randn(2,6,3,dtype=F,generator=torch.Generator().manual_seed(50+i))) for i in range(8)]
for bad in ((),(3,),(0,),(3,4),(2,5,6)):
  for how in ("raise","abort","nan","raise_before_carry"):
    if not bad and how!="raise": continue
    @exp(f"carry TBPTT failing {bad} {how}")
    def _():
        m=rnn(); st=Step(A(m.parameters())); h=None
        for i,(x,y) in enumerate(ch):
            try:
                with st:
                    if i in bad and how=="raise_before_carry": raise OSError
                    o,h=m(x,st.carry(h)); l=nn.functional.mse_loss(o,y)*(float("nan") if i in bad and how=="nan" else 1); st.backward(l)
                    if i in bad and how=="raise": raise OSError
                    if i in bad and how=="abort": st.abort()
            except OSError: pass
        r=rnn(); ro=A(r.parameters()); h=None
        for i,(x,y) in enumerate(ch):
            if i in bad: continue
            ro.zero_grad(); o,h=r(x,h.detach() if h is not None else None); nn.functional.mse_loss(o,y).backward(); ro.step()
        return diff(r.parameters(),m.parameters())
for form in ("tuple","two calls","dict","list"):
    @exp(f"carry LSTM two states {form}, failure at 3")
    def _():
        def mk(): torch.manual_seed(0); return nn.LSTM(5,3,batch_first=True).double()
        m=mk(); st=Step(A(m.parameters())); h=(torch.zeros(1,2,3,dtype=F),torch.zeros(1,2,3,dtype=F))
        for i,(x,y) in enumerate(ch):
            try:
                with st:
                    if form=="tuple": s=st.carry(h)
                    elif form=="list": s=tuple(st.carry(list(h)))
                    elif form=="dict": d=st.carry({"h":h[0],"c":h[1]}); s=(d["h"],d["c"])
                    else: s=(st.carry(h[0]),st.carry(h[1]))
                    o,h=m(x,s); st.backward(nn.functional.mse_loss(o,y))
                    if i==3: raise OSError
            except OSError: pass
        r=mk(); ro=A(r.parameters()); h=None
        for i,(x,y) in enumerate(ch):
            if i==3: continue
            ro.zero_grad(); o,h=r(x,tuple(t.detach() for t in h) if h else None); nn.functional.mse_loss(o,y).backward(); ro.step()
        return diff(r.parameters(),m.parameters())
@exp("carry in micro_batches sum (several chunks) failing then next block")
def _():
    m=rnn(); st=Step(A(m.parameters())); h=None
    def blk(cs,fail=False):
        nonlocal h
        try:
            with st:
                for x,y in st.micro_batches(cs,reduce="sum"):
                    o,h=m(x,st.carry(h)); st.backward(nn.functional.mse_loss(o,y))
                if fail: raise OSError
        except OSError: pass
    blk(ch[:2]); blk(ch[2:4],True); blk(ch[4:6])
    r=rnn(); ro=A(r.parameters()); h2=None
    for cs in (ch[:2],ch[4:6]):
        ro.zero_grad()
        for x,y in cs: o,h2=r(x,h2.detach() if h2 is not None else None); nn.functional.mse_loss(o,y).backward()
        ro.step()
    return diff(r.parameters(),m.parameters(),1e-12)
@exp("carry: two sequences interleaved in one block, failure")
def _():
    m=rnn(); st=Step(A(m.parameters())); a=b=None
    for i in range(0,8,2):
        try:
            with st:
                o1,a=m(ch[i][0],st.carry(a)); o2,b=m(ch[i+1][0],st.carry(b)); st.backward(nn.functional.mse_loss(o1,ch[i][1])+nn.functional.mse_loss(o2,ch[i+1][1]))
                if i==4: raise OSError
        except OSError: pass
    r=rnn(); ro=A(r.parameters()); a=b=None
    for i in range(0,8,2):
        if i==4: continue
        d=lambda h:h.detach() if h is not None else None
        ro.zero_grad(); o1,a=r(ch[i][0],d(a)); o2,b=r(ch[i+1][0],d(b)); (nn.functional.mse_loss(o1,ch[i][1])+nn.functional.mse_loss(o2,ch[i+1][1])).backward(); ro.step()
    return diff(r.parameters(),m.parameters())
@exp("carry: failure then user starts a new sequence with None/zeros")
def _():
    for new in (None,torch.zeros(1,2,4,dtype=F)):
        m=rnn(); st=Step(A(m.parameters())); h=None
        for i,(x,y) in enumerate(ch):
            if i==4: h=new
            try:
                with st:
                    o,h=m(x,st.carry(h)); st.backward(nn.functional.mse_loss(o,y))
                    if i==3: raise OSError
            except OSError: pass
        r=rnn(); ro=A(r.parameters()); h=None
        for i,(x,y) in enumerate(ch):
            if i==4: h=new
            if i==3: continue
            ro.zero_grad(); o,h=r(x,h.detach() if h is not None else None); nn.functional.mse_loss(o,y).backward(); ro.step()
        d=diff(r.parameters(),m.parameters())
        if d: return f"{new is None}: {d}"
@exp("carry: state modified in place by user in the block; failure restores value")
def _():
    m=rnn(); st=Step(A(m.parameters())); h=torch.zeros(1,2,4,dtype=F)
    for i,(x,y) in enumerate(ch[:4]):
        try:
            with st:
                s=st.carry(h); o,h=m(x,s); st.backward(nn.functional.mse_loss(o,y))
                if i==2:
                    with torch.no_grad(): s.add_(100)
                    raise OSError
        except OSError: pass
    r=rnn(); ro=A(r.parameters()); h=torch.zeros(1,2,4,dtype=F)
    for i,(x,y) in enumerate(ch[:4]):
        if i==2: continue
        ro.zero_grad(); o,h=r(x,h.detach()); nn.functional.mse_loss(o,y).backward(); ro.step()
    return diff(r.parameters(),m.parameters())
# ---- join
def gan():
    torch.manual_seed(0); return nn.Linear(5,5,dtype=F),nn.Linear(5,1,dtype=F)
def jref(n,skip=()):
    G,d=gan(); og,od=A(G.parameters()),S(d.parameters())
    for i in range(n):
        if i in skip: continue
        x=D[i%6][0]; og.zero_grad(); od.zero_grad()
        gg=torch.autograd.grad(d(G(x)).sin().mean(),G.parameters()); gd=torch.autograd.grad(d(G(x).detach()).square().mean(),d.parameters())
        for p,g in zip(list(G.parameters())+list(d.parameters()),gg+gd): p.grad=g
        og.step(); od.step()
    return [*G.parameters(),*d.parameters()]
for how in ("ok","raise","nan_g","nan_d","abort_g","abort_both","empty_d","torn_d","insp_d"):
  for sc in (None,512.):
    if sc and how not in("ok","nan_g","nan_d","raise"): continue
    @exp(f"join {how} scaler={sc}")
    def _():
        G,d=gan(); flag=[0]
        class Bad(torch.optim.SGD):
            def step(s,closure=None):
                super().step()
                if flag[0]: raise OSError("b")
        od=Bad(d.parameters(),lr=.1,momentum=.9)
        def insp(n):
            if flag[0] and how=="insp_d": raise OSError
        scaler=torch.amp.GradScaler("cpu",init_scale=sc) if sc else None
        sg,sd=Step(A(G.parameters()),restore="weights",scaler=scaler),Step(od,restore="weights",inspect=insp,scaler=scaler)
        for i in range(6):
            bad=i==3; x=D[i%6][0]; flag[0]=bad and how in("torn_d","insp_d")
            try:
                with join(sg,sd) as both:
                    sg.backward(d(G(x)).sin().mean()*(float("nan") if bad and how=="nan_g" else 1))
                    if not(bad and how=="empty_d"): sd.backward(d(G(x).detach()).square().mean()*(float("nan") if bad and how=="nan_d" else 1))
                    if bad and how=="raise": raise OSError
                    if bad and how=="abort_g": sg.abort()
                    if bad and how=="abort_both": both.abort()
            except (OSError,zerograd.ZerogradError) as e:
                if not bad: raise
        return diff(jref(6,() if how=="ok" else (3,)),[*G.parameters(),*d.parameters()],1e-12)
@exp("join micro_batches with weights")
def _():
    G,d=gan(); sg,sd=Step(A(G.parameters())),Step(S(d.parameters())); parts=[D[0][0][:2],D[0][0][2:]]
    with join(sg,sd) as both:
        for x in both.micro_batches(parts,weight=len): sg.backward(d(G(x)).sin().mean()); sd.backward(d(G(x).detach()).square().mean())
    return diff(jref(1),[*G.parameters(),*d.parameters()],1e-12)
@exp("join of steps that share a parameter refused")
def _():
    G,d=gan(); a,b=Step(A(G.parameters())),Step(S(G.parameters()))
    def f():
        with join(a,b): a.backward(G(D[0][0]).mean())
    return refused(f)
@exp("join same step twice refused, step usable afterwards")
def _():
    G,d=gan(); a=Step(A(G.parameters()))
    try:
        with join(a,a): a.backward(G(D[0][0]).mean())
    except zerograd.StepError: pass
    with a: a.backward(G(D[0][0]).mean())
    return None if a.outcome.kind.value=="committed" else str(a.outcome)
@exp("join with one step already open: refused, and the open one unharmed")
def _():
    G,d=gan(); a,b=Step(A(G.parameters())),Step(S(d.parameters()))
    with b:
        b.backward(d(D[0][0]).mean())
        try:
            with join(a,b): pass
        except zerograd.StepError: pass
    G2,d2=gan(); o=S(d2.parameters()); d2(D[0][0]).mean().backward(); o.step()
    r=diff(d2.parameters(),d.parameters())
    if r: return r
    with a: a.backward(G(D[0][0]).mean())
    return None if a.outcome.moved else "a stuck"
@exp("nested different steps (inner commit while outer open) with shared graph")
def _():
    G,d=gan(); a,b=Step(A(G.parameters())),Step(S(d.parameters())); x=D[0][0]
    with a:
        a.backward(G(x).mean())
        with b: b.backward(d(x).mean())
    G2,d2=gan(); oa,ob=A(G2.parameters()),S(d2.parameters()); G2(x).mean().backward(); d2(x).mean().backward(); ob.step(); oa.step()
    return diff([*G2.parameters(),*d2.parameters()],[*G.parameters(),*d.parameters()])
@exp("Step over optimizer sharing param in two groups/optimizers refused or plain")
def _():
    p=nn.Parameter(torch.ones(3,dtype=F)); q=nn.Parameter(torch.ones(3,dtype=F))
    o1,o2=torch.optim.SGD([p],lr=.1),torch.optim.SGD([p],lr=.01); r1,r2=torch.optim.SGD([q],lr=.1),torch.optim.SGD([q],lr=.01)
    try:
        st=Step([o1,o2])
        with st: st.backward(p.square().sum())
    except zerograd.StepError: return None
    q.square().sum().backward(); r1.step(); r2.step(); return diff([q],[p])
@exp("step with accelerate-prepared optimizer")
def _():
    from accelerate import Accelerator
    acc=Accelerator(cpu=True); m=mlp(F); o=acc.prepare(S(m.parameters())); st=Step(o,clip=.05)
    for b in D:
        with st: st.backward(mse(m,b))
    r=mlp(F); ro=S(r.parameters())
    for b in D: ro.zero_grad(); mse(r,b).backward(); nn.utils.clip_grad_norm_(r.parameters(),.05); ro.step()
    return diff(r.parameters(),m.parameters())
@exp("lightning Fabric setup")
def _():
    from lightning.fabric import Fabric
    fb=Fabric(accelerator="cpu",devices=1); m=mlp(F); mm,o=fb.setup(m,S(m.parameters())); st=Step(o,clip=.05)
    for b in D:
        with st: st.backward(mse(mm,b))
    r=mlp(F); ro=S(r.parameters())
    for b in D: ro.zero_grad(); mse(r,b).backward(); nn.utils.clip_grad_norm_(r.parameters(),.05); ro.step()
    return diff(r.parameters(),m.parameters())
@exp("capture on CPU == with step")
def _():
    m=mlp(F); st=Step(A(m.parameters()),clip=.05); up=st.capture(lambda x,y:st.backward(mse(m,(x,y))),*D[0])
    for b in D: up(*b)
    r=mlp(F); ro=A(r.parameters())
    for b in D: ro.zero_grad(); mse(r,b).backward(); nn.utils.clip_grad_norm_(r.parameters(),.05); ro.step()
    return diff(r.parameters(),m.parameters())
@exp("generator suspended inside block, then collected")
def _():
    m=mlp(F); st=Step(A(m.parameters())); w=[p.detach().clone() for p in m.parameters()]
    def g():
        with st: st.backward(mse(m,D[1])); yield
    x=g(); next(x); x.close()
    if diff(w,m.parameters()): return "moved"
    with st: st.backward(mse(m,D[0]))
    r=mlp(F); ro=A(r.parameters()); mse(r,D[0]).backward(); ro.step(); return diff(r.parameters(),m.parameters())
@exp("no_grad / inference_mode / set_grad around the block")
def _():
    m=mlp(F); st=Step(A(m.parameters()),clip=.1)
    l=mse(m,D[0])
    with torch.no_grad():
        with st: st.backward(l)
    r=mlp(F); ro=A(r.parameters()); mse(r,D[0]).backward(); nn.utils.clip_grad_norm_(r.parameters(),.1); ro.step(); return diff(r.parameters(),m.parameters())
@exp("return inside with block commits")
def _():
    m=mlp(F); st=Step(A(m.parameters()))
    def f():
        with st:
            l=mse(m,D[0]); st.backward(l); return l
    f(); r=mlp(F); ro=A(r.parameters()); mse(r,D[0]).backward(); ro.step(); return diff(r.parameters(),m.parameters())
@exp("load_state_dict of optimizer inside/between blocks")
def _():
    m=mlp(F); o=A(m.parameters()); st=Step(o,grads="flat")
    with st: st.backward(mse(m,D[0]))
    sd=copy.deepcopy(o.state_dict()); o.load_state_dict(sd)
    with st: st.backward(mse(m,D[1]))
    r=mlp(F); ro=A(r.parameters())
    for b in D[:2]: ro.zero_grad(); mse(r,b).backward(); ro.step()
    return diff(r.parameters(),m.parameters())
@exp("fork: child made in block trains alone")
def _():
    m=mlp(F); st=Step(A(m.parameters()))
    with st: st.backward(mse(m,D[0]))
    pid=os.fork()
    if pid==0:
        try:
            with st: st.backward(mse(m,D[1]))
            os._exit(0)
        except BaseException: os._exit(3)
    _,s=os.waitpid(pid,0); return None if s==0 else f"child {s}"
@exp("flat: grads after the block don't alias: weights right when freezing within flat & micro")
def _():
    m=mlp(F); st=Step(A(m.parameters()),grads="flat",clip=.1); r=mlp(F); ro=A(r.parameters())
    for i,b in enumerate(D):
        for q in (m,r): q[0].requires_grad_(i%2==0)
        with st:
            for x in st.micro_batches([b,b]): st.backward(mse(m,x))
        ro.zero_grad(); mse(r,b).backward(); nn.utils.clip_grad_norm_(r.parameters(),.1); ro.step()
    return diff(r.parameters(),m.parameters(),1e-12)
@exp("flat: param unused in this block not decayed nor stepped with zeros (AdamW)")
def _():
    def mk(): torch.manual_seed(0); return nn.ModuleList([nn.Linear(5,3),nn.Linear(5,3)]).double()
    m,r=mk(),mk(); st=Step(A(m.parameters()),grads="flat"); ro=A(r.parameters())
    for i,b in enumerate(D):
        with st:
            for k in st.micro_batches([0,1]): st.backward(nn.functional.mse_loss(m[i%2](b[0]),b[1]))
        ro.zero_grad(); nn.functional.mse_loss(r[i%2](b[0]),b[1]).backward(); ro.step()
    return diff(r.parameters(),m.parameters(),1e-12)
done()

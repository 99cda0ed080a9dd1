from common import *
import torch.utils.checkpoint as tuc, itertools
import torch.nn.utils.parametrize as P
F=torch.float64
D=data(6,dtype=F)
S=lambda p:torch.optim.SGD(p,lr=.1,momentum=.9); A=lambda p:torch.optim.AdamW(p,lr=.01)
def both(name,mk,loss=mse,opt=A,bs=D,tol=0,change=None,**k):
    @exp(name)
    def _():
        m=mk(); o=opt(m.parameters())
        for i,b in enumerate(bs):
            if change: change(i,m,o)
            o.zero_grad(); l=loss(m,b); l.backward()
            if k.get("clip"): nn.utils.clip_grad_norm_(m.parameters(),k["clip"])
            o.step()
        o.zero_grad()
        m2=mk(); o2=opt(m2.parameters()); st=Step(o2,model=m2,**k)
        for i,b in enumerate(bs):
            if change: change(i,m2,o2)
            with st: st.backward(loss(m2,b))
        return diff(m.parameters(),m2.parameters(),tol) or diff(m.buffers(),m2.buffers(),tol)
def M(*ls): torch.manual_seed(0); return nn.Sequential(*[l() for l in ls]).double()
for clip,gr in itertools.product((None,.05),("none","flat")):
    kw=dict(clip=clip,grads=gr); t=f"{clip} {gr}"
    both("weight_norm "+t,lambda:M(lambda:P.type_before_parametrizations and torch.nn.utils.parametrizations.weight_norm(nn.Linear(5,7)),nn.Tanh,lambda:nn.Linear(7,3)),**kw)
    both("spectral_norm "+t,lambda:M(lambda:torch.nn.utils.parametrizations.spectral_norm(nn.Linear(5,7)),nn.Tanh,lambda:nn.Linear(7,3)),**kw)
    both("orthogonal "+t,lambda:M(lambda:torch.nn.utils.parametrizations.orthogonal(nn.Linear(5,5)),nn.Tanh,lambda:nn.Linear(5,3)),**kw)
    both("batchnorm dropout? "+t,lambda:M(lambda:nn.Linear(5,7),lambda:nn.BatchNorm1d(7),lambda:nn.Linear(7,3)),**kw)
    def tied():
        m=M(lambda:nn.Linear(5,5),nn.Tanh,lambda:nn.Linear(5,5),lambda:nn.Linear(5,3)); m[2].weight=m[0].weight; return m
    both("tied "+t,tied,**kw)
    def frz(i,m,o): m[0].requires_grad_(i not in(1,2))
    both("freeze/unfreeze between blocks "+t,lambda:mlp(F),change=frz,**kw)
    def unused(m,b): return mse(nn.Sequential(m[0],m[1],m[2]),b)
    both("unused params get no grad (Adam must not decay) "+t,lambda:nn.Sequential(*mlp(F),nn.Linear(3,3,dtype=F)),loss=unused,**kw)
    def some(i,m,o): m.use=i%2
    def lossu(m,b):
        y=m[0](b[0]).tanh(); y=m[2](y); 
        return nn.functional.mse_loss(m[3](y) if m.use else y,b[1])
    both("params used every other block "+t,lambda:nn.Sequential(*mlp(F),nn.Linear(3,3,dtype=F)),loss=lossu,change=some,**kw)
    def addg(i,m,o):
        if i==3: p=nn.Parameter(torch.ones(3,dtype=F)); m.register_parameter("late",p); o.add_param_group({"params":[p],"lr":.5})
    def lossl(m,b): return nn.functional.mse_loss(m[2](m[1](m[0](b[0])))*(m.late if hasattr(m,"late") else 1),b[1])
    both("add_param_group later "+t,lambda:mlp(F),loss=lossl,change=addg,**kw)
    def rm(i,m,o):
        if i==3: o.param_groups[0]["params"]=o.param_groups[0]["params"][2:]
    both("param removed from group later "+t,lambda:mlp(F),change=rm,**({**kw,"clip":None}))
    def dat(i,m,o):
        if i==3: m[0].weight.data=m[0].weight.data.clone()*.5
    both("param.data swapped between blocks "+t,lambda:mlp(F),change=dat,**kw)
    def ck(m,b): return nn.functional.mse_loss(tuc.checkpoint(m,b[0],use_reentrant=False),b[1])
    both("checkpoint non-reentrant "+t,lambda:mlp(F),loss=ck,**kw)
    def ckr(m,b): return nn.functional.mse_loss(tuc.checkpoint(m,b[0].clone().requires_grad_(),use_reentrant=True),b[1])
    both("checkpoint reentrant "+t,lambda:mlp(F),loss=ckr,**kw)
    def ckseq(m,b): return nn.functional.mse_loss(tuc.checkpoint_sequential(m,2,b[0],use_reentrant=False),b[1])
    both("checkpoint_sequential "+t,lambda:mlp(F),loss=ckseq,**kw)
    def gp(m,b):
        x=b[0].clone().requires_grad_(); y=m(x); g,=torch.autograd.grad(y.sum(),x,create_graph=True); return nn.functional.mse_loss(y,b[1])+g.square().mean()
    both("gradient penalty "+t,lambda:mlp(F),loss=gp,**kw)
    def hk():
        m=mlp(F); m[0].weight.register_hook(lambda g:g.clamp(-.01,.01)); m[2].weight.register_hook(lambda g:g*2); m[0].register_full_backward_hook(lambda mod,gi,go:tuple(x*.5 if x is not None else None for x in gi)); return m
    both("tensor hooks and full backward hooks "+t,hk,**kw)
    def ph():
        m=mlp(F); m[0].weight.register_post_accumulate_grad_hook(lambda p:[p.grad.mul_(.5),None][1]); return m
    both("post_accumulate hook changes grad in place "+t,ph,**kw)
    def ph2():
        m=mlp(F)
        def h(p): p.grad=p.grad*.5
        m[0].weight.register_post_accumulate_grad_hook(h); return m
    both("post_accumulate hook replaces grad "+t,ph2,**kw)
    both("compile eager "+t,lambda:torch.compile(mlp(F),backend="eager"),**kw) if gr=="none" else None
    both("torch.func.functional_call "+t,lambda:mlp(F),loss=lambda m,b:nn.functional.mse_loss(torch.func.functional_call(m,dict(m.named_parameters()),(b[0],)),b[1]),**kw)
    both("lr tensor "+t,lambda:mlp(F),opt=lambda p:torch.optim.AdamW(p,lr=torch.tensor(.01)),**kw)
    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(c,x,w): c.save_for_backward(x,w); return x@w.t()
        @staticmethod
        def backward(c,g): x,w=c.saved_tensors; return g@w,g.t()@x
    both("custom Function "+t,lambda:mlp(F),loss=lambda m,b:nn.functional.mse_loss(Fn.apply(Fn.apply(b[0],m[0].weight).tanh(),m[2].weight),b[1]),**kw)
both("frozen all but bias",lambda:[m:=mlp(F),[p.requires_grad_(False) for n,p in m.named_parameters() if "weight" in n]][0])
both("grad with strides broadcast (expand)",lambda:mlp(F),loss=lambda m,b:sum(p.sum() for p in m.parameters()),opt=lambda p:torch.optim.AdamW(p,lr=.01,fused=True))
both("grad expand flat",lambda:mlp(F),loss=lambda m,b:sum(p.sum() for p in m.parameters()),opt=lambda p:torch.optim.AdamW(p,lr=.01,fused=True),grads="flat",clip=.3)
both("shared grad between two params (add of same shape), no clip",lambda:torch.manual_seed(0) and nn.Sequential(nn.Linear(5,3,dtype=F),nn.Linear(5,3,dtype=F)),loss=lambda m,b:nn.functional.mse_loss(b[0]@(m[0].weight+m[1].weight).t()+m[0].bias+m[1].bias,b[1]))
both("shared grad memory, clip",lambda:torch.manual_seed(0) and nn.Sequential(nn.Linear(5,3,dtype=F),nn.Linear(5,3,dtype=F)),loss=lambda m,b:nn.functional.mse_loss(b[0]@(m[0].weight+m[1].weight).t()+m[0].bias+m[1].bias,b[1]),clip=.05)
@exp("shared grad memory, micro batches + scaler")
def _():
    mk=lambda:nn.Sequential(nn.Linear(5,3,dtype=F),nn.Linear(5,3,dtype=F)); ls=lambda m,b:nn.functional.mse_loss(b[0]@(m[0].weight+m[1].weight).t()+m[0].bias+m[1].bias,b[1])
    torch.manual_seed(0); m=mk(); m2=copy.deepcopy(m); o=S(m.parameters()); st=Step(S(m2.parameters()),scaler=torch.amp.GradScaler("cpu",init_scale=1024.),clip=.1)
    for g in groups(D,1):
        o.zero_grad(); ls(m,g[0]).backward(); nn.utils.clip_grad_norm_(m.parameters(),.1); o.step()
        with st:
            for b in st.micro_batches(g,weight=lambda b:3): st.backward(ls(m2,b))
    return diff(m.parameters(),m2.parameters(),1e-12)
@exp("inspect in place on shared grad memory: each doubled once")
def _():
    mk=lambda:nn.Sequential(nn.Linear(5,3,dtype=F),nn.Linear(5,3,dtype=F)); ls=lambda m,b:nn.functional.mse_loss(b[0]@(m[0].weight+m[1].weight).t()+m[0].bias+m[1].bias,b[1])
    torch.manual_seed(0); m=mk(); m2=copy.deepcopy(m); o=S(m.parameters()); st=Step(S(m2.parameters()),inspect=lambda n:[g.mul_(2) for g in n.values()])
    o.zero_grad(); (2*ls(m,D[0])).backward(); o.step()
    with st: st.backward(ls(m2,D[0]))
    return diff(m.parameters(),m2.parameters(),1e-12)
@exp("SparseAdam + dense Adam")
def _():
    def mk(): torch.manual_seed(0); return nn.Embedding(10,4,sparse=True),nn.Linear(4,1)
    ix=[torch.tensor([1,1,3]),torch.tensor([2,9,9]),torch.tensor([0,1,2])]
    e,l=mk(); o1,o2=torch.optim.SparseAdam(e.parameters()),torch.optim.Adam(l.parameters())
    for i in ix: o1.zero_grad();o2.zero_grad(); l(e(i)).square().mean().backward(); o1.step();o2.step()
    e2,l2=mk(); st=Step([torch.optim.SparseAdam(e2.parameters()),torch.optim.Adam(l2.parameters())])
    for i in ix:
        with st: st.backward(l2(e2(i)).square().mean())
    return diff([e.weight,*l.parameters()],[e2.weight,*l2.parameters()])
for sc in (None,1024.):
  for w in (False,True):
    @exp(f"Sparse micro-batches SGD scaler={sc} weights={w}")
    def _():
        def mk(): torch.manual_seed(0); return nn.Embedding(10,4,sparse=True,dtype=F),nn.Linear(4,1,dtype=F)
        ix=[torch.tensor([1,1,3]),torch.tensor([2,9]),torch.tensor([0,1,2,3,3])]
        e,l=mk(); o=torch.optim.SGD([*e.parameters(),*l.parameters()],lr=.1)
        ws=[len(i) if w else 1 for i in ix]
        (sum(l(e(i)).square().mean()*k for i,k in zip(ix,ws))/sum(ws)).backward(); o.step()
        e2,l2=mk(); st=Step(torch.optim.SGD([*e2.parameters(),*l2.parameters()],lr=.1),scaler=torch.amp.GradScaler("cpu",init_scale=sc) if sc else None)
        with st:
            for i in st.micro_batches(ix,weight=len if w else None): st.backward(l2(e2(i)).square().mean())
        return diff([e.weight,*l.parameters()],[e2.weight,*l2.parameters()],1e-12)
@exp("sparse NaN is skipped")
def _():
    e=nn.Embedding(10,4,sparse=True); w=e.weight.detach().clone(); st=Step(torch.optim.SGD(e.parameters(),lr=.1))
    with st: st.backward(e(torch.tensor([1])).sum()*float("nan"))
    return diff([w],[e.weight]) or (None if st.outcome.kind.value=="skipped" else str(st.outcome))
@exp("sparse clip norm with duplicates (uncoalesced): the true norm")
def _():
    e=nn.Embedding(10,4,sparse=True,dtype=F); w=e.weight.detach().clone(); st=Step(torch.optim.SGD(e.parameters(),lr=1.),clip=1.)
    try:
        with st: st.backward(e(torch.tensor([1,1,1,1])).sum())
    except zerograd.StepError: return None
    moved=(w-e.weight).norm().item()
    return None if abs(moved-1)<1e-6 else f"moved by norm {moved}, clip 1.0 (true norm {st.outcome.norm})"
@exp("sparse clip value with duplicates")
def _():
    e=nn.Embedding(10,4,sparse=True,dtype=F); w=e.weight.detach().clone(); st=Step(torch.optim.SGD(e.parameters(),lr=1.),clip={"value":1.5})
    try:
        with st: st.backward(e(torch.tensor([1,1,1,1])).sum())
    except (zerograd.StepError): return None
    except BaseException as ex: return f"crash {ex!r}"[:200]
    d=(w-e.weight).abs().max().item()
    return None if abs(d-1.5)<1e-9 else f"value clip 1.5 of a gradient of 4 gave {d}"
@exp("isolate: other leaves get nothing; isolate=False they do")
def _():
    a,b=nn.Linear(5,3,dtype=F),nn.Linear(3,1,dtype=F); st=Step(A(a.parameters())); 
    with st: st.backward(b(a(D[0][0])).mean())
    if b.weight.grad is not None: return "leak"
    st=Step(A(a.parameters()),isolate=False)
    with st: st.backward(b(a(D[0][0])).mean())
    return None if b.weight.grad is not None else "isolate=False no grad"
@exp("isolate keeps a grad the user had put in another leaf")
def _():
    a,b=nn.Linear(5,3,dtype=F),nn.Linear(3,1,dtype=F); b.weight.grad=torch.ones_like(b.weight); st=Step(A(a.parameters()))
    with st: st.backward(tuc.checkpoint(lambda x:b(a(x)),D[0][0].clone().requires_grad_(),use_reentrant=True).mean())
    return None if b.weight.grad is not None and torch.equal(b.weight.grad,torch.ones_like(b.weight)) else f"{b.weight.grad}"
@exp("also= input gradient is true under weights/scaler?")
def _():
    m=mlp(F); x=D[0][0].clone().requires_grad_(); st=Step(A(m.parameters()),scaler=torch.amp.GradScaler("cpu",init_scale=1024.))
    with st: st.backward(mse(m,(x,D[0][1])),also=[x])
    m2=mlp(F); y=D[0][0].clone().requires_grad_(); mse(m2,(y,D[0][1])).backward()
    return diff([y.grad],[x.grad],1e-12)
@exp("also= in weighted micro-batches: loss's gradient")
def _():
    m=mlp(F); xs=[D[i][0].clone().requires_grad_() for i in range(3)]; W=iter([1,7,3]); st=Step(A(m.parameters()))
    with st:
        for x in st.micro_batches(xs,weight=lambda x:next(W)): st.backward(m(x).square().mean(),also=[x])
    m2=mlp(F); ys=[D[i][0].clone().requires_grad_() for i in range(3)]
    for y in ys: m2(y).square().mean().backward()
    return diff([y.grad for y in ys],[x.grad for x in xs],1e-12)
@exp("gradient= for non-scalar loss")
def _():
    m=mlp(F); st=Step(S(m.parameters())); v=torch.rand(8,3,dtype=F)
    with st: st.backward(m(D[0][0]),gradient=v)
    m2=mlp(F); o=S(m2.parameters()); m2(D[0][0]).backward(gradient=v); o.step(); return diff(m.parameters(),m2.parameters())
@exp("gradient= under scaler and weight")
def _():
    m=mlp(F); st=Step(S(m.parameters()),scaler=torch.amp.GradScaler("cpu",init_scale=1024.)); v=torch.rand(8,3,dtype=F); v0=v.clone()
    with st:
        for b in st.micro_batches(D[:2],weight=lambda b:5): st.backward(m(b[0]),gradient=v)
    m2=mlp(F); o=S(m2.parameters()); 
    for b in D[:2]: m2(b[0]).backward(gradient=v0/2)
    o.step(); return diff(m.parameters(),m2.parameters(),1e-12) or diff([v],[v0])
@exp("retain_graph two losses")
def _():
    m=mlp(F); st=Step(S(m.parameters())); y=None
    with st:
        y=m(D[0][0]); st.backward(y.mean(),retain_graph=True); st.backward(y.square().mean())
    m2=mlp(F); o=S(m2.parameters()); y=m2(D[0][0]); y.mean().backward(retain_graph=True); y.square().mean().backward(); o.step(); return diff(m.parameters(),m2.parameters())
@exp("create_graph bare")
def _():
    m=mlp(F); st=Step(S(m.parameters()))
    with st:
        st.backward(mse(m,D[0]),create_graph=True)
    m2=mlp(F); o=S(m2.parameters()); mse(m2,D[0]).backward(); o.step(); return diff(m.parameters(),m2.parameters())
@exp("deepcopy of (model, optimizer, step) trains the copy alone")
def _():
    m=mlp(F); o=A(m.parameters()); st=Step(o,clip=.1,model=m)
    for b in D[:2]:
        with st: st.backward(mse(m,b))
    w=[p.detach().clone() for p in m.parameters()]
    try: m2,o2,st2=copy.deepcopy((m,o,st))
    except zerograd.StepError: return None
    with st2: st2.backward(mse(m2,D[2]))
    r=diff(w,m.parameters())
    if r: return "original moved: "+r
    with st: st.backward(mse(m,D[2]))
    return diff(m.parameters(),m2.parameters())
@exp("deepcopy of step alone")
def _():
    m=mlp(F); o=A(m.parameters()); st=Step(o)
    with st: st.backward(mse(m,D[0]))
    try: st2=copy.deepcopy(st)
    except (zerograd.StepError,TypeError): return None
    w=[p.detach().clone() for p in m.parameters()]
    try:
        with st2: st2.backward(mse(m,D[1]))
    except zerograd.StepError: return diff(w,m.parameters())
    return "deepcopied Step committed: "+str(st2.outcome) if diff(w,m.parameters()) is None else None
@exp("deepcopy inside open block")
def _():
    m=mlp(F); o=A(m.parameters()); st=Step(o)
    try:
        with st:
            st.backward(mse(m,D[0])); x=copy.deepcopy((m,o,st))
    except (zerograd.StepError,TypeError): return None
    m2=mlp(F); o2=A(m2.parameters()); mse(m2,D[0]).backward(); o2.step()
    return diff(m.parameters(),m2.parameters())
@exp("pickle/deepcopy model inside block leaves training right (EMA)")
def _():
    m=mlp(F); o=A(m.parameters()); st=Step(o)
    with st: st.backward(mse(m,D[0])); ema=copy.deepcopy(m)
    m2=mlp(F); o2=A(m2.parameters()); mse(m2,D[0]).backward(); o2.step()
    return diff(m.parameters(),m2.parameters())
@exp("model.to(float32) between blocks (params same objects)")
def _():
    m=mlp(F); o=torch.optim.SGD(m.parameters(),lr=.1); st=Step(o,clip=.1,grads="flat")
    with st: st.backward(mse(m,D[0]))
    m.float(); f=lambda b:(b[0].float(),b[1].float())
    with st: st.backward(mse(m,f(D[1])))
    m2=mlp(F); o2=torch.optim.SGD(m2.parameters(),lr=.1); mse(m2,D[0]).backward(); nn.utils.clip_grad_norm_(m2.parameters(),.1); o2.step(); o2.zero_grad(); m2.float(); mse(m2,f(D[1])).backward(); nn.utils.clip_grad_norm_(m2.parameters(),.1); o2.step()
    return diff(m.parameters(),m2.parameters())
@exp("stale grads before the block are cleared")
def _():
    m=mlp(F); st=Step(S(m.parameters())); mse(m,D[3]).backward()
    with st: st.backward(mse(m,D[0]))
    m2=mlp(F); o=S(m2.parameters()); mse(m2,D[0]).backward(); o.step(); return diff(m.parameters(),m2.parameters())
@exp("graph built before the block used inside")
def _():
    m=mlp(F); st=Step(S(m.parameters())); l=mse(m,D[0])
    with st: st.backward(l)
    m2=mlp(F); o=S(m2.parameters()); mse(m2,D[0]).backward(); o.step(); return diff(m.parameters(),m2.parameters())
@exp("optimizer hooks: register_step_pre/post_hook run once per commit")
def _():
    m=mlp(F); o=S(m.parameters()); n=[]; o.register_step_pre_hook(lambda *a:n.append("a")); o.register_step_post_hook(lambda *a:n.append("b")); st=Step(o)
    for b in D[:2]:
        with st: st.backward(mse(m,b))
    return None if n==["a","b"]*2 else str(n)
@exp("step_pre_hook modifying grads")
def _():
    m=mlp(F); o=S(m.parameters()); o.register_step_pre_hook(lambda o,*a:[p.grad.mul_(2) for g in o.param_groups for p in g["params"]] and None); st=Step(o)
    with st: st.backward(mse(m,D[0]))
    m2=mlp(F); o2=S(m2.parameters()); (2*mse(m2,D[0])).backward(); o2.step(); return diff(m.parameters(),m2.parameters(),1e-12)
@exp("schedulers several & not moved on skip/abort")
def _():
    m=mlp(F); o=S(m.parameters()); L=torch.optim.lr_scheduler; s=[L.LinearLR(o,.1,1,5),L.ExponentialLR(o,.9)]; st=Step(o,scheduler=s)
    m2=mlp(F); o2=S(m2.parameters()); s2=[L.LinearLR(o2,.1,1,5),L.ExponentialLR(o2,.9)]
    for i,b in enumerate(D):
        with st:
            l=mse(m,b); st.backward(l*(float("nan") if i==2 else 1)); 
            if i==3: st.abort()
        if i in(2,3): continue
        o2.zero_grad(); mse(m2,b).backward(); o2.step(); [x.step() for x in s2]
    return diff(m.parameters(),m2.parameters()) or (None if o.param_groups[0]["lr"]==o2.param_groups[0]["lr"] else "lr")
@exp("ReduceLROnPlateau refused")
def _():
    m=mlp(F); o=S(m.parameters()); return refused(lambda:Step(o,scheduler=torch.optim.lr_scheduler.ReduceLROnPlateau(o)))
@exp("SWA/EMA AveragedModel, foreach; outcome.moved")
def _():
    m=mlp(F); o=S(m.parameters()); st=Step(o); e=torch.optim.swa_utils.AveragedModel(m)
    for i,b in enumerate(D):
        with st: st.backward(mse(m,b)*(float("nan") if i==2 else 1))
        if st.outcome.moved: e.update_parameters(m)
    return None if e.n_averaged==5 else str(e.n_averaged)
done()

from common import *
import itertools
# autocast, bf16/fp16 params, mixed dtype params
def hand(dt,ac,scale,clip,opt,nb=6,accum=1,interval=2):
    m=mlp(dt); o=opt(m.parameters()); sc=torch.amp.GradScaler("cpu",init_scale=scale,growth_interval=interval) if scale else None
    D=data(nb,dtype=torch.float32 if ac else dt)
    for g in groups(D,accum):
        o.zero_grad()
        for b in g:
            with torch.autocast("cpu",ac,enabled=ac is not None): l=mse(m,b)
            (sc.scale(l) if sc else l).backward()
        if sc: sc.unscale_(o)
        if accum>1:
            for p in m.parameters(): p.grad.div_(len(g))
        if clip: nn.utils.clip_grad_norm_(m.parameters(),clip)
        if sc: sc.step(o); sc.update()
        else: o.step()
    return m,sc
def ours(dt,ac,scale,clip,opt,nb=6,accum=1,interval=2,gr="none"):
    m=mlp(dt); o=opt(m.parameters()); sc=torch.amp.GradScaler("cpu",init_scale=scale,growth_interval=interval) if scale else None
    st=Step(o,clip=clip,scaler=sc,autocast=ac,grads=gr,model=m)
    D=data(nb,dtype=torch.float32 if ac else dt)
    for g in groups(D,accum):
        with st:
            if accum==1: st.backward(mse(m,g[0]))
            else:
                for b in st.micro_batches(g): st.backward(mse(m,b))
    return m,sc
A=lambda p:torch.optim.AdamW(p,lr=.01)
S=lambda p:torch.optim.SGD(p,lr=.1,momentum=.9)
for ac,scale,clip,gr,(on,O) in itertools.product((torch.bfloat16,torch.float16),(None,2.**8,1000.),(None,.05),("none","flat"),(("adamw",A),("sgd",S))):
    if ac==torch.bfloat16 and scale==1000.: continue
    @exp(f"autocast {ac} scale {scale} clip {clip} {gr} {on}")
    def _():
        a,sa=hand(torch.float32,ac,scale,clip,O); b,sb=ours(torch.float32,ac,scale,clip,O,gr=gr)
        return diff(a.parameters(),b.parameters()) or (None if not sa or sa.get_scale()==sb.get_scale() else "scale differs")
for dt in (torch.bfloat16,torch.float16):
    for gr in ("none","flat"):
        @exp(f"params {dt} {gr} no clip")
        def _():
            a,_=hand(dt,None,None,None,S); b,_=ours(dt,None,None,None,S,gr=gr); return diff(a.parameters(),b.parameters())
        @exp(f"params {dt} {gr} value clip")
        def _():
            m=mlp(dt); o=S(m.parameters()); st=Step(o,clip={"value":.01},grads=gr)
            m2=mlp(dt); o2=S(m2.parameters())
            for b in data(4,dtype=dt):
                with st: st.backward(mse(m,b))
                o2.zero_grad(); mse(m2,b).backward(); nn.utils.clip_grad_value_(m2.parameters(),.01); o2.step()
            return diff(m.parameters(),m2.parameters())
        @exp(f"params {dt} {gr} norm clip near")
        def _():
            a,_=hand(dt,None,None,.05,S); b,_=ours(dt,None,None,.05,S,gr=gr); return diff(a.parameters(),b.parameters(),.01)
@exp("fp16 params, many micro-batches, sum would overflow")
def _():
    torch.manual_seed(0); m=nn.Linear(4,1,bias=False).half(); w0=m.weight.detach().clone()
    st=Step(torch.optim.SGD(m.parameters(),lr=1e-4))
    xs=[torch.full((2,4),50.,dtype=torch.half) for _ in range(64)]
    with st:
        for x in st.micro_batches(xs): st.backward((m(x)*40).mean())
    g=(w0.float()-m.weight.float())/1e-4
    return None if st.outcome.kind.value=="committed" and (g-2000).abs().max()<50 else f"{st.outcome} grad {g}"
@exp("fp16 params weighted micro-batches large weights")
def _():
    torch.manual_seed(0); m=nn.Linear(4,1,bias=False).half(); w0=m.weight.detach().clone()
    st=Step(torch.optim.SGD(m.parameters(),lr=1e-4)); W=iter([1,1000,3,5000]*20)
    xs=[torch.full((2,4),50.,dtype=torch.half) for _ in range(64)]
    with st:
        for x in st.micro_batches(xs,weight=lambda x:next(W)): st.backward((m(x)*40).mean())
    g=(w0.float()-m.weight.float())/1e-4
    return None if st.outcome.kind.value=="committed" and (g-2000).abs().max()<50 else f"{st.outcome} grad {g}"
@exp("bf16 params tiny and huge weights vs float64")
def _():
    torch.manual_seed(0); m=nn.Linear(4,1,bias=False).bfloat16(); got=[]
    st=Step(torch.optim.SGD(m.parameters(),lr=0.),inspect=lambda n:got.append([g.clone() for g in n.values()]))
    ws=[1,1,1,1024]; W=iter(ws); xs=[torch.full((2,4),float(i+1),dtype=torch.bfloat16) for i in range(4)]
    with st:
        for x in st.micro_batches(xs,weight=lambda x:next(W)): st.backward(m(x).mean())
    true=sum((i+1)*w for i,w in enumerate(ws))/sum(ws)
    return None if (got[0][0].float()-true).abs().max()<.05 else f"{got[0][0]} true {true}"
for acc in (2,3,4,5):
    for sc in (None,2.**10,777.):
        @exp(f"accum {acc} no weights scale {sc} close to hand (float64)")
        def _():
            a,_=hand(torch.float64,None,sc,.05,S,accum=acc,nb=7); b,_=ours(torch.float64,None,sc,.05,S,accum=acc,nb=7)
            return diff(a.parameters(),b.parameters(),1e-12)
# scaler dynamics: overflow, backoff, growth, in accumulation
@exp("scaler: overflow of fp16 autocast backs off and recovers, same as hand")
def _():
    a,sa=hand(torch.float32,torch.float16,2.**24,.1,A,nb=30,interval=3); b,sb=ours(torch.float32,torch.float16,2.**24,.1,A,nb=30,interval=3)
    return diff(a.parameters(),b.parameters()) or (None if sa.get_scale()==sb.get_scale() and sa._get_growth_tracker()==sb._get_growth_tracker() else f"{sa.get_scale()} {sb.get_scale()} {sa._get_growth_tracker()} {sb._get_growth_tracker()}")
@exp("scaler: two Steps share one scaler (GAN), as update once per iteration")
def _():
    def build():
        torch.manual_seed(0); return nn.Linear(5,5),nn.Linear(5,1)
    D=data(12)
    G,d=build(); og,od=A(G.parameters()),A(d.parameters()); sc=torch.amp.GradScaler("cpu",init_scale=1000.,growth_interval=2)
    for i,(x,_) in enumerate(D):
        od.zero_grad(); l=d(G(x).detach()).square().mean()*(float("inf") if i==4 else 1); sc.scale(l).backward(); sc.unscale_(od); nn.utils.clip_grad_norm_(d.parameters(),.1); sc.step(od)
        og.zero_grad(); d.zero_grad(); l=d(G(x)).sin().mean(); sc.scale(l).backward(); sc.unscale_(og); nn.utils.clip_grad_norm_(G.parameters(),.1); sc.step(og)
        sc.update()
    G2,d2=build(); s2=torch.amp.GradScaler("cpu",init_scale=1000.,growth_interval=2); sg,sd=Step(A(G2.parameters()),clip=.1,scaler=s2),Step(A(d2.parameters()),clip=.1,scaler=s2)
    for i,(x,_) in enumerate(D):
        with sd: sd.backward(d2(G2(x).detach()).square().mean()*(float("inf") if i==4 else 1))
        with sg: sg.backward(d2(G2(x)).sin().mean())
    return diff(list(G.parameters())+list(d.parameters()),list(G2.parameters())+list(d2.parameters())) or (None if sc.get_scale()==s2.get_scale() else f"scale {s2.get_scale()} not {sc.get_scale()}")
@exp("scaler: 2 critic steps per generator step share a scaler: weights right")
def _():
    def build():
        torch.manual_seed(0); return nn.Linear(5,5,dtype=torch.float64),nn.Linear(5,1,dtype=torch.float64)
    D=data(12,dtype=torch.float64)
    G,d=build(); og,od=A(G.parameters()),A(d.parameters())
    for x,_ in D:
        for _ in range(2):
            od.zero_grad(); d(G(x).detach()).square().mean().backward(); od.step()
        og.zero_grad(); d(G(x)).sin().mean().backward(); og.step()
    G2,d2=build(); s2=torch.amp.GradScaler("cpu",init_scale=1024.,growth_interval=2); sg,sd=Step(A(G2.parameters()),scaler=s2),Step(A(d2.parameters()),scaler=s2)
    for x,_ in D:
        for _ in range(2):
            with sd: sd.backward(d2(G2(x).detach()).square().mean())
        with sg: sg.backward(d2(G2(x)).sin().mean())
    return diff(list(G.parameters())+list(d.parameters()),list(G2.parameters())+list(d2.parameters()),1e-12)
@exp("scaler: scale changed by set_ / load_state_dict between blocks")
def _():
    m=mlp(torch.float64); sc=torch.amp.GradScaler("cpu",init_scale=1024.); st=Step(S(m.parameters()),scaler=sc)
    m2=mlp(torch.float64); o2=S(m2.parameters())
    for i,b in enumerate(data(6,dtype=torch.float64)):
        with st: st.backward(mse(m,b))
        o2.zero_grad(); mse(m2,b).backward(); o2.step()
        if i==1: sc.update(512.)
        if i==3: s=sc.state_dict(); s["scale"]=64.; sc.load_state_dict(s)
    return diff(m.parameters(),m2.parameters(),1e-12)
@exp("scaler: scale changed in mid-block (update(new)) refused or right")
def _():
    m=mlp(torch.float64); sc=torch.amp.GradScaler("cpu",init_scale=1024.); st=Step(S(m.parameters()),scaler=sc); before=copy.deepcopy(list(m.parameters()))
    D=data(2,dtype=torch.float64)
    try:
        with st:
            for b in st.micro_batches(D): st.backward(mse(m,b)); sc.update(8.)
    except zerograd.StepError: return diff(before,m.parameters())
    m2=mlp(torch.float64); o2=S(m2.parameters()); ((mse(m2,D[0])+mse(m2,D[1]))/2).backward(); o2.step()
    return diff(m2.parameters(),m.parameters(),1e-12)
@exp("scaler: scale() by hand in the block is refused")
def _():
    m=mlp(); sc=torch.amp.GradScaler("cpu",init_scale=1024.); st=Step(S(m.parameters()),scaler=sc)
    def f():
        with st: st.backward(sc.scale(mse(m,data()[0])))
    return refused(f)
@exp("scaler: scale() as a term of loss is refused")
def _():
    m=mlp(); sc=torch.amp.GradScaler("cpu",init_scale=1024.); st=Step(S(m.parameters()),scaler=sc); b=data()[0]
    def f():
        with st: st.backward(mse(m,b)+sc.scale(m(b[0]).mean()))
    return refused(f)
@exp("scaler: disabled scaler behaves as none")
def _():
    m=mlp(); sc=torch.amp.GradScaler("cpu",enabled=False); st=Step(S(m.parameters()),scaler=sc,clip=.05)
    a,_=hand(torch.float32,None,None,.05,S)
    for b in data(6):
        with st: st.backward(mse(m,b))
    return diff(a.parameters(),m.parameters())
@exp("scaler: growth to inf scale: float32 overflow of loss -> back off as torch")
def _():
    a,sa=hand(torch.float32,None,1e38,None,S,nb=20,interval=1); b,sb=ours(torch.float32,None,1e38,None,S,nb=20,interval=1)
    return diff(a.parameters(),b.parameters()) or (None if sa.get_scale()==sb.get_scale() else f"{sa.get_scale()} {sb.get_scale()}")
@exp("scaler: rollback leaves the scale and its tracker")
def _():
    m=mlp(); sc=torch.amp.GradScaler("cpu",init_scale=1000.,growth_interval=3); st=Step(S(m.parameters()),scaler=sc)
    D=data(6); s0=None
    for i,b in enumerate(D):
        try:
            with st:
                st.backward(mse(m,b))
                if i%2: raise OSError
        except OSError: pass
    a=mlp(); o=S(a.parameters()); s2=torch.amp.GradScaler("cpu",init_scale=1000.,growth_interval=3)
    for b in D[::2]: o.zero_grad(); s2.scale(mse(a,b)).backward(); s2.unscale_(o); s2.step(o); s2.update()
    return diff(a.parameters(),m.parameters()) or (None if s2.get_scale()==sc.get_scale() and s2._get_growth_tracker()==sc._get_growth_tracker() else "scale/tracker")
@exp("scaler with two optimizers, one overflows: neither moves (one commit)")
def _():
    m=mlp(); p=list(m.parameters()); sc=torch.amp.GradScaler("cpu",init_scale=1024.); st=Step([A(p[:2]),S(p[2:])],scaler=sc); before=copy.deepcopy(p)
    h=p[0].register_hook(lambda g:g*float("inf"))
    with st: st.backward(mse(m,data()[0]))
    return diff(before,p) or (None if sc.get_scale()==512. else "scale not backed off")
@exp("mixed dtype params f32+bf16+f64 clip norm")
def _():
    def build():
        torch.manual_seed(0); return nn.ModuleList([nn.Linear(5,5),nn.Linear(5,5).bfloat16(),nn.Linear(5,3).double()])
    def fw(m,b): return (m[2](m[1](m[0](b[0]).bfloat16()).double())-b[1]).square().mean()
    D=data(3)
    m=build(); o=torch.optim.SGD(m.parameters(),lr=.1); 
    for b in D: o.zero_grad(); fw(m,b).backward(); nn.utils.clip_grad_norm_(m.parameters(),.1); o.step()
    for gr in ("none","flat"):
        m2=build(); st=Step(torch.optim.SGD(m2.parameters(),lr=.1),clip=.1,model=m2,grads=gr)
        for b in D:
            with st: st.backward(fw(m2,b))
        r=diff(m.parameters(),m2.parameters(),1e-2)
        if r: return r
@exp("complex parameters")
def _():
    def build(): torch.manual_seed(0); return nn.Parameter(torch.randn(4,dtype=torch.complex128))
    p=build(); o=torch.optim.Adam([p],lr=.01); q=build()
    for clip,gr in ((None,"none"),(.1,"none"),(.1,"flat")):
        p=build(); o=torch.optim.Adam([p],lr=.01); q=build(); st=Step(torch.optim.Adam([q],lr=.01),clip=clip,grads=gr)
        for k in range(3):
            o.zero_grad(); (p*p.conj()).real.sum().backward(); clip and nn.utils.clip_grad_norm_([p],clip); o.step()
            with st: st.backward((q*q.conj()).real.sum())
        r=diff([torch.view_as_real(p)],[torch.view_as_real(q)],1e-12)
        if r: return f"{clip} {gr}: {r}"
@exp("autocast in block nested own autocast disabled; backward runs outside it")
def _():
    m=mlp(); st=Step(S(m.parameters()),autocast=torch.bfloat16)
    b=data()[0]
    with st:
        with torch.autocast("cpu",enabled=False): l=mse(m,b)
        st.backward(l)
    a=mlp(); o=S(a.parameters()); mse(a,b).backward(); o.step()
    return diff(a.parameters(),m.parameters()) or (None if not torch.is_autocast_enabled("cpu") else "autocast left on")
@exp("autocast off again after exception")
def _():
    m=mlp(); st=Step(S(m.parameters()),autocast=torch.bfloat16)
    try:
        with st: raise OSError
    except OSError: pass
    return "autocast left on" if torch.is_autocast_enabled("cpu") else None
@exp("zero-size and zero-dim params")
def _():
    for gr in ("none","flat"):
        p=[nn.Parameter(torch.zeros(0,3)),nn.Parameter(torch.tensor(2.)),nn.Parameter(torch.ones(3))]
        q=[nn.Parameter(x.detach().clone()) for x in p]
        f=lambda p:(p[0].sum()+p[1]**2+p[2].sum()*p[1])
        o=torch.optim.Adam(p,lr=.1); st=Step(torch.optim.Adam(q,lr=.1),clip=1.,grads=gr)
        for _ in range(3):
            o.zero_grad(); f(p).backward(); nn.utils.clip_grad_norm_(p,1.); o.step()
            with st: st.backward(f(q))
        r=diff(p,q)
        if r: return gr+r
@exp("non-contiguous / channels_last / expanded-view params")
def _():
    for gr in ("none","flat"):
        def build():
            torch.manual_seed(0)
            m=nn.Sequential(nn.Conv2d(3,4,3),nn.Flatten(),nn.Linear(4*4,2)); m=m.to(memory_format=torch.channels_last); m[2].weight=nn.Parameter(torch.randn(16,2).t()); return m
        x=torch.randn(5,3,4,4,generator=torch.Generator().manual_seed(0))
        m,m2=build(),build(); o=torch.optim.Adam(m.parameters(),lr=.1,fused=True); st=Step(torch.optim.Adam(m2.parameters(),lr=.1,fused=True),clip=.5,grads=gr,model=m2)
        for _ in range(3):
            o.zero_grad(); m(x).square().mean().backward(); nn.utils.clip_grad_norm_(m.parameters(),.5); o.step()
            with st: st.backward(m2(x).square().mean())
        r=diff(m.parameters(),m2.parameters())
        if r: return gr+": "+r
done()

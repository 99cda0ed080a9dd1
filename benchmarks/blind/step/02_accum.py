from common import *
import random
# weighted accumulation against one big batch, float64 1e-12, many combos
def big(dt,opt,clip,groupsz,sizes,scale=None):
    m=mlp(dt); o=opt(m.parameters())
    for g in groupsz(sizes):
        x=torch.cat([b[0] for b in g]); y=torch.cat([b[1] for b in g])
        o.zero_grad(); mse(m,(x,y)).backward()
        if clip: nn.utils.clip_grad_norm_(m.parameters(),clip)
        o.step()
    return m
def mk(sizes):
    g=torch.Generator().manual_seed(3)
    return [(torch.randn(n,5,generator=g,dtype=torch.float64),torch.randn(n,3,generator=g,dtype=torch.float64)) for n in sizes]
rnd=random.Random(1)
for k in range(40):
    sizes=[rnd.choice([1,2,3,5,8,33]) for _ in range(rnd.randint(1,9))]
    n=rnd.randint(1,5); clip=rnd.choice([None,.05,1e-3]); gr=rnd.choice(["none","flat"]); sc=rnd.choice([None,2.**12,1000.,7.])
    on=rnd.choice(["sgd","adamw","adamwf","rms"]); wk=rnd.choice(["len","tensor","float","numpy"])
    tied=rnd.random()<.3
    O={"sgd":lambda p:torch.optim.SGD(p,lr=.1,momentum=.9),"adamw":lambda p:torch.optim.AdamW(p,lr=.01),"adamwf":lambda p:torch.optim.AdamW(p,lr=.01,fused=True),"rms":lambda p:torch.optim.RMSprop(p,lr=.01)}[on]
    @exp(f"accum {sizes} n={n} {clip} {gr} scale={sc} {on} {wk}")
    def _():
        bs=mk(sizes)
        a=big(torch.float64,O,clip,lambda s:groups(bs,n),sizes)
        m=mlp(torch.float64); o=O(m.parameters())
        scaler=torch.amp.GradScaler("cpu",init_scale=sc,growth_interval=2) if sc else None
        st=Step(o,clip=clip,grads=gr,scaler=scaler)
        import numpy as np
        w={"len":lambda b:len(b[0]),"tensor":lambda b:torch.tensor(len(b[0])),"float":lambda b:len(b[0])*0.37,"numpy":lambda b:np.float32(len(b[0]))}[wk]
        for g in groups(bs,n):
            with st:
                for b in st.micro_batches(g,weight=w): st.backward(mse(m,b))
        # odd loss scales: torch's own unscale multiplies by float32 of 1/scale -> 1e-7 relative
        tol=1e-12 if sc in(None,2.**12) else 1e-6
        return diff(a.parameters(),m.parameters(),tol)
# same gradient whatever came before (bit for bit)
for k in range(8):
    @exp(f"same block same gradients whatever came before {k}")
    def _():
        r=random.Random(k); bs=mk([r.choice([1,3,7,100,1000]) for _ in range(5)])
        def grads(prefix):
            m=mlp(torch.float32); got=[]
            st=Step(torch.optim.SGD(m.parameters(),lr=0.),inspect=lambda n:got.append([g.clone() for g in n.values()]))
            for g in prefix+[bs]:
                with st:
                    for b in st.micro_batches(g,weight=lambda b:len(b[0])): st.backward(mse(m,(b[0].float(),b[1].float())))
            return got[-1]
        a=grads([]); b=grads([mk([100000]),mk([1,1])]) ; c=grads([mk([1]*3)])
        return diff(a,b) or diff(a,c)
@exp("weights huge range 1e-30 .. 1e30")
def _():
    bs=mk([2,2,2]); W=iter([1e-30,1.,1e30])
    m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    with st:
        for b in st.micro_batches(bs,weight=lambda b:next(W)): st.backward(mse(m,b))
    m2=mlp(torch.float64); o=torch.optim.SGD(m2.parameters(),lr=.1)
    mse(m2,bs[2]).backward(); o.step()
    return diff(m2.parameters(),m.parameters(),1e-12)
@exp("weights 1e-300")
def _():
    bs=mk([2,2,2])
    m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    with st:
        for b in st.micro_batches(bs,weight=lambda b:1e-300): st.backward(mse(m,b))
    m2=mlp(torch.float64); o=torch.optim.SGD(m2.parameters(),lr=.1)
    (sum(mse(m2,b) for b in bs)/3).backward(); o.step()
    return diff(m2.parameters(),m.parameters(),1e-12)
@exp("weights 1e300 float32 params")
def _():
    bs=mk([2,2,2])
    m=mlp(); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    with st:
        for b in st.micro_batches(bs,weight=lambda b:1e300): st.backward(mse(m,(b[0].float(),b[1].float())))
    m2=mlp(); o=torch.optim.SGD(m2.parameters(),lr=.1)
    (sum(mse(m2,(b[0].float(),b[1].float())) for b in bs)/3).backward(); o.step()
    return diff(m2.parameters(),m.parameters(),1e-6)
@exp("growing weights 1..2**40 in float32")
def _():
    bs=mk([2]*8); ws=[2.**(5*i) for i in range(8)]; W=iter(ws)
    m=mlp(); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    f=lambda b:(b[0].float(),b[1].float())
    with st:
        for b in st.micro_batches(bs,weight=lambda b:next(W)): st.backward(mse(m,f(b)))
    m2=mlp(torch.float64); o=torch.optim.SGD(m2.parameters(),lr=.1)
    (sum(mse(m2,(b[0].float().double(),b[1].float().double()))*w for b,w in zip(bs,ws))/sum(ws)).backward(); o.step()
    return diff(m2.parameters(),m.parameters(),1e-6)
for bad in (float("nan"),-1.,float("inf"),True,None,"x",1j):
    @exp(f"weight {bad!r} refused or sane")
    def _():
        bs=mk([2,2]); m=mlp(torch.float64); before=copy.deepcopy(list(m.parameters())); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
        try:
            with st:
                for b in st.micro_batches(bs,weight=lambda b:bad): st.backward(mse(m,b))
        except (zerograd.StepError,TypeError,ValueError) as e:
            return diff(before,m.parameters())
        if bad is True: return None
        return f"accepted {st.outcome}"
@exp("weight zero with NaN loss is left out")
def _():
    bs=mk([2,2]); W=iter([0,2]); m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    with st:
        for i,b in enumerate(st.micro_batches(bs,weight=lambda b:next(W))): st.backward(mse(m,b)*(float("nan") if b is bs[0] else 1))
    m2=mlp(torch.float64); o=torch.optim.SGD(m2.parameters(),lr=.1); mse(m2,bs[1]).backward(); o.step()
    return diff(m2.parameters(),m.parameters(),1e-12)
@exp("all weights zero: skipped, nothing moves, next block right")
def _():
    bs=mk([2,2]); m=mlp(torch.float64); st=Step(torch.optim.Adam(m.parameters(),lr=.1)); before=copy.deepcopy(list(m.parameters()))
    with st:
        for b in st.micro_batches(bs,weight=lambda b:0): st.backward(mse(m,b))
    if st.outcome.kind.value!="skipped": return str(st.outcome)
    return diff(before,m.parameters())
@exp("several backwards per microbatch, weights, tails")
def _():
    bs=mk([2,5,1]); m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    with st:
        for b in st.micro_batches(bs,weight=lambda b:len(b[0])):
            st.backward(mse(m,b)); st.backward(.3*m(b[0]).abs().mean())
    m2=mlp(torch.float64); o=torch.optim.SGD(m2.parameters(),lr=.1)
    X=torch.cat([b[0] for b in bs]);Y=torch.cat([b[1] for b in bs])
    (mse(m2,(X,Y))+.3*m2(X).abs().mean()).backward(); o.step()
    return diff(m2.parameters(),m.parameters(),1e-12)
@exp("reduce sum with weights?")
def _():
    bs=mk([2,5,1]); m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    try:
        with st:
            for b in st.micro_batches(bs,weight=lambda b:len(b[0]),reduce="sum"): st.backward(mse(m,b))
    except zerograd.StepError: return None
    m2=mlp(torch.float64); o=torch.optim.SGD(m2.parameters(),lr=.1)
    sum(mse(m2,b)*len(b[0]) for b in bs).backward(); o.step()
    return diff(m2.parameters(),m.parameters(),1e-12)
@exp("bare backward weight= in loop over two lines")
def _():
    bs=mk([2,5]); m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    with st:
        st.backward(mse(m,bs[0]),weight=2)
        st.backward(mse(m,bs[1]),weight=5)
    m2=mlp(torch.float64); o=torch.optim.SGD(m2.parameters(),lr=.1)
    mse(m2,(torch.cat([b[0] for b in bs]),torch.cat([b[1] for b in bs]))).backward(); o.step()
    return diff(m2.parameters(),m.parameters(),1e-12)
@exp("bare backward weight= in a loop")
def _():
    bs=mk([2,5]); m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    try:
        with st:
            for b in bs: st.backward(mse(m,b),weight=len(b[0]))
    except zerograd.StepError: return None
    m2=mlp(torch.float64); o=torch.optim.SGD(m2.parameters(),lr=.1)
    mse(m2,(torch.cat([b[0] for b in bs]),torch.cat([b[1] for b in bs]))).backward(); o.step()
    return diff(m2.parameters(),m.parameters(),1e-12)
@exp("micro-batch without a backward (continue) is ??")
def _():
    bs=mk([2,5,3]); m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    try:
        with st:
            for i,b in enumerate(st.micro_batches(bs,weight=lambda b:len(b[0]))):
                if i==1: continue
                st.backward(mse(m,b))
    except zerograd.StepError: return None
    b2=[bs[0],bs[2]]
    m2=mlp(torch.float64); o=torch.optim.SGD(m2.parameters(),lr=.1)
    mse(m2,(torch.cat([b[0] for b in b2]),torch.cat([b[1] for b in b2]))).backward(); o.step()
    return (lambda r: r and r+f" outcome {st.outcome}")(diff(m2.parameters(),m.parameters(),1e-12))
@exp("create_graph under weights refused")
def _():
    bs=mk([2,5]); m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1))
    def f():
        with st:
            for b in st.micro_batches(bs,weight=lambda b:3): st.backward(mse(m,b),create_graph=True)
    return refused(f)
@exp("micro_batches over generator that raises")
def _():
    bs=mk([2,5]); m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1)); before=copy.deepcopy(list(m.parameters()))
    def gen():
        yield bs[0]
        raise OSError("disk")
    try:
        with st:
            for b in st.micro_batches(gen()): st.backward(mse(m,b))
        return "no raise"
    except OSError: pass
    if any(p.grad is not None for p in m.parameters()): return "grads left"
    return diff(before,m.parameters())
@exp("zip with strict shorter, enumerate around micro_batches")
def _():
    bs=mk([2,5]); m=mlp(torch.float64); st=Step(torch.optim.SGD(m.parameters(),lr=.1)); before=copy.deepcopy(list(m.parameters()))
    try:
        with st:
            for b,_ in zip(st.micro_batches(bs,weight=lambda b:len(b[0])),[1]): st.backward(mse(m,b))
    except zerograd.StepError: return diff(before,m.parameters())
    return "committed a part of a group silently"
done()

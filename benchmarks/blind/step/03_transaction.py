from common import *
import signal, threading
F=torch.float64
def setup(**k):
    m=mlp(F); o=k.pop("opt",lambda p:torch.optim.Adam(p,lr=.01))(m.parameters()); st=Step(o,**k); return m,o,st
def ref(bs,opt=lambda p:torch.optim.Adam(p,lr=.01)):
    m=mlp(F); o=opt(m.parameters())
    for b in bs: o.zero_grad(); mse(m,b).backward(); o.step()
    return m
D=data(6,dtype=F)
def clean(m):
    if any(p.grad is not None for p in m.parameters()): return "gradients left"
def after(m,st,extra=1):
    """one good block afterwards must equal a hand loop of that block alone"""
    with st: st.backward(mse(m,D[0]))
    return diff(ref([D[0]]).parameters(),m.parameters())
def failing(name,body,exc=(zerograd.StepError,),expect_raise=True,**k):
    @exp(name)
    def _():
        m,o,st=setup(**k)
        before=[p.detach().clone() for p in m.parameters()]
        raised=None
        try:
            with st: body(m,o,st)
        except exc as e: raised=e
        if expect_raise and raised is None: return f"not refused; outcome {st.outcome}"
        r=diff(before,m.parameters())
        if r: return "weights moved: "+r
        return clean(m) or after(m,st)
failing("raise in block",lambda m,o,s:(s.backward(mse(m,D[1])),1/0),ZeroDivisionError)
failing("raise before backward",lambda m,o,s:1/0,ZeroDivisionError)
failing("KeyboardInterrupt in block",lambda m,o,s:(s.backward(mse(m,D[1])),exec("raise KeyboardInterrupt")),KeyboardInterrupt)
failing("SystemExit",lambda m,o,s:(s.backward(mse(m,D[1])),sys.exit(3)),SystemExit)
failing("GeneratorExit",lambda m,o,s:(s.backward(mse(m,D[1])),exec("raise GeneratorExit")),GeneratorExit)
failing("StopIteration",lambda m,o,s:(s.backward(mse(m,D[1])),next(iter([]))),StopIteration)
failing("abort",lambda m,o,s:(s.backward(mse(m,D[1])),s.abort()),expect_raise=False)
failing("abort in try/except Exception",lambda m,o,s:exec("try:\n s.backward(L)\n s.abort()\nexcept Exception: pass\ns.x=1",{"s":s,"L":mse(m,D[1])}),expect_raise=False)
failing("abort in bare except",lambda m,o,s:exec("try:\n s.backward(L)\n s.abort()\nexcept BaseException: pass",{"s":s,"L":mse(m,D[1])}),(zerograd.ZerogradError,),expect_raise=False)
failing("raw backward",lambda m,o,s:mse(m,D[1]).backward())
failing("raw backward on top",lambda m,o,s:(s.backward(mse(m,D[1])),mse(m,D[2]).backward()))
failing("zero_grad inside",lambda m,o,s:(s.backward(mse(m,D[1])),o.zero_grad()))
failing("zero_grad(False) inside",lambda m,o,s:(s.backward(mse(m,D[1])),o.zero_grad(False)))
failing("one grad None",lambda m,o,s:(s.backward(mse(m,D[1])),setattr(m[0].weight,"grad",None)))
failing("clip by hand",lambda m,o,s:(s.backward(mse(m,D[1])),nn.utils.clip_grad_norm_(m.parameters(),1e-3)))
failing("grad.data mul",lambda m,o,s:(s.backward(mse(m,D[1])),m[0].weight.grad.data.mul_(2)))
failing("grad numpy",lambda m,o,s:(s.backward(mse(m,D[1])),m[0].weight.grad.numpy().__imul__(2)))
failing("grad replaced",lambda m,o,s:(s.backward(mse(m,D[1])),setattr(m[0].weight,"grad",m[0].weight.grad.clone())))
failing("optimizer.step inside before deposit",lambda m,o,s:(o.step(),s.backward(mse(m,D[1]))))
failing("detached",lambda m,o,s:s.backward(mse(m,D[1]).detach()),(zerograd.StepError,))
failing("empty",lambda m,o,s:None)
failing("looped",lambda m,o,s:[s.backward(mse(m,b)) for b in D[1:3]])
failing("looped in while",lambda m,o,s:exec("for b in D:\n s.backward(f(m,b))",{"s":s,"m":m,"f":mse,"D":D[:2]}))
failing("map()",lambda m,o,s:list(map(s.backward,[mse(m,b) for b in D[1:3]])))
failing("mixed bare and micro",lambda m,o,s:(s.backward(mse(m,D[1])),[s.backward(mse(m,b)) for b in s.micro_batches(D[1:3])]))
failing("micro then bare",lambda m,o,s:([s.backward(mse(m,b)) for b in s.micro_batches(D[1:3])],s.backward(mse(m,D[1]))))
failing("two micro_batches in a row mean and sum",lambda m,o,s:([s.backward(mse(m,b)) for b in s.micro_batches(D[1:3])],[s.backward(mse(m,b)) for b in s.micro_batches(D[1:3],reduce="sum")]))
failing("nested micro",lambda m,o,s:[[s.backward(mse(m,c)) for c in s.micro_batches(D[1:3])] for b in s.micro_batches(D[1:3])])
failing("break",lambda m,o,s:exec("for b in s.micro_batches(D):\n s.backward(f(m,b))\n break",{"s":s,"m":m,"f":mse,"D":D[:2]}))
failing("nested with",lambda m,o,s:exec("with s: s.backward(L)",{"s":s,"L":mse(m,D[1])}))
failing("nonfinite raise",lambda m,o,s:s.backward(mse(m,D[1])*float("nan")),zerograd.ZerogradError,nonfinite="raise")
failing("nonfinite skip",lambda m,o,s:s.backward(mse(m,D[1])*float("nan")),expect_raise=False)
failing("caught broken backward",lambda m,o,s:exec("""
h=m[0].weight.register_hook(lambda g: 1/0)
try: s.backward(L)
except ZeroDivisionError: pass
h.remove()
""",{"s":s,"m":m,"L":mse(m,D[1])}))
failing("caught broken backward then good one",lambda m,o,s:exec("""
h=m[0].weight.register_hook(lambda g: 1/0)
try: s.backward(L)
except ZeroDivisionError: pass
h.remove()
s.backward(L2)
""",{"s":s,"m":m,"L":mse(m,D[1]),"L2":mse(m,D[2])}))
def inth(m,o,s):
    t=threading.Thread(target=lambda:s.backward(mse(m,D[1]))); 
    err=[]
    def go():
        try: s.backward(mse(m,D[1]))
        except BaseException as e: err.append(e)
    t=threading.Thread(target=go); t.start(); t.join()
    if err: raise err[0]
failing("backward in a thread",inth)
def rawth(m,o,s):
    s.backward(mse(m,D[1]))
    t=threading.Thread(target=lambda:mse(m,D[2]).backward()); t.start(); t.join()
failing("raw backward in another thread",rawth)
def inspecterr(n): raise OSError("i")
failing("inspect raises",lambda m,o,s:s.backward(mse(m,D[1])),OSError,inspect=[lambda n:[g.mul_(2) for g in n.values()],lambda n:(_ for _ in ()).throw(OSError("x")) if len(CALLS)==0 and not CALLS.append(1) else None,lambda n:[g.div_(2) for g in n.values()]]) if False else None
@exp("inspect raises: nothing moves, then good")
def _():
    flag=[1]
    def insp(n):
        for g in n.values(): g.mul_(3)
        if flag: raise OSError("x")
        for g in n.values(): g.div_(3)
    m,o,st=setup(inspect=insp,opt=lambda p:torch.optim.SGD(p,lr=.1)); before=[p.detach().clone() for p in m.parameters()]
    try:
        with st: st.backward(mse(m,D[1]))
        return "no raise"
    except OSError: pass
    r=diff(before,m.parameters()) or clean(m)
    if r: return r
    flag.clear()
    with st: st.backward(mse(m,D[0]))
    return diff(ref([D[0]],lambda p:torch.optim.SGD(p,lr=.1)).parameters(),m.parameters(),1e-12)
@exp("inspect makes NaN: skipped")
def _():
    m,o,st=setup(inspect=lambda n:n["0.weight"].fill_(float("nan")),model=None) if False else (None,)*3
    m=mlp(F); o=torch.optim.SGD(m.parameters(),lr=.1); st=Step(o,model=m,inspect=lambda n:n["0.weight"].fill_(float("nan"))); before=[p.detach().clone() for p in m.parameters()]
    with st: st.backward(mse(m,D[1]))
    return diff(before,m.parameters()) or (None if st.outcome.kind.value=="skipped" else str(st.outcome))
@exp("clip fn makes inf: skipped")
def _():
    m=mlp(F); o=torch.optim.SGD(m.parameters(),lr=.1); st=Step(o,model=m,clip=lambda n:[g.div_(0) for g in n.values()]); before=[p.detach().clone() for p in m.parameters()]
    with st: st.backward(mse(m,D[1]))
    return diff(before,m.parameters()) or (None if st.outcome.kind.value=="skipped" else str(st.outcome))
@exp("inspect rebinding dict value (not in place) has what effect")
def _():
    m=mlp(F); o=torch.optim.SGD(m.parameters(),lr=.1)
    def insp(n):
        for k in list(n): n[k]=n[k]*0
    st=Step(o,model=m,inspect=insp)
    try:
        with st: st.backward(mse(m,D[0]))
    except (TypeError,zerograd.StepError): return clean(m)
    return None
@exp("inspect sets p.grad instead")
def _():
    m=mlp(F); o=torch.optim.SGD(m.parameters(),lr=.1)
    def insp(n):
        for p in m.parameters(): p.grad=p.grad*0.5
    st=Step(o,model=m,inspect=insp)
    try:
        with st: st.backward(mse(m,D[0]))
    except zerograd.StepError: return None
    m2=mlp(F); o2=torch.optim.SGD(m2.parameters(),lr=.1); mse(m2,D[0]).backward()
    for p in m2.parameters(): p.grad=p.grad*.5
    o2.step()
    return diff(m2.parameters(),m.parameters(),1e-12)
@exp("optimizer.step raises: torn, refuse on")
def _():
    class Bad(torch.optim.SGD):
        def step(s,closure=None):
            super().step(); raise OSError("bad")
    m=mlp(F); st=Step(Bad(m.parameters(),lr=.1))
    try:
        with st: st.backward(mse(m,D[0]))
        return "no raise"
    except zerograd.TornStep: pass
    if st.outcome.kind.value!="torn": return str(st.outcome)
    def f():
        with st: st.backward(mse(m,D[0]))
    return refused(f)
for n in range(2):
    @exp(f"torn with restore=weights comes back, optimizers {n+1}")
    def _():
        flag=[1]
        class Bad(torch.optim.Adam):
            def step(s,closure=None):
                super().step()
                if flag: raise OSError("bad")
        m=mlp(F); ps=list(m.parameters())
        opts=[Bad(ps,lr=.01)] if n==0 else [torch.optim.Adam(ps[:2],lr=.01),Bad(ps[2:],lr=.01)]
        st=Step(opts,restore="weights"); before=[p.detach().clone() for p in ps]
        try:
            with st: st.backward(mse(m,D[1]))
            return "no raise"
        except (OSError,zerograd.ZerogradError): pass
        r=diff(before,ps)
        if r: return r
        flag.clear()
        with st: st.backward(mse(m,D[0]))
        r=diff(ref([D[0]]).parameters(),ps)
        return r
@exp("scheduler raises after step")
def _():
    m=mlp(F); o=torch.optim.SGD(m.parameters(),lr=.1)
    flag=[0]
    def lam(e):
        if flag[0]: raise OSError("lam")
        return 1.
    sch=torch.optim.lr_scheduler.LambdaLR(o,lam); st=Step(o,scheduler=sch)
    flag[0]=1; before=[p.detach().clone() for p in m.parameters()]
    try:
        with st: st.backward(mse(m,D[0]))
        return "no raise"
    except BaseException as e: err=e
    flag[0]=0
    moved=diff(before,m.parameters()) is not None
    if st.outcome.kind.value=="rolled_back" and moved: return f"says rolled_back, weights moved; {err!r}"
    if st.outcome.kind.value=="torn" or isinstance(err,zerograd.TornStep): return None
    return None if not moved or st.outcome.moved else f"{st.outcome} {err!r} moved={moved}"
@exp("scheduler raises, restore=weights")
def _():
    m=mlp(F); o=torch.optim.Adam(m.parameters(),lr=.01)
    flag=[0]
    def lam(e):
        if flag[0]: raise OSError("lam")
        return 1.
    sch=torch.optim.lr_scheduler.LambdaLR(o,lam); st=Step(o,scheduler=sch,restore="weights")
    flag[0]=1; before=[p.detach().clone() for p in m.parameters()]
    try:
        with st: st.backward(mse(m,D[0]))
        return "no raise"
    except BaseException as e: err=e
    flag[0]=0
    if st.outcome.moved: return None
    r=diff(before,m.parameters())
    if r: return r
    if sch.last_epoch!=0: return f"scheduler moved {sch.last_epoch}"
    with st: st.backward(mse(m,D[0]))
    return diff(ref([D[0]]).parameters(),m.parameters()) or (None if sch.last_epoch==1 else f"last_epoch {sch.last_epoch}")
for kind in ("raise","abort","nan"):
    @exp(f"restore all: rng buffers weights on {kind}")
    def _():
        torch.manual_seed(0); m=nn.Sequential(nn.Linear(5,7),nn.BatchNorm1d(7),nn.Dropout(.5),nn.Linear(7,3)).double()
        o=torch.optim.Adam(m.parameters(),lr=.01); st=Step(o,model=m,restore=("rng","buffers","weights"))
        with st: st.backward(mse(m,D[0]))
        snap={k:v.clone() for k,v in m.state_dict().items()}; rng=torch.get_rng_state().clone(); import random,numpy as np
        random.seed(1); np.random.seed(1); rs=random.getstate(); ns=np.random.get_state()[1].copy()
        try:
            with st:
                l=mse(m,D[1])*(float("nan") if kind=="nan" else 1); random.random(); np.random.rand()
                st.backward(l)
                with torch.no_grad(): m[0].weight.add_(1)
                if kind=="raise": raise OSError
                if kind=="abort": st.abort()
        except OSError: pass
        for k,v in m.state_dict().items():
            if not torch.equal(v,snap[k]): return f"{k} not restored"
        if not torch.equal(rng,torch.get_rng_state()): return "torch rng not restored"
        if random.getstate()!=rs: return "python rng not restored"
        if not (np.random.get_state()[1]==ns).all(): return "numpy rng not restored"
@exp("max_skips Diverged then weights same")
def _():
    m,o,st=setup(max_skips=3); before=[p.detach().clone() for p in m.parameters()]
    k=0
    try:
        for k in range(10):
            with st: st.backward(mse(m,D[1])*float("nan"))
    except zerograd.Diverged: pass
    if k!=2: return f"raised at {k}"
    return diff(before,m.parameters()) or after(m,st)
@exp("SIGINT inside optimizer.step is held; raised after commit")
def _():
    class Slow(torch.optim.SGD):
        def step(s,closure=None):
            os.kill(os.getpid(),signal.SIGINT)
            for _ in range(100): pass
            super().step()
    m=mlp(F); st=Step(Slow(m.parameters(),lr=.1)); got=False
    try:
        with st: st.backward(mse(m,D[0]))
    except KeyboardInterrupt: got=True
    if not got: return "Ctrl-C swallowed"
    r=diff(ref([D[0]],lambda p:torch.optim.SGD(p,lr=.1)).parameters(),m.parameters())
    if r: return r
    if st.outcome.kind.value!="committed": return str(st.outcome)
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler: return "handler not restored"
@exp("SIGINT with own handler in commit is called once")
def _():
    calls=[]
    old=signal.signal(signal.SIGINT,lambda *a:calls.append(1))
    try:
        class Slow(torch.optim.SGD):
            def step(s,closure=None):
                os.kill(os.getpid(),signal.SIGINT); super().step()
        m=mlp(F); st=Step(Slow(m.parameters(),lr=.1))
        with st: st.backward(mse(m,D[0]))
        if len(calls)!=1: return f"own handler called {len(calls)}"
    finally: signal.signal(signal.SIGINT,old)
@exp("SIGALRM raising in optimizer.step")
def _():
    def h(*a): raise TimeoutError
    old=signal.signal(signal.SIGALRM,h)
    try:
        class Slow(torch.optim.SGD):
            def step(s,closure=None):
                super().step(); os.kill(os.getpid(),signal.SIGALRM)
                for _ in range(1000): pass
        m=mlp(F); st=Step(Slow(m.parameters(),lr=.1))
        try:
            with st: st.backward(mse(m,D[0]))
            return "nothing"
        except (TimeoutError,zerograd.TornStep) as e: pass
        if st.outcome.kind.value=="committed": return diff(ref([D[0]],lambda p:torch.optim.SGD(p,lr=.1)).parameters(),m.parameters())
        if st.outcome.kind.value!="torn": return str(st.outcome)
    finally: signal.signal(signal.SIGALRM,old)
@exp("exception in __exit__ path: SIGALRM storm, law: all or nothing")
def _():
    import random
    class Hit(Exception): pass
    armed=[False]
    def h(*a):
        if armed[0]: raise Hit
    old=signal.signal(signal.SIGALRM,h); r=random.Random(0)
    try:
        m=mlp(F); o=torch.optim.SGD(m.parameters(),lr=.1); st=Step(o,clip=.5,restore="weights")
        hits=0
        for k in range(300):
            before=[p.detach().clone() for p in m.parameters()]; c=st.committed; hit=False
            m2=mlp(F); m2.load_state_dict(m.state_dict()); o2=torch.optim.SGD(m2.parameters(),lr=.1)
            mse(m2,D[k%6]).backward(); nn.utils.clip_grad_norm_(m2.parameters(),.5); o2.step()
            try:
                armed[0]=True
                signal.setitimer(signal.ITIMER_REAL,r.random()*.002+1e-6)
                with st: st.backward(mse(m,D[k%6]))
                armed[0]=False
            except Hit: hit=True; hits+=1
            except zerograd.ZerogradError as e:
                hit=True; hits+=1
            finally:
                armed[0]=False; signal.setitimer(signal.ITIMER_REAL,0)
            if diff(before,m.parameters()) is None: moved=False
            elif diff(m2.parameters(),m.parameters()) is None: moved=True
            else: return f"at {k}: weights neither old nor new, outcome {st.outcome}"
            if st.outcome and st.outcome.kind.value=="torn": return f"torn despite restore at {k}"
            if not hit and not moved: return "no hit and not moved"
            if hit and moved!=(st.committed==c+1): return f"at {k}: moved={moved}, committed {c}->{st.committed}, {st.outcome}"
            if any(p.grad is not None for p in m.parameters()) and not hit: return "grads left"
        print("   hits",hits)
    finally: signal.signal(signal.SIGALRM,old); signal.setitimer(signal.ITIMER_REAL,0)
@exp("two threads with their own Steps and models, weights right")
def _():
    res={}; MS=[mlp(F,seed=i) for i in range(3)]
    def work(i):
        m=MS[i]; o=torch.optim.Adam(m.parameters(),lr=.01); st=Step(o,clip=.1,model=m)
        for k in range(60):
            with st: st.backward(mse(m,D[k%6]))
        res[i]=m
    ts=[threading.Thread(target=work,args=(i,)) for i in range(3)]
    [t.start() for t in ts]; [t.join() for t in ts]
    for i in range(3):
        m=mlp(F,seed=i); o=torch.optim.Adam(m.parameters(),lr=.01)
        for k in range(60):
            o.zero_grad(); mse(m,D[k%6]).backward(); nn.utils.clip_grad_norm_(m.parameters(),.1); o.step()
        r=diff(m.parameters(),res[i].parameters()) if i in res else "thread died"
        if r: return f"{i}: {r}"
done()

from common import *
import itertools
class MuonLike(torch.optim.Optimizer):
    def __init__(s,p,lr=0.02): super().__init__(p,dict(lr=lr))
    @torch.no_grad()
    def step(s,closure=None):
        for g in s.param_groups:
            for p in g["params"]:
                if p.grad is None: continue
                st=s.state[p]
                m=st.setdefault("m",torch.zeros_like(p)); m.mul_(0.9).add_(p.grad)
                u=m
                if m.ndim==2:
                    x=m/(m.norm()+1e-7)
                    for _ in range(3):
                        x=1.5*x-0.5*x@x.T@x
                    u=x
                p.add_(u,alpha=-g["lr"])
opts={
 "sgd":lambda p:torch.optim.SGD(p,lr=.1),
 "sgdm":lambda p:torch.optim.SGD(p,lr=.1,momentum=.9,nesterov=True,weight_decay=.01),
 "sgdfused":lambda p:torch.optim.SGD(p,lr=.1,momentum=.9,fused=True),
 "adam":lambda p:torch.optim.Adam(p,lr=.01),
 "adamforeach":lambda p:torch.optim.Adam(p,lr=.01,foreach=True,amsgrad=True),
 "adamw":lambda p:torch.optim.AdamW(p,lr=.01),
 "adamwfused":lambda p:torch.optim.AdamW(p,lr=.01,fused=True),
 "adagrad":lambda p:torch.optim.Adagrad(p,lr=.01),
 "adagradfused":lambda p:torch.optim.Adagrad(p,lr=.01,fused=True),
 "rmsprop":lambda p:torch.optim.RMSprop(p,lr=.01,momentum=.5,centered=True),
 "muonlike":lambda p:MuonLike(p),
 "maximize":lambda p:torch.optim.Adam(p,lr=.01,maximize=True),
 "differentiable":lambda p:torch.optim.NAdam(p,lr=.01),
 "radam":lambda p:torch.optim.RAdam(p,lr=.01),
 "rprop":lambda p:torch.optim.Rprop(p,lr=.01),
 "adadelta":lambda p:torch.optim.Adadelta(p),
 "asgd":lambda p:torch.optim.ASGD(p),
 "adamax":lambda p:torch.optim.Adamax(p),
 "adafactor":lambda p:torch.optim.Adafactor(p),
}
clips={"none":None,"norm":.05,"dict":{"norm":.05},"value":{"value":.01},"group":{"norm":.03,"per":"group"},"inf":math.inf}
scales={"noscale":None,"scale2":(2.**10,2.,.5,2),"scaleodd":(1000.,1.7,.3,2),"scale3":(3.,3.,.1,1)}
def hand(opt,clip,scale,dt,poison):
    m=mlp(dt); params=list(m.parameters())
    o=opts[opt]([{"params":params[:2]},{"params":params[2:]}] if clip=="group" else params)
    sc=torch.amp.GradScaler("cpu",init_scale=scale[0],growth_factor=scale[1],backoff_factor=scale[2],growth_interval=scale[3]) if scale else None
    sch=torch.optim.lr_scheduler.StepLR(o,2,.5)
    for i,b in enumerate(data(6,dtype=dt)):
        o.zero_grad()
        l=mse(m,b)
        if i==poison: l=l*float("inf")
        if sc: 
            sc.scale(l).backward()
            if clip!="none" or not getattr(o,"_step_supports_amp_scaling",False): sc.unscale_(o)  # a loop without a clip has no unscale_
        else: l.backward()
        fin=all(torch.isfinite(p.grad).all() for p in params)
        c=clips[clip]
        if fin:
            if clip in("norm","dict"): nn.utils.clip_grad_norm_(params,.05)
            if clip=="value": nn.utils.clip_grad_value_(params,.01)
            if clip=="group":
                for g in o.param_groups: nn.utils.clip_grad_norm_(g["params"],.03)
        if sc: sc.step(o); sc.update()
        elif fin: o.step()
        if fin: sch.step()
    return m,o,sc,sch
def ours(opt,clip,scale,dt,poison,grads,withmodel):
    m=mlp(dt); params=list(m.parameters())
    o=opts[opt]([{"params":params[:2]},{"params":params[2:]}] if clip=="group" else params)
    sc=torch.amp.GradScaler("cpu",init_scale=scale[0],growth_factor=scale[1],backoff_factor=scale[2],growth_interval=scale[3]) if scale else None
    sch=torch.optim.lr_scheduler.StepLR(o,2,.5)
    step=Step(o,clip=clips[clip],scaler=sc,scheduler=sch,grads=grads,model=m if withmodel else None)
    for i,b in enumerate(data(6,dtype=dt)):
        with step:
            l=mse(m,b)
            if i==poison: l=l*float("inf")
            step.backward(l)
    return m,o,sc,sch
import random
rnd=random.Random(5)
combos=list(itertools.product(opts,clips,scales,(torch.float32,torch.float64),(None,3),("none","flat"),(True,False)))
rnd.shuffle(combos)
seen=set(); picked=[]
for c in combos:
    key=c[:3]
    if key in seen: continue
    seen.add(key); picked.append(c)
picked=[c for i,c in enumerate(picked) if i%3==0 or c[0] in("sgdm","adamwfused")]
bad=0
for c in picked:
    opt,clip,scale,dt,poison,gr,wm=c
    @exp("grid "+" ".join(map(str,c)))
    def _():
        a=hand(opt,clip,scales[scale],dt,poison); b=ours(opt,clip,scales[scale],dt,poison,gr,wm)
        r=diff(a[0].parameters(),b[0].parameters())
        if r: return r
        if a[2] and a[2].get_scale()!=b[2].get_scale(): return f"scale {b[2].get_scale()} not {a[2].get_scale()}"
        if a[3].last_epoch!=b[3].last_epoch: return f"scheduler {b[3].last_epoch} not {a[3].last_epoch}"
        for p,q in zip(a[0].parameters(),b[0].parameters()):
            sa,sb=a[1].state[p],b[1].state[q]
            if set(sa)!=set(sb): return f"state keys {set(sa)} {set(sb)}"
            for k in sa:
                if torch.is_tensor(sa[k]):
                    if not torch.equal(sa[k],sb[k]): return f"state {k}"
                elif sa[k]!=sb[k]: return f"state {k}"
done()

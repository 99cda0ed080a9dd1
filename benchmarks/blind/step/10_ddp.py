from ranks import *
def alone(groups_,opt=A,clip=None,mk=lambda:mlp(F)):
    m=mk(); o=opt(m.parameters())
    for g in groups_:
        o.zero_grad(); mse(m,cat(g)).backward(); 
        if clip: nn.utils.clip_grad_norm_(m.parameters(),clip)
        o.step()
    return m
def gr(rank,n,cnt): return list(groups(batches(rank,cnt),n))
def weighted(sync,opt=A,clip=None,counts=(6,6),wrap=lambda m:DDP(m),mk=lambda:mlp(F),scaler=None,n=3,stepk={}):
    def fn(rank):
        m=wrap(mk()); o=opt(m.parameters()); sc=torch.amp.GradScaler("cpu",init_scale=scaler) if scaler else None
        st=Step(o,clip=clip,sync=sync,scaler=sc,**stepk)
        mine=gr(rank,n,counts[rank]); other=[gr(r,n,counts[r]) for r in range(2)]
        k=max(map(len,other))
        mine+= [[]]*(k-len(mine))
        for g in mine:
            with st:
                for b in st.micro_batches(g,weight=W): st.backward(mse(m,b))
        ref=alone([sum(((o_+[[]]*k)[i] for o_ in other),[]) for i in range(k)],opt,clip,mk)
        return diff(ref.parameters(),m.parameters(),1e-12)
    return fn
for sync in (None,"overlap","commit","each"):
    ranked(f"ddp weighted {sync}",weighted(sync))
    ranked(f"ddp unequal counts {sync} clip",weighted(sync,clip=.05,counts=(7,4)))
    ranked(f"ddp one rank has none in last {sync}",weighted(sync,opt=S,counts=(7,3)))
    ranked(f"ddp bucket view {sync}",weighted(sync,wrap=lambda m:DDP(m,gradient_as_bucket_view=True),counts=(5,6)))
    ranked(f"ddp find_unused {sync} scaler",weighted(sync,wrap=lambda m:DDP(m,find_unused_parameters=True),scaler=1024.,counts=(5,6)))
    ranked(f"ddp static_graph {sync}",weighted(sync,wrap=lambda m:DDP(m,static_graph=True),counts=(6,6)))
    ranked(f"ddp tiny buckets {sync}",weighted(sync,wrap=lambda m:DDP(m,bucket_cap_mb=1e-5),counts=(6,5)))
for sync in (None,"overlap","commit","each"):
    def bare(rank):
        m=DDP(mlp(F)); st=Step(A(m.parameters()),sync=sync,clip=.05); r=DDP(mlp(F)); ro=A(r.parameters())
        for b in batches(rank):
            with st: st.backward(mse(m,b))
            ro.zero_grad(); mse(r,b).backward(); nn.utils.clip_grad_norm_(r.parameters(),.05); ro.step()
        return diff(r.parameters(),m.parameters(),1e-12)
    ranked(f"ddp bare == ddp by hand {sync}",bare)
    def nanone(rank):
        m=DDP(mlp(F)); st=Step(A(m.parameters()),sync=sync); r=DDP(mlp(F)); ro=A(r.parameters())
        for i,b in enumerate(batches(rank)):
            with st: st.backward(mse(m,b)*(float("nan") if i==2 and rank==1 else 1))
            if i==2:
                if st.outcome.kind.value!="skipped": return str(st.outcome)
                continue
            ro.zero_grad(); mse(r,b).backward(); ro.step()
        return diff(r.parameters(),m.parameters(),1e-12)
    ranked(f"ddp nan on one rank {sync}",nanone)
    def failone(where):
        def fn(rank):
            m=DDP(mlp(F)); st=Step(A(m.parameters()),sync=sync); r=mlp(F); ro=A(r.parameters())
            mine,oth=gr(rank,2,8),[gr(0,2,8),gr(1,2,8)]
            for i,g in enumerate(mine):
                try:
                    with st:
                        for k,b in enumerate(st.micro_batches(g,weight=W)):
                            if i==2 and rank==1 and where==f"before{k}": raise OSError("x")
                            st.backward(mse(m,b))
                            if i==2 and rank==1 and where=="abort" : st.abort()
                        if i==2 and rank==1 and where=="end": raise OSError("x")
                    if i==2 and where!="abort": return f"no error at {i}"
                except OSError:
                    if rank!=1: return "OSError on 0"
                except zerograd.PeerFailed:
                    if rank!=0: return "PeerFailed on 1"
                if i==2: continue
                ro.zero_grad(); mse(r,cat(oth[0][i]+oth[1][i])).backward(); ro.step()
            return diff(r.parameters(),m.parameters(),1e-12)
        return fn
    for w in ("before0","before1","end","abort"): ranked(f"ddp rank 1 fails {w} {sync}",failone(w))
def late(rank):
    net=mlp(F); o=A(net.parameters()); st=Step(o); 
    with st: st.backward(mse(net,batches(0)[0]))
    m=DDP(net)
    oth=[gr(0,2,6),gr(1,2,6)]
    for g in gr(rank,2,6):
        with st:
            for b in st.micro_batches(g,weight=W): st.backward(mse(m,b))
    return diff(alone([[batches(0)[0]]]+[a+b for a,b in zip(*oth)]).parameters(),m.parameters(),1e-12)
ranked("ddp wrapped late after blocks",late)
def unwrap(rank):
    m=DDP(mlp(F)); st=Step(A(m.parameters()))
    b0=batches(rank)[0]
    with st:
        for b in st.micro_batches([b0],weight=W): st.backward(mse(m,b))
    net=m.module; del m; import gc; gc.collect()
    b1=batches(7)[0]
    with st: st.backward(mse(net,b1))
    return diff(alone([[batches(0)[0],batches(1)[0]],[b1]]).parameters(),net.parameters(),1e-12)
ranked("ddp taken out of wrapper",unwrap)
def nosync(rank):
    m=DDP(mlp(F)); st=Step(A(m.parameters())); oth=[gr(0,2,6),gr(1,2,6)]
    for g in gr(rank,2,6):
        with st, m.no_sync():
            for b in st.micro_batches(g,weight=W): st.backward(mse(m,b))
    return diff(alone([a+b for a,b in zip(*oth)]).parameters(),m.parameters(),1e-12)
ranked("ddp user's no_sync around the loop (block)",nosync)
def nosync2(rank):
    m=DDP(mlp(F)); st=Step(A(m.parameters())); oth=[gr(0,2,6),gr(1,2,6)]
    for g in gr(rank,2,6):
        with st:
            for i,b in enumerate(st.micro_batches(g,weight=W)):
                with m.no_sync(): st.backward(mse(m,b))
    return diff(alone([a+b for a,b in zip(*oth)]).parameters(),m.parameters(),1e-12)
ranked("ddp no_sync around each micro-batch",nosync2)
def nosync3(rank):
    m=DDP(mlp(F)); st=Step(A(m.parameters())); oth=[gr(0,2,6),gr(1,2,6)]
    for g in gr(rank,2,6):
        with st:
            import contextlib
            for i,b in enumerate(st.micro_batches(g,weight=W)):
                with (m.no_sync() if i<len(g)-1 else contextlib.nullcontext()): l=mse(m,b)
                st.backward(l)
    return diff(alone([a+b for a,b in zip(*oth)]).parameters(),m.parameters(),1e-12)
ranked("ddp no_sync around the forwards but the last (habit)",nosync3)
for sync in (None,"commit","each"):
    def hook(rank):
        m=DDP(mlp(F)); 
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as dh
        m.register_comm_hook(None,dh.allreduce_hook)
        st=Step(A(m.parameters()),sync=sync); oth=[gr(0,2,6),gr(1,2,6)]
        for g in gr(rank,2,6):
            with st:
                for b in st.micro_batches(g,weight=W): st.backward(mse(m,b))
        return diff(alone([a+b for a,b in zip(*oth)]).parameters(),m.parameters(),1e-12)
    ranked(f"ddp allreduce comm hook {sync}",hook)
    def hook2(rank):
        m=DDP(mlp(F))
        def h(state,bucket):
            t=bucket.buffer(); fut=dist.all_reduce(t,async_op=True).get_future(); return fut.then(lambda f:f.value()[0])
        m.register_comm_hook(None,h) # sums instead of mean
        r=DDP(mlp(F)); r.register_comm_hook(None,h); ro=S(r.parameters()); st=Step(S(m.parameters()),sync=sync)
        for b in batches(rank):
            with st: st.backward(mse(m,b))
            ro.zero_grad(); mse(r,b).backward(); ro.step()
        return diff(r.parameters(),m.parameters(),1e-12)
    ranked(f"ddp summing comm hook, bare, as by hand {sync}",hook2)
    def unused(rank):
        def mk(): torch.manual_seed(0); return nn.ModuleList([nn.Linear(5,3),nn.Linear(5,3)]).double()
        class N(nn.Module):
            def __init__(s): super().__init__(); s.l=mk()
            def forward(s,x,w): return s.l[w](x)
        m=DDP(N(),find_unused_parameters=True); r=DDP(N(),find_unused_parameters=True); st=Step(A(m.parameters()),sync=sync); ro=A(r.parameters())
        for i,b in enumerate(batches(rank)):
            w=(i//2 if i<4 else rank)%2
            with st: st.backward(nn.functional.mse_loss(m(b[0],w),b[1]))
            ro.zero_grad(); nn.functional.mse_loss(r(b[0],w),b[1]).backward(); ro.step()
        return diff(r.parameters(),m.parameters(),1e-12)
    ranked(f"ddp find_unused, ranks use other params, AdamW as by hand {sync}",unused)
    def cl(rank):
        X=torch.randn(4,3,4,4,generator=torch.Generator().manual_seed(rank))
        def mk(): torch.manual_seed(0); return nn.Sequential(nn.Conv2d(3,4,3),nn.Flatten(),nn.Linear(16,2)).to(memory_format=torch.channels_last)
        m,r=DDP(mk()),DDP(mk()); O=lambda p:torch.optim.AdamW(p,lr=.01,fused=True); st=Step(O(m.parameters()),sync=sync,clip=.5); ro=O(r.parameters())
        for _ in range(4):
            with st: st.backward(m(X).square().mean())
            ro.zero_grad(); r(X).square().mean().backward(); nn.utils.clip_grad_norm_(r.parameters(),.5); ro.step()
        return diff(r.parameters(),m.parameters(),1e-5)
    ranked(f"ddp channels_last fused {sync}",cl)
    def bn(rank):
        def mk(): torch.manual_seed(0); return nn.Sequential(nn.Linear(5,7),nn.BatchNorm1d(7),nn.Linear(7,3)).double()
        m,r=DDP(mk()),DDP(mk()); st=Step(A(m.parameters()),sync=sync); ro=A(r.parameters()); g=torch.Generator().manual_seed(rank)
        for i in range(5):
            b=(torch.randn(6,5,generator=g,dtype=F),torch.randn(6,3,generator=g,dtype=F))
            with st: st.backward(mse(m,b))
            ro.zero_grad(); mse(r,b).backward(); ro.step()
        return (lambda a,b: a and 'params '+a or b and 'buffers '+b)(diff(r.parameters(),m.parameters(),1e-12),rank==0 and diff(r.buffers(),m.buffers(),1e-12))
    ranked(f"ddp batchnorm buffers {sync}",bn)
done()

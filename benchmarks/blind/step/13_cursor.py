from common import *
import random, tempfile
from zerograd import Cursor, Checkpoints
from torch.utils.data import *
class Sub(DataLoader):
    def __iter__(s):
        for b in super().__iter__(): yield [x*2 for x in b]
class It(IterableDataset):
    def __iter__(s):
        wi=get_worker_info(); w,n=(wi.id,wi.num_workers) if wi else (0,1)
        return iter(torch.arange(w,37,n).float())
class Aug(Dataset):
    def __len__(s): return 23
    def __getitem__(s,i): return torch.tensor([float(i)])+torch.rand(1)*0
class Shuf(Sampler):
    def __init__(s,n): s.n=n; s.g=torch.Generator().manual_seed(5)
    def __len__(s): return s.n
    def __iter__(s): return iter(torch.randperm(s.n,generator=s.g).tolist())
class EpochSampler(Sampler):
    def __init__(s,n): s.n=n; s.e=0
    def set_epoch(s,e): s.e=e
    def __len__(s): return s.n
    def __iter__(s): return iter(torch.randperm(s.n,generator=torch.Generator().manual_seed(s.e)).tolist())
class BS(Sampler):
    def __init__(s): pass
    def __iter__(s): return iter([[0,1],[2],[3,4,5],[6,7,8,9],[10]])
    def __len__(s): return 5
T=TensorDataset(torch.arange(23.))
mk={
 "plain":lambda:DataLoader(T,3),"drop_last":lambda:DataLoader(T,3,drop_last=True),
 "shuffle":lambda:DataLoader(T,3,shuffle=True),"shuffle gen":lambda:DataLoader(T,3,shuffle=True,generator=torch.Generator().manual_seed(4)),
 "workers2":lambda:DataLoader(T,3,shuffle=True,num_workers=2),"persistent":lambda:DataLoader(T,3,shuffle=True,num_workers=2,persistent_workers=True),
 "weighted":lambda:DataLoader(T,3,sampler=WeightedRandomSampler(torch.rand(23,generator=torch.Generator().manual_seed(0)),20)),
 "weighted gen":lambda:DataLoader(T,3,sampler=WeightedRandomSampler(torch.ones(23),20,generator=torch.Generator().manual_seed(0))),
 "subset":lambda:DataLoader(T,3,sampler=SubsetRandomSampler(range(5,19))),
 "random replacement":lambda:DataLoader(T,3,sampler=RandomSampler(T,replacement=True,num_samples=30)),
 "own sampler w generator":lambda:DataLoader(T,3,sampler=Shuf(23)),"epoch sampler":lambda:DataLoader(T,3,sampler=EpochSampler(23)),
 "batch sampler":lambda:DataLoader(T,batch_sampler=BS()),"batch sampler wrapping":lambda:DataLoader(T,batch_sampler=BatchSampler(Shuf(23),4,False)),
 "distributed":lambda:DataLoader(T,3,sampler=DistributedSampler(T,2,1,shuffle=True)),
 "iterable":lambda:DataLoader(It(),4),"iterable workers":lambda:DataLoader(It(),4,num_workers=2),"subclass":lambda:Sub(T,3,shuffle=True),"no batch":lambda:DataLoader(T,batch_size=None,shuffle=True),
 "custom dataset":lambda:DataLoader(Aug(),4,shuffle=True),"in_order False":lambda:DataLoader(T,3,shuffle=True,num_workers=0),
 "concat":lambda:DataLoader(ConcatDataset([T,T]),5,shuffle=True),"collate":lambda:DataLoader(T,3,collate_fn=lambda xs:[torch.stack([x[0] for x in xs])],shuffle=True),
}
def flat(b): return (b[0] if isinstance(b,(list,tuple)) else b).flatten().tolist()
import warnings
for name,f in mk.items():
    for draws in (False,True):
        if draws and "work" in name: continue
        @exp(f"cursor {name} resume at every position, model draws={draws}")
        def _():
            def run(epochs=3):
                torch.manual_seed(7); random.seed(7); c=Cursor(f()); out=[]; states=[]
                for e in range(epochs):
                    for b in c:
                        out.append(flat(b)); 
                        if draws: torch.rand(3)
                        states.append((copy.deepcopy(c.state_dict()),torch.get_rng_state().clone()))
                return out,states
            out,states=run()
            torch.manual_seed(7); random.seed(7); ref=[]; L=f(); 
            for e in range(3):
                if hasattr(getattr(L,"sampler",None),"set_epoch"): L.sampler.set_epoch(e)
                for b in L:
                    ref.append(flat(b))
                    if draws: torch.rand(3)
            if ref!=out: return f"Cursor differs from the loader itself: {ref[:3]} {out[:3]}"
            pos=[0,1,len(states)//3-1,len(states)//3,len(states)//2] if "work" in name else range(0,len(states),2)
            for k in pos:
                s,rng=states[k]
                torch.manual_seed(99); c=Cursor(f()); c.load_state_dict(copy.deepcopy(s)); torch.set_rng_state(rng); rest=[]
                n=0
                while c.epoch<3 and n<6:
                    n+=1
                    for b in c:
                        rest.append(flat(b))
                        if draws: torch.rand(3)
                if rest!=out[k+1:]:
                    j=next((i for i,(x,y) in enumerate(zip(rest,out[k+1:])) if x!=y),min(len(rest),len(out)-k-1))
                    return f"after {k+1} batches: item {j} is {rest[j:j+1]} not {out[k+1+j:k+2+j]} ({len(rest)} of {len(out)-k-1})"
def full(groupn,kill,nw=0,shuffle=True,save_inside=True):
    @exp(f"cursor+Checkpoints group {groupn} cut after micro-batch {kill} workers {nw} inside={save_inside}: same weights as uninterrupted")
    def _():
        d=tempfile.mkdtemp(); X=TensorDataset(torch.randn(26,5,generator=torch.Generator().manual_seed(0),dtype=torch.float64))
        def mkrun():
            m=nn.Sequential(nn.Linear(5,6),nn.Dropout(.3),nn.Linear(6,1)).double(); st=Step(torch.optim.AdamW(m.parameters(),lr=.01)); c=Cursor(DataLoader(X,4,shuffle=shuffle,num_workers=nw)); return m,st,c,Checkpoints(d,st,model=m,loader=c)
        class Cut(Exception): pass
        def go(r,cut):
            m,st,c,ck=r; n=0
            while c.epoch<2:
                for g in groups(c,groupn,begun=st.in_flight):
                    with st:
                        for (b,) in st.micro_batches(g,weight=lambda b:len(b[0])):
                            st.backward(m(b).square().mean()); n+=1
                            if n==cut and save_inside: ck.save(); raise Cut
                    if cut and n>=cut: ck.save(); raise Cut
        torch.manual_seed(1); a=mkrun(); go(a,None); a[3].close()
        torch.manual_seed(1); b=mkrun()
        try: go(b,kill); return "not cut"
        except Cut: pass
        b[3].close(); torch.manual_seed(55); e=mkrun(); 
        if not e[3].resume(): return "no resume"
        go(e,None); e[3].close()
        return diff(a[0].parameters(),e[0].parameters()) or (None if a[1].committed==e[1].committed else f"committed {a[1].committed} {e[1].committed}")
for gn in (1,2,3,5):
    for kill in (1,2,5,7,8,11): full(gn,kill,save_inside=kill%2==0 or gn==3)
full(3,5,2); full(3,7,2); full(4,7,2,save_inside=False)
done()

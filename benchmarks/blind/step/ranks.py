from common import *
import torch.distributed as dist, tempfile, datetime, time, pickle, signal, select
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.fsdp import fully_shard
F=torch.float64
def ranked(name,fn,n=2,timeout=45,pgt=8):
    """fork n children; fn(rank) -> None or message; each prints. a rank that hangs is a FAIL"""
    @exp(name)
    def _():
        store=tempfile.mktemp(prefix="t1store"); kids=[]
        for r in range(n):
            rd,wr=os.pipe(); pid=os.fork()
            if pid==0:
                os.close(rd)
                if not os.environ.get("TB"): os.dup2(os.open(os.devnull,os.O_WRONLY),2)
                try:
                    dist.init_process_group("gloo",init_method="file://"+store,rank=r,world_size=n,timeout=datetime.timedelta(seconds=pgt))
                    res=fn(r)
                except BaseException as e:
                    if os.environ.get("TB"): traceback.print_exc()
                    res=f"raised {type(e).__name__}: {str(e)[:300]}"
                os.write(wr,(res or "").encode()[:3000]); os._exit(0)
            os.close(wr); kids.append((pid,rd))
        out=[]; t=time.time()
        for r,(pid,rd) in enumerate(kids):
            left=max(.1,timeout-(time.time()-t))
            if select.select([rd],[],[],left)[0]: out.append(os.read(rd,4000).decode())
            else: out.append("HANGS"); os.kill(pid,signal.SIGKILL)
            os.waitpid(pid,0)
            os.close(rd)
        msg="; ".join(f"rank {i}: {o}" for i,o in enumerate(out) if o)
        return msg or None
def batches(rank,n=6,sizes=None):
    g=torch.Generator().manual_seed(100+rank)
    sizes=sizes or [1+(k+rank)%4 for k in range(n)]
    return [(torch.randn(s,5,generator=g,dtype=F),torch.randn(s,3,generator=g,dtype=F)) for s in sizes]
def cat(bs): return torch.cat([b[0] for b in bs]),torch.cat([b[1] for b in bs])
A=lambda p:torch.optim.AdamW(p,lr=.01); S=lambda p:torch.optim.SGD(p,lr=.1,momentum=.9)
W=lambda b:len(b[0])

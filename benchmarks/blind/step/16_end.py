from ranks import *
from zerograd import Checkpoints
import pathlib
def bb(rank):
    class B(nn.Module):
        def __init__(s): super().__init__(); s.l=nn.Linear(5,3,dtype=F); s.register_buffer("c",torch.zeros(5,dtype=F))
        def forward(s,x):
            y=s.l(x-s.c)
            with torch.no_grad(): s.c.mul_(.5).add_(x.mean(0),alpha=.5)
            return y
    torch.manual_seed(0); m=DDP(B(),broadcast_buffers=False); torch.manual_seed(0); r=DDP(B(),broadcast_buffers=False); st=Step(S(m.parameters())); ro=S(r.parameters())
    for b in batches(rank,sizes=[4]*4):
        with st: st.backward(mse(m,b))
        ro.zero_grad(); mse(r,b).backward(); ro.step()
    return diff(r.parameters(),m.parameters(),1e-12) or diff(r.buffers(),m.buffers(),1e-12)
ranked("ddp broadcast_buffers=False: each rank's own buffers stay",bb)
def ab(rank):
    torch.manual_seed(0); net=nn.Sequential(nn.Linear(5,7),nn.BatchNorm1d(7),nn.Linear(7,3)).double(); m=DDP(net); st=Step(A(m.parameters()),model=m,restore="buffers")
    bs=batches(rank,sizes=[4]*4)
    with st: st.backward(mse(m,bs[0]))
    snap=[b.clone() for b in m.buffers()]
    try:
        with st:
            st.backward(mse(m,bs[1]))
            if rank==1: raise OSError
    except (OSError,zerograd.PeerFailed): pass
    return diff(snap,m.buffers())
ranked("ddp restore=buffers after a failure of one rank",ab)
@exp("a file the user put into a checkpoint folder: kept somewhere after keep= removes the checkpoint")
def _():
    d=tempfile.mkdtemp(); m=mlp(F); st=Step(A(m.parameters())); ck=Checkpoints(d,st,model=m,keep=1); p=pathlib.Path(ck.save()); (p/"notes.txt").write_text("mine")
    for _ in range(3): ck.save()
    found=[str(f) for f in pathlib.Path(d).rglob("notes.txt")]
    print("   found",found)
D=data(6,dtype=F)
@exp("symlinked checkpoint with keep: link itself or files")
def _():
    import shutil
    d=pathlib.Path(tempfile.mkdtemp()); e=pathlib.Path(tempfile.mkdtemp()); m=mlp(F); st=Step(A(m.parameters())); ck=Checkpoints(str(d),st,model=m,keep=2); p=pathlib.Path(ck.save()); t=e/"archive-of-1"; shutil.copytree(p,t); shutil.rmtree(p); os.symlink(t,p)
    ck.save(); ck.save(); ck.save()
    return None if (t/"manifest.json").exists() else f"archive emptied: {os.listdir(t)}; folder {os.listdir(d)}"
done()

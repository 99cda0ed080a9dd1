from common import *
from torch.utils.data import *
import random
O = torch.optim
import tempfile, shutil, atexit
TMP = tempfile.mkdtemp(prefix="tmp_cu_"); atexit.register(lambda: shutil.rmtree(TMP, ignore_errors=True))
def ds(n=20): return TensorDataset(torch.arange(n))
def take(c, epochs, limit=None, on=None):
    out = []
    while c.epoch < epochs:
        for b in c:
            out.append(b[0].tolist() if isinstance(b, (list, tuple)) else b.tolist())
            if on: on(len(out), c)
            if limit and len(out) == limit: return out
    return out
class Count(Dataset):
    def __init__(s, n=20): s.n, s.read = n, []
    def __len__(s): return s.n
    def __getitem__(s, i): s.read.append(i); return torch.tensor(i)
class It(IterableDataset):
    def __iter__(s): return iter(torch.arange(17))
class ItShuf(IterableDataset):
    def __iter__(s): return iter(torch.randperm(17))
class PySamp(Sampler):
    def __init__(s, n): s.n = n
    def __len__(s): return s.n
    def __iter__(s): l = list(range(s.n)); random.shuffle(l); return iter(l)
class OwnGen(Sampler):
    def __init__(s, n): s.n, s.g = n, torch.Generator().manual_seed(4)
    def __len__(s): return s.n
    def __iter__(s): return iter(torch.randperm(s.n, generator=s.g).tolist())
class RandDs(Dataset):
    def __init__(s): s.g = torch.Generator().manual_seed(9)
    def __len__(s): return 12
    def __getitem__(s, i): return torch.randint(1000, (), generator=s.g)
class GlobalDs(Dataset):
    def __init__(s, k): s.k = k
    def __len__(s): return 12
    def __getitem__(s, i):
        import numpy as np
        return torch.randint(1000, ()) if s.k == "torch" else torch.tensor(random.randrange(1000)) if s.k == "py" else torch.tensor(np.random.randint(1000))
class EpochSamp(Sampler):
    def __init__(s, n): s.n, s.e = n, 0
    def set_epoch(s, e): s.e = e
    def __len__(s): return s.n
    def __iter__(s): return iter(torch.randperm(s.n, generator=torch.Generator().manual_seed(s.e)).tolist())
class Bucket(BatchSampler):
    def __init__(s, n): s.n = n
    def __len__(s): return 5
    def __iter__(s):
        p = torch.randperm(s.n).tolist(); k = [1, 3, 5, 4, 7]; i = 0
        for q in k: yield p[i:i + q]; i += q
MK = dict(
 seq=lambda: DataLoader(ds(), batch_size=3), shuffle=lambda: DataLoader(ds(), batch_size=3, shuffle=True), drop_last=lambda: DataLoader(ds(), batch_size=3, shuffle=True, drop_last=True), gen=lambda: DataLoader(ds(), batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(3)), workers=lambda: DataLoader(ds(), batch_size=3, shuffle=True, num_workers=1), iterable=lambda: DataLoader(It(), batch_size=3), iter_shuffled=lambda: DataLoader(ItShuf(), batch_size=3), weighted=lambda: DataLoader(ds(), batch_size=3, sampler=WeightedRandomSampler(torch.ones(20), 20)), replacement=lambda: DataLoader(ds(), batch_size=3, sampler=RandomSampler(ds(), replacement=True)), pysampler=lambda: DataLoader(ds(), batch_size=3, sampler=PySamp(20)), owngen=lambda: DataLoader(ds(), batch_size=3, sampler=OwnGen(20)), dsgen=lambda: DataLoader(RandDs(), batch_size=3), epochsamp=lambda: DataLoader(ds(), batch_size=3, sampler=EpochSamp(20)), bucket=lambda: DataLoader(ds(), batch_sampler=Bucket(20)), nobatch=lambda: DataLoader(TensorDataset(torch.arange(7).view(7, 1)), batch_size=None, shuffle=True), subset=lambda: DataLoader(ds(), batch_size=4, sampler=SubsetRandomSampler(range(3, 17))), concat=lambda: DataLoader(ConcatDataset([ds(5), ds(9)]), batch_size=4, shuffle=True), persistent=lambda: DataLoader(ds(), batch_size=3, shuffle=True, num_workers=1, persistent_workers=True), dist=lambda: DataLoader(ds(), batch_size=3, sampler=torch.utils.data.distributed.DistributedSampler(ds(), 2, 1)))
MK.update({f"global_{k}_{sh}": (lambda k=k, sh=sh: DataLoader(GlobalDs(k), batch_size=3, shuffle=sh)) for k in ("torch", "py", "np") for sh in (False, True)})
class Tf:
    def __init__(s): s.rng = random.Random(5)
    def __call__(s, x): return x * 1000 + s.rng.randrange(1000)
class Trans(Dataset):
    def __init__(s): s.transform = Tf()
    def __len__(s): return 12
    def __getitem__(s, i): return s.transform(torch.tensor(i))
MK["transform_holds_python_random"] = lambda: DataLoader(Trans(), batch_size=3, shuffle=True)
import numpy
def rng(): torch.manual_seed(1); random.seed(1); numpy.random.seed(1)
for nm, mk in MK.items():
    @exp("cursor_same_as_loader_" + nm)
    def _(nm=nm, mk=mk):
        rng(); l = mk(); ref = []
        for e in range(3):
            if hasattr(l.sampler, "set_epoch"): l.sampler.set_epoch(e)
            for b in l: ref.append(b[0].tolist() if isinstance(b, (list, tuple)) else b.tolist())
        rng(); c = Cursor(mk()); got = take(c, 3); assert got == ref, (got[:4], ref[:4]); assert c.epoch == 3
    @exp("cursor_resume_every_batch_" + nm)
    def _(nm=nm, mk=mk):
        rng(); ref = take(Cursor(mk()), 2)
        pts = range(1, len(ref)) if nm not in ("workers", "persistent") else (3, 7, 9)
        for k in pts:
            m = mlp(); s = Step(O.SGD(m.parameters(), lr=.1)); rng(); c = Cursor(mk()); d = f"{TMP}/{nm}{k}"; ck = Checkpoints(d, s, model=m, loader=c); got = take(c, 2, k); ck.save(); ck.close()
            c2 = Cursor(mk()); torch.manual_seed(77); random.seed(5); ck = Checkpoints(d, s, model=m, loader=c2); ck.resume(); ck.close(); got += take(c2, 2)
            assert got == ref, f"at {k}: {got[k-1:k+3]} vs {ref[k-1:k+3]}, {len(got)} of {len(ref)}"

@exp("skipped_items_not_read")
def _():
    d = Count(); c = Cursor(DataLoader(d, batch_size=2)); take(c, 1, 5); st = c.state_dict(); d2 = Count(); c2 = Cursor(DataLoader(d2, batch_size=2)); c2.load_state_dict(st); got = take(c2, 1); assert got == [[10, 11], [12, 13], [14, 15], [16, 17], [18, 19]], got; assert min(d2.read) >= 10, d2.read
@exp("len_and_attrs")
def _():
    c = Cursor(DataLoader(ds(), batch_size=3)); print("    len", len(c) if hasattr(c, "__len__") else None)
@exp("break_then_iterate_again")
def _():
    # plain: for over a loader after a break starts a new epoch; Cursor: documented 'goes on with the next'? only that `for batch in Cursor(loader)` is `for batch in loader`
    c = Cursor(DataLoader(ds(), batch_size=5)); a = take(c, 1, 2); b = take(c, 1); print("    after a break:", b[0], "epoch", c.epoch)
@exp("bad_states")
def _():
    for st in ({}, None, {"x": 1}, "x"):
        c = Cursor(DataLoader(ds(), batch_size=5))
        try: c.load_state_dict(st)
        except ZerogradError as e: continue
        except Exception as e: raise AssertionError(f"{st}: raw {type(e).__name__}: {e}")
        raise AssertionError(f"accepted {st}")
@exp("other_length_dataset")
def _():
    c = Cursor(DataLoader(ds(20), batch_size=5)); take(c, 1, 3); st = c.state_dict(); c2 = Cursor(DataLoader(ds(10), batch_size=5))
    try: c2.load_state_dict(st); print("    shorter dataset:", take(c2, 1), c2.epoch)
    except ZerogradError as e: print("    refused", str(e)[:90])
@exp("cursor_exception_in_dataset_then_go_on")
def _():
    class D(Count):
        bad = True
        def __getitem__(s, i):
            if i == 7 and s.bad: s.bad = False; raise OSError("read")
            return super().__getitem__(i)
    c = Cursor(DataLoader(D(), batch_size=3)); got = []
    try:
        for b in c: got.append(b.tolist())
    except OSError: pass
    assert got == [[0, 1, 2], [3, 4, 5]]; st = c.state_dict(); c2 = Cursor(DataLoader(Count(), batch_size=3)); c2.load_state_dict(st); assert take(c2, 1)[0] == [6, 7, 8]
done()

from common import *
import tempfile, shutil, atexit, itertools
from torch.utils.data import DataLoader, TensorDataset
O = torch.optim
TMP = tempfile.mkdtemp(prefix="tmp_ro_"); atexit.register(lambda: shutil.rmtree(TMP, ignore_errors=True)); N = [0]
def loss_of(m, x): return m(x).square().mean()
class Stop(Exception): pass
class Boom(Exception): pass
DATA = TensorDataset(torch.randn(20, 4, generator=torch.Generator().manual_seed(2)))
def world(seed=0, **kw):
    torch.manual_seed(seed); m = mlp(seed); o = O.AdamW(m.parameters(), lr=.05); s = Step(o, **kw); return m, o, s, Cursor(DataLoader(DATA, batch_size=3, shuffle=True))
W = dict(weight=lambda b: len(b[0]))
def plain(m, o, s, c, hook):
    for g in groups(c, 4, begun=s.in_flight):
        with s:
            for b in s.micro_batches(g, **W): s.backward(loss_of(m, b[0])); hook()
def enum(m, o, s, c, hook):
    for g in groups(enumerate(c), 4, begun=s.in_flight):
        with s:
            for i, b in s.micro_batches(g, weight=lambda t: len(t[1][0])): s.backward(loss_of(m, b[0])); hook()
def mapped(m, o, s, c, hook):
    for g in groups((b[0] * 1 for b in c), 4, begun=s.in_flight):
        with s:
            for x in s.micro_batches((x + 0 for x in g), weight=len): s.backward(loss_of(m, x)); hook()
def lazy(m, o, s, c, hook):
    it = iter(c)
    while True:
        first = list(itertools.islice(it, 1))
        if not first: return
        with s:
            for b in s.micro_batches(itertools.chain(first, itertools.islice(it, 3 - s_inflight(s))), **W): s.backward(loss_of(m, b[0])); hook()
def s_inflight(s): return 0
def some_fail(m, o, s, c, hook):
    for k, g in enumerate(groups(c, 4, begun=s.in_flight)):
        with s:
            for b in s.micro_batches(g, **W): s.backward(loss_of(m, b[0]) * (float("nan") if b[0].sum() > 4 else 1)); hook()
def splitted(m, o, s, c, hook):
    def fn(x):
        if len(x) > 2: raise torch.OutOfMemoryError("x")
        return loss_of(m, x)
    for g in groups(c, 4, begun=s.in_flight):
        with s:
            for b in s.micro_batches(g, **W): s.split(b[0], fn); hook()
def two_loss(m, o, s, c, hook):
    for g in groups(c, 4, begun=s.in_flight):
        with s:
            for b in s.micro_batches(g, **W): y = m(b[0]); s.backward(y.square().mean(), retain_graph=True); s.backward(y.mean()); hook()
def unweighted(m, o, s, c, hook):
    for g in groups(c, 4, begun=s.in_flight):
        with s:
            for b in s.micro_batches(g): s.backward(loss_of(m, b[0])); hook()
def summed(m, o, s, c, hook):
    for g in groups(c, 4, begun=s.in_flight):
        with s:
            for b in s.micro_batches(g, reduce="sum"): s.backward(loss_of(m, b[0])); hook()
def go(w, f, hook, epochs=2):
    while w[3].epoch < epochs: f(*w, hook)
for fn in (plain, enum, mapped, some_fail, splitted, two_loss, unweighted, summed):
    for kn, kw in dict(none={}, flat=dict(grads="flat"), scaler=dict(sc=1), clip=dict(clip=.1)).items():
        if kn != "none" and fn not in (plain, splitted, some_fail): continue
        @exp(f"inside_save_{fn.__name__}_{kn}")
        def _(fn=fn, kw=kw):
            mk = lambda seed=0: world(seed, **({"scaler": torch.amp.GradScaler("cpu", init_scale=64., growth_interval=2)} if "sc" in kw else kw))
            w = mk(); cnt = [0]
            def c0(): cnt[0] += 1
            go(w, fn, c0); total = cnt[0]
            for k in range(1, total, 2):
                N[0] += 1; d = f"{TMP}/{N[0]}"; w1 = mk(); ck = Checkpoints(d, w1[2], model=w1[0], loader=w1[3]); n = [0]
                def hook():
                    n[0] += 1
                    if n[0] == k: ck.save(); raise Stop
                try: go(w1, fn, hook)
                except Stop: pass
                except CheckpointError as e:
                    ck.close(); print("    refused at", k, str(e)[:140].replace("\n", " ")); return
                ck.close(); w2 = mk(7); torch.manual_seed(55); ck = Checkpoints(d, w2[2], model=w2[0], loader=w2[3]); ck.resume(); ck.close(); m = [0]
                def c2(): m[0] += 1
                go(w2, fn, c2); assert n[0] + m[0] == total, f"at {k}: {n[0]}+{m[0]} micro-batches instead of {total}"; same(w[0], w2[0], f"at {k}: weights")
@exp("save_goes_on_in_same_process")
def _():
    w = world(); go(w, plain, lambda: None); w1 = world(); ck = Checkpoints(TMP + "/same", w1[2], model=w1[0], loader=w1[3], keep=2); go(w1, plain, lambda: ck.save()); ck.close(); same(w[0], w1[0])
@exp("save_inside_then_rollback_then_resume")
def _():
    # saved inside a block that then fails: resume gives the deposits back
    w = world(); go(w, plain, lambda: None); w1 = world(); ck = Checkpoints(TMP + "/rb", w1[2], model=w1[0], loader=w1[3]); n = [0]
    def hook():
        n[0] += 1
        if n[0] == 2: ck.save()
        if n[0] == 3: raise Boom
    try: go(w1, plain, hook)
    except Boom: pass
    assert ck.resume(); assert w1[2].in_flight == 2; ck.close(); go(w1, plain, lambda: None); same(w[0], w1[0])
@exp("join_save_inside")
def _():
    def mk(): torch.manual_seed(0); a, b = mlp(0), mlp(1); return a, b, Step(O.AdamW(a.parameters(), lr=.05)), Step(O.SGD(b.parameters(), lr=.1)), Cursor(DataLoader(DATA, batch_size=3))
    def run(W, hook):
        a, b, sa, sb, c = W
        for g in groups(c, 4, begun=sa.in_flight):
            with join(sa, sb) as both:
                for x in both.micro_batches(g, weight=lambda t: len(t[0])): sa.backward(loss_of(a, x[0])); sb.backward(loss_of(b, x[0])); hook()
    w = mk(); run(w, lambda: None)
    for k in (1, 2, 3, 5, 6):
        w1 = mk(); ck = Checkpoints(f"{TMP}/j{k}", [w1[2], w1[3]], model=nn.ModuleList(w1[:2]), loader=w1[4]); n = [0]
        def hook():
            n[0] += 1
            if n[0] == k: ck.save(); raise Stop
        try: run(w1, hook)
        except Stop: pass
        except CheckpointError as e: print("    refused:", str(e)[:120].replace("\n", " ")); ck.close(); return
        ck.close(); w2 = mk(); ck = Checkpoints(f"{TMP}/j{k}", [w2[2], w2[3]], model=nn.ModuleList(w2[:2]), loader=w2[4]); ck.resume(); ck.close(); run(w2, lambda: None); same(w[0], w2[0]); same(w[1], w2[1])
@exp("dataset_generator_kept")
def _():
    # scale.md: Cursor "keeps the generators that loader, samplers and dataset hold"
    class Noisy(torch.utils.data.Dataset):
        def __init__(s): s.generator = torch.Generator().manual_seed(9)
        def __len__(s): return 12
        def __getitem__(s, i): return i + torch.rand((), generator=s.generator)
    mk = lambda: Cursor(DataLoader(Noisy(), batch_size=3)); m = mlp(); s = Step(O.SGD(m.parameters(), lr=.1)); whole = list(mk())
    c = mk(); ck = Checkpoints(TMP + "/gen", s, model=m, loader=c); got = []
    for b in c:
        got.append(b)
        if len(got) == 2: ck.save(); break
    ck.close(); c = mk(); ck = Checkpoints(TMP + "/gen", s, model=m, loader=c); assert ck.resume(); ck.close(); got += list(c)
    assert all(torch.equal(a, b) for a, b in zip(got, whole)), "the dataset's generator is put back to the beginning of the epoch: the noise of the first batches is drawn again for later items"
for nm, wr in dict(list=lambda g: g, zip=lambda g: zip(g, g), enumerate=enumerate, generator=lambda g: (b for b in g), map=lambda g: map(lambda b: b, g), iter=iter).items():
    @exp("inside_save_micro_batches_of_" + nm)
    def _(nm=nm, wr=wr):
        D = TensorDataset(torch.randn(12, 4, generator=torch.Generator().manual_seed(2))); d = TMP + "/wr" + nm
        def mk(): m = mlp(); s = Step(O.SGD(m.parameters(), lr=.1)); return m, s, Cursor(DataLoader(D, batch_size=1))
        def run(m, s, c, ck=None):
            n = 0
            for g in groups(c, 4, begun=s.in_flight):
                with s:
                    for b in s.micro_batches(wr(g)):
                        while not torch.is_tensor(b): b = b[-1]
                        s.backward(loss_of(m, b)); n += 1
                        if ck and n == 5: ck.save(); raise Stop
            return n
        w = mk(); run(*w); w1 = mk(); ck = Checkpoints(d, w1[1], model=w1[0], loader=w1[2])
        try: run(*w1, ck)
        except Stop: pass
        except CheckpointError as e: print("    refused", str(e)[:100]); return
        finally: ck.close()
        w2 = mk(); ck = Checkpoints(d, w2[1], model=w2[0], loader=w2[2]); ck.resume(); ck.close(); n = run(*w2)
        assert n == 7, f"5 micro-batches before, {n} after, of 12: the rest of the group is silently left out (scale.md: goes on with the next micro-batch)"; same(w[0], w2[0])
@exp("inside_save_chunks_of_one_batch")
def _():
    D = TensorDataset(torch.arange(24.).view(24, 1).repeat(1, 4)); d = TMP + "/chunks"
    def mk(): m = mlp(); s = Step(O.SGD(m.parameters(), lr=.001)); return m, s, Cursor(DataLoader(D, batch_size=4))
    def run(m, s, c, ck=None):
        seen = []
        for (x,) in c:
            with s:
                for part in s.micro_batches(list(x.split(1))):
                    seen.append(int(part[0, 0])); s.backward(loss_of(m, part))
                    if ck and len(seen) == 14: ck.save(); return seen
        return seen
    w1 = mk(); ck = Checkpoints(d, w1[1], model=w1[0], loader=w1[2])
    try: a = run(*w1, ck)
    except CheckpointError as e: print("    refused", str(e)[:100]); return
    except StepError: a = list(range(14))
    finally: ck.close()
    w2 = mk(); ck = Checkpoints(d, w2[1], model=w2[0], loader=w2[2]); ck.resume(); ck.close(); f = w2[1].in_flight
    try: b = run(*w2)
    except StepError as e: print("    refused after resume", str(e)[:100]); return
    print("    before", a[-3:], "in_flight", f, "after", b)
    assert a + b == list(range(24)) or b[:2] == [12, 13], "items are handed out twice or left out, without a word"
for nm in ("weight0", "continue_without_backward", "two_loops_in_block"):
    @exp("inside_save_" + nm)
    def _(nm=nm):
        D = TensorDataset(torch.randn(12, 4, generator=torch.Generator().manual_seed(2)), torch.arange(12))
        def mk(): m = mlp(); s = Step(O.SGD(m.parameters(), lr=.1)); return m, s, Cursor(DataLoader(D, batch_size=1))
        def run(m, s, c, ck=None, stop=None):
            n = []
            for g in groups(c, 4, begun=s.in_flight):
                with s:
                    loops = [g] if nm != "two_loops_in_block" else [g[:len(g) // 2], g[len(g) // 2:]]
                    for part in loops:
                        for b, i in s.micro_batches(part, weight=(lambda t: 0 if int(t[1]) in (1, 5, 6) else 1) if nm == "weight0" else None):
                            n.append(int(i))
                            if nm.startswith("continue") and int(i) in (1, 5, 6): continue
                            s.backward(loss_of(m, b))
                            if ck and int(i) == stop: ck.save(); raise Stop
            return n
        w = mk()
        try: run(*w)
        except StepError as e: print("    refused whole", str(e)[:100]); return
        for stop in (0, 2, 3, 4, 7, 8, 11):
            w1 = mk(); d = f"{TMP}/{nm}{stop}"; ck = Checkpoints(d, w1[1], model=w1[0], loader=w1[2]); 
            try: run(*w1, ck, stop)
            except Stop: pass
            except CheckpointError as e: print("    refused", str(e)[:100]); return
            finally: ck.close()
            w2 = mk(); ck = Checkpoints(d, w2[1], model=w2[0], loader=w2[2]); ck.resume(); ck.close(); n = run(*w2) if w2[2].epoch == 0 else []
            want = [i for i in range(stop + 1, 12)]
            got = [i for i in n]
            if nm == "weight0": pass
            assert set(want) - {1, 5, 6} == set(got) - {1, 5, 6} and len(set(got)) == len(got), f"stop {stop}: went on with {got}, wanted {want}"
            same(w[0], w2[0], f"stop {stop}: weights")
done()

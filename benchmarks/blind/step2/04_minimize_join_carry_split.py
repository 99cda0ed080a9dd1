from common import *
O = torch.optim
def X(n=4, d=4, seed=3): return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))
x0 = X()
def loss_of(m, x): return m(x).square().mean()
class Boom(Exception): pass
# ---- LBFGS
for kw in (dict(lr=.5), dict(lr=1, max_iter=7, history_size=3, line_search_fn="strong_wolfe"), dict(lr=.1, max_iter=1)):
    @exp(f"lbfgs_{kw.get('line_search_fn','plain')}_{kw.get('max_iter',20)}")
    def _(kw=kw):
        a, b = mlp(), mlp(); oa, ob = [O.LBFGS(m.parameters(), **kw) for m in (a, b)]; s = Step(ob)
        for i in range(4):
            x = X(seed=i)
            def clo(): oa.zero_grad(); l = loss_of(a, x); l.backward(); return l
            la = oa.step(clo); lb = s.minimize(lambda st: st.backward(loss_of(b, x)))
            same(a, b); assert float(la) == float(lb), (la, lb)
            assert s.outcome.kind.value == "committed"
@exp("lbfgs_micro_batches_exact")
def _():
    a, b = mlp(dtype=torch.float64), mlp(dtype=torch.float64); oa, ob = [O.LBFGS(m.parameters(), lr=.5, max_iter=5) for m in (a, b)]; s = Step(ob); xs = [X(n, seed=n).double() for n in (3, 5, 1)]
    for _ in range(3):
        def clo(): oa.zero_grad(); l = loss_of(a, torch.cat(xs)); l.backward(); return l
        la = oa.step(clo)
        def fn(st):
            for x in st.micro_batches(xs, weight=len): st.backward(loss_of(b, x))
        lb = s.minimize(fn); close(a, b, 1e-9); assert abs(float(la) - float(lb)) < 1e-12, (float(la), lb)
@exp("lbfgs_under_with_refused")
def _():
    m = mlp(); s = Step(O.LBFGS(m.parameters())); sn = snap(m)
    def f():
        with s: s.backward(loss_of(m, x0))
    raises(StepError, f, "closures"); unmoved(m, sn)
@exp("lbfgs_nan_taken_back")
def _():
    m = mlp(); o = O.LBFGS(m.parameters(), lr=.5); s = Step(o); s.minimize(lambda st: st.backward(loss_of(m, x0))); sn = snap(m); so = repr(o.state_dict())
    n = [0]
    def fn(st): n[0] += 1; st.backward(loss_of(m, x0) * (float("nan") if n[0] == 3 else 1))
    try: s.minimize(fn)
    except ZerogradError as e: print("   ", e)
    assert s.outcome.kind.value == "skipped", s.outcome; unmoved(m, sn); assert repr(o.state_dict()) == so
    s.minimize(lambda st: st.backward(loss_of(m, x0))); assert s.outcome.moved
@exp("lbfgs_exception_taken_back")
def _():
    m = mlp(); o = O.LBFGS(m.parameters(), lr=.5); c = O.lr_scheduler.StepLR(o, 1); s = Step(o, scheduler=c); s.minimize(lambda st: st.backward(loss_of(m, x0))); sn = snap(m); so = repr(o.state_dict()); n = [0]; rm = mlp(); rm.load_state_dict(m.state_dict()); ro = O.LBFGS(rm.parameters(), lr=.5); ro.load_state_dict(copy.deepcopy(o.state_dict())); r = (rm, ro)
    def fn(st):
        n[0] += 1; st.backward(loss_of(m, x0))
        if n[0] == 4: raise Boom
    raises(Boom, lambda: s.minimize(fn)); unmoved(m, sn); assert repr(o.state_dict()) == so; assert c.last_epoch == 1 and s.outcome.kind.value == "rolled_back", s.outcome
    s.minimize(lambda st: st.backward(loss_of(m, x0)))
    def clo(): r[1].zero_grad(); l = loss_of(r[0], x0); l.backward(); return l
    r[1].step(clo); same(m, r[0])
@exp("minimize_scaler_refused")
def _():
    m = mlp(); raises(StepError, lambda: Step(O.LBFGS(m.parameters()), scaler=torch.amp.GradScaler("cpu")).minimize(lambda st: st.backward(loss_of(m, x0))), "closure")
@exp("minimize_two_optimizers_refused")
def _():
    m = mlp(); raises(StepError, lambda: Step([O.LBFGS(m[0].parameters()), O.SGD(m[2].parameters(), lr=.1)]).minimize(lambda st: st.backward(loss_of(m, x0))), "closure")
@exp("minimize_sgd_closure")
def _():
    a, b = mlp(), mlp(); oa, ob = [O.AdamW(m.parameters()) for m in (a, b)]; s = Step(ob)
    for _ in range(3): oa.zero_grad(); loss_of(a, x0).backward(); oa.step(); s.minimize(lambda st: st.backward(loss_of(b, x0)))
    same(a, b)
@exp("minimize_inside_with_refused")
def _():
    m = mlp(); s = Step(O.SGD(m.parameters(), lr=.1)); sn = snap(m)
    def f():
        with s: s.minimize(lambda st: st.backward(loss_of(m, x0)))
    raises(StepError, f); unmoved(m, sn)
@exp("minimize_empty_fn")
def _():
    m = mlp(); s = Step(O.LBFGS(m.parameters())); sn = snap(m); e = raises(StepError, lambda: s.minimize(lambda st: None)); unmoved(m, sn)
@exp("minimize_abort")
def _():
    m = mlp(); s = Step(O.LBFGS(m.parameters(), lr=.5)); sn = snap(m); n = [0]
    def fn(st):
        n[0] += 1; st.backward(loss_of(m, x0))
        if n[0] == 3: st.abort()
    s.minimize(fn); unmoved(m, sn); assert s.outcome.kind.value == "aborted"
@exp("minimize_clip_each_eval")
def _():
    a, b = mlp(), mlp(); oa, ob = [O.LBFGS(m.parameters(), lr=.5, max_iter=4) for m in (a, b)]; s = Step(ob, clip=.05, model=b)
    for _ in range(3):
        def clo(): oa.zero_grad(); l = loss_of(a, x0); l.backward(); nn.utils.clip_grad_norm_(a.parameters(), .05); return l
        oa.step(clo); s.minimize(lambda st: st.backward(loss_of(b, x0))); same(a, b)
class SAM(O.Optimizer):
    def __init__(s, params, base=O.SGD, rho=.05, **kw):
        super().__init__(params, dict(rho=rho, **kw)); s.base = base(s.param_groups, **kw); s.param_groups = s.base.param_groups
    def step(s, closure):
        with torch.enable_grad(): l = closure()
        ps = [p for g in s.param_groups for p in g["params"]]
        with torch.no_grad():
            n = torch.stack([p.grad.norm() for p in ps]).norm(); es = [p.grad * (s.param_groups[0]["rho"] / (n + 1e-12)) for p in ps]
            for p, e in zip(ps, es): p.add_(e)
        with torch.enable_grad(): closure()
        with torch.no_grad():
            for p, e in zip(ps, es): p.sub_(e)
        s.base.step(); return l
@exp("sam_minimize")
def _():
    a, b = mlp(), mlp(); oa, ob = [SAM(m.parameters(), lr=.1) for m in (a, b)]; s = Step(ob)
    for i in range(4):
        x = X(seed=i)
        def clo(): oa.zero_grad(); l = loss_of(a, x); l.backward(); return l
        oa.step(clo); s.minimize(lambda st: st.backward(loss_of(b, x))); same(a, b)
@exp("sam_nan_in_second_eval")
def _():
    m = mlp(); o = SAM(m.parameters(), lr=.1); s = Step(o); sn = snap(m); n = [0]
    def fn(st): n[0] += 1; st.backward(loss_of(m, x0) * (float("nan") if n[0] == 2 else 1))
    s.minimize(fn); unmoved(m, sn); assert not s.outcome.moved and s.outcome.kind.value == "skipped", s.outcome
# ---- join
def gan(seed=0):
    torch.manual_seed(seed); G = nn.Linear(3, 4); D = nn.Linear(4, 1); return G, D, O.Adam(G.parameters(), lr=.1), O.SGD(D.parameters(), lr=.1)
z0 = X(4, 3, 9)
@exp("join_simultaneous_gan_hand")
def _():
    G, D, og, od = gan(); G2, D2, og2, od2 = gan(); sg, sd = Step(og2), Step(od2, clip=.05)
    for i in range(4):
        z, x = X(4, 3, i), X(4, 4, 20 + i)
        # both gradients at the old weights
        f = G(z); ld = D(f.detach()).mean() - D(x).mean(); lg = -D(f).mean()
        gd = torch.autograd.grad(ld, list(D.parameters())); gg = torch.autograd.grad(lg, list(G.parameters()))
        for p, g in zip(D.parameters(), gd): p.grad = g
        for p, g in zip(G.parameters(), gg): p.grad = g
        nn.utils.clip_grad_norm_(D.parameters(), .05); od.step(); og.step()
        with join(sd, sg) as both:
            f = G2(z); sd.backward(D2(f.detach()).mean() - D2(x).mean()); sg.backward(-D2(f).mean())
        same(G, G2); same(D, D2)
@exp("alternating_gan_hand")
def _():
    G, D, og, od = gan(); G2, D2, og2, od2 = gan(); sg, sd = Step(og2), Step(od2)
    for i in range(5):
        z, x = X(4, 3, i), X(4, 4, 20 + i)
        od.zero_grad(); (D(G(z).detach()).mean() - D(x).mean()).backward(); od.step()
        og.zero_grad(); (-D(G(z)).mean()).backward(); og.step()
        with sd: sd.backward(D2(G2(z).detach()).mean() - D2(x).mean())
        with sg: sg.backward(-D2(G2(z)).mean())
        same(G, G2); same(D, D2)
@exp("alternating_gan_undetached_isolated")
def _():
    G, D, og, od = gan(); s = Step(od)
    with s: s.backward(D(G(z0)).mean())
    assert all(p.grad is None for p in G.parameters())
for how in ("nan_d", "nan_g", "raise", "abort_d", "abort_both", "torn_none"):
    @exp("join_neither_" + how)
    def _(how=how):
        G, D, og, od = gan(); sg, sd = Step(og), Step(od)
        with join(sd, sg): sd.backward(D(G(z0).detach()).mean()); sg.backward(-D(G(z0)).mean())
        s1, s2 = snap(G, og), snap(D, od); n = float("nan")
        try:
            with join(sd, sg) as both:
                sd.backward(D(G(z0).detach()).mean() * (n if how == "nan_d" else 1)); sg.backward(-D(G(z0)).mean() * (n if how == "nan_g" else 1))
                if how == "raise": raise Boom
                if how == "abort_d": sd.abort()
                if how == "abort_both": both.abort()
                if how == "torn_none": raise KeyboardInterrupt
        except (Boom, KeyboardInterrupt): pass
        unmoved(G, s1, og); unmoved(D, s2, od); assert not sd.outcome.moved and not sg.outcome.moved, (sd.outcome, sg.outcome); assert sd.committed == sg.committed == 1
        assert all(p.grad is None for m in (G, D) for p in m.parameters())
        with join(sd, sg): sd.backward(D(G(z0).detach()).mean()); sg.backward(-D(G(z0)).mean())
        assert sd.outcome.moved and sg.outcome.moved
@exp("join_torn_second_restore_weights")
def _():
    G, D, og, od = gan()
    class T(O.SGD):
        on = True
        def step(s, c=None):
            if s.on: raise Boom
            return super().step(c)
    t = T(G.parameters(), lr=.1); sd, sg = Step(od, restore="weights"), Step(t, restore="weights"); s1, s2 = snap(G, t), snap(D, od)
    try:
        with join(sd, sg): sd.backward(D(G(z0).detach()).mean()); sg.backward(-D(G(z0)).mean())
        raise AssertionError("nothing raised")
    except (Boom, TornStep): pass
    unmoved(G, s1); unmoved(D, s2, od); assert not sd.outcome.moved and not sg.outcome.moved
@exp("join_torn_no_restore_says_so")
def _():
    G, D, og, od = gan()
    class T(O.SGD):
        def step(s, c=None): raise Boom
    t = T(G.parameters(), lr=.1); sd, sg = Step(od), Step(t); s2 = snap(D)
    try:
        with join(sd, sg): sd.backward(D(G(z0).detach()).mean()); sg.backward(-D(G(z0)).mean())
        raise AssertionError("nothing raised")
    except TornStep: pass
    mv = any(not torch.equal(p, q) for p, q in zip(D.parameters(), s2[0])); print("    D moved", mv, sd.outcome.kind.value, sg.outcome.kind.value, "both commit or neither")
    assert sd.outcome.kind.value == "torn" or sd.outcome.moved == mv
@exp("join_micro_batches")
def _():
    G, D, og, od = gan(); G2, D2, og2, od2 = gan(); sg, sd = Step(og2), Step(od2)
    zs = [X(n, 3, n).float() for n in (2, 5, 1)]; z = torch.cat(zs)
    gd = torch.autograd.grad(D(G(z).detach()).square().mean(), list(D.parameters())); gg = torch.autograd.grad(-D(G(z)).mean(), list(G.parameters()))
    for p, g in zip(list(D.parameters()) + list(G.parameters()), gd + gg): p.grad = g
    od.step(); og.step()
    with join(sd, sg) as both:
        for q in both.micro_batches(zs, weight=len): sd.backward(D2(G2(q).detach()).square().mean()); sg.backward(-D2(G2(q)).mean())
    close(D, D2, 1e-6); close(G, G2, 1e-5)
@exp("join_one_has_no_deposit")
def _():
    G, D, og, od = gan(); sg, sd = Step(og), Step(od); s1, s2 = snap(G), snap(D)
    def f():
        with join(sd, sg): sd.backward(D(G(z0).detach()).mean())
    raises(StepError, f, "empty-slots"); unmoved(G, s1); unmoved(D, s2)
@exp("join_same_step_twice_or_shared")
def _():
    G, D, og, od = gan(); sd = Step(od); s3 = Step(O.SGD(D.parameters(), lr=.1))
    raises(StepError, lambda: join(sd, sd).__enter__()); raises(StepError, lambda: join(sd, s3).__enter__(), "shared-parameters"); raises(StepError, lambda: join().__enter__(), "optimizers")
    with sd: sd.backward(D(x0).mean())
    assert sd.outcome.moved
@exp("join_shared_scaler_hand")
def _():
    kw = dict(init_scale=64., growth_interval=1); G, D, og, od = gan(); G2, D2, og2, od2 = gan(); sa, sb = [torch.amp.GradScaler("cpu", **kw) for _ in "ab"]; sg, sd = Step(og2, scaler=sb), Step(od2, scaler=sb)
    for i in range(4):
        z = X(4, 3, i); f = G(z)
        gd = torch.autograd.grad(sa.scale(D(f.detach()).square().mean()), list(D.parameters())); gg = torch.autograd.grad(sa.scale(-D(f).mean()), list(G.parameters()))
        for p, g in zip(list(D.parameters()) + list(G.parameters()), gd + gg): p.grad = g
        sa.step(od); sa.step(og); sa.update()
        with join(sd, sg): f = G2(z); sd.backward(D2(f.detach()).square().mean()); sg.backward(-D2(f).mean())
        same(G, G2); same(D, D2); assert sa.get_scale() == sb.get_scale(), (sa.get_scale(), sb.get_scale())
@exp("alternating_shared_scaler_hand")
def _():
    kw = dict(init_scale=64., growth_interval=2); G, D, og, od = gan(); G2, D2, og2, od2 = gan(); sa, sb = [torch.amp.GradScaler("cpu", **kw) for _ in "ab"]; sg, sd = Step(og2, scaler=sb), Step(od2, scaler=sb)
    for i in range(8):
        z = X(4, 3, i); f = float("inf") if i == 3 else 1.
        od.zero_grad(); sa.scale(D(G(z).detach()).square().mean() * f).backward(); sa.step(od)
        og.zero_grad(); sa.scale(-D(G(z)).mean()).backward(); sa.step(og); sa.update()
        with sd: sd.backward(D2(G2(z).detach()).square().mean() * f)
        with sg: sg.backward(-D2(G2(z)).mean())
        same(G, G2); same(D, D2)
    print("    scale hand", sa.get_scale(), "step", sb.get_scale())
@exp("join_scheduler_only_on_both")
def _():
    G, D, og, od = gan(); c1, c2 = O.lr_scheduler.StepLR(og, 1), O.lr_scheduler.StepLR(od, 1); sg, sd = Step(og, scheduler=c1), Step(od, scheduler=c2)
    for f in (1, float("nan")):
        with join(sd, sg): sd.backward(D(G(z0).detach()).mean()); sg.backward(-D(G(z0)).mean() * f)
    assert c1.last_epoch == c2.last_epoch == 1
# ---- carry
class RNN(nn.Module):
    def __init__(s, cell=nn.LSTM): super().__init__(); s.r = cell(3, 4, batch_first=True); s.o = nn.Linear(4, 1)
    def forward(s, x, h=None): y, h = s.r(x, h); return s.o(y), h
def rnn(cell=nn.LSTM): torch.manual_seed(0); return RNN(cell)
seq = torch.randn(2, 30, 3, generator=torch.Generator().manual_seed(1)).split(5, 1)
for cell in (nn.LSTM, nn.GRU):
    @exp("tbptt_hand_" + cell.__name__)
    def _(cell=cell):
        a, b = rnn(cell), rnn(cell); oa, ob = [O.AdamW(m.parameters()) for m in (a, b)]; s = Step(ob, clip=.1, model=b); ha = hb = None
        for x in seq:
            oa.zero_grad()
            if ha is not None: ha = tuple(t.detach() for t in ha) if isinstance(ha, tuple) else ha.detach()
            y, ha = a(x, ha); y.square().mean().backward(); nn.utils.clip_grad_norm_(a.parameters(), .1); oa.step()
            with s:
                if hb is not None: hb = s.carry(hb)
                y, hb = b(x, hb); s.backward(y.square().mean())
            same(a, b)
for how in ("raise", "nan", "abort"):
    @exp("carry_restored_after_" + how)
    def _(how=how):
        a, b = rnn(), rnn(); oa, ob = [O.SGD(m.parameters(), lr=.1) for m in (a, b)]; s = Step(ob); ha = hb = None
        for i, x in enumerate(seq):
            if i not in (2, 3):
                oa.zero_grad()
                if ha is not None: ha = tuple(t.detach() for t in ha)
                y, ha = a(x, ha); y.square().mean().backward(); oa.step()
            try:
                with s:
                    if hb is not None: hb = s.carry(hb)
                    y, hb = b(x, hb); s.backward(y.square().mean() * (float("nan") if how == "nan" and i in (2, 3) else 1))
                    if i in (2, 3):
                        if how == "raise": raise Boom
                        if how == "abort": s.abort()
            except Boom: pass
            same(a, b)
@exp("carry_micro_batches_two_states")
def _():
    a, b = rnn(nn.GRU), rnn(nn.GRU); oa, ob = [O.SGD(m.parameters(), lr=.1) for m in (a, b)]; s = Step(ob); ha = hb = ga = gb = None
    for i, x in enumerate(seq):
        if i != 2:
            oa.zero_grad(); ha = ha if ha is None else ha.detach(); ga = ga if ga is None else ga.detach()
            y, ha = a(x, ha); y2, ga = a(-x, ga); (y.square().mean() + y2.abs().mean()).backward(); oa.step()
        try:
            with s:
                if hb is not None:
                    hb, gb = s.carry((hb, gb))
                y, hb = b(x, hb); y2, gb = b(-x, gb); s.backward(y.square().mean() + y2.abs().mean())
                if i == 2: raise Boom
        except Boom: pass
        same(a, b)
@exp("carry_failed_first_block")
def _():
    a, b = rnn(nn.GRU), rnn(nn.GRU); s = Step(O.SGD(b.parameters(), lr=.1)); h = torch.zeros(1, 2, 4); got = []
    try:
        with s: h = s.carry(h); y, h = b(seq[0], h); s.backward(y.mean()); raise Boom
    except Boom: pass
    with s: h = s.carry(h); got.append(h.clone()); y, h = b(seq[0], h); s.backward(y.mean())
    assert torch.equal(got[0], torch.zeros(1, 2, 4)), got
# ---- split
class Mem:
    def __init__(s, m, limit): s.m, s.limit, s.calls = m, limit, []
    def __call__(s, x):
        s.calls.append(len(x))
        if len(x) > s.limit: raise torch.OutOfMemoryError("CUDA out of memory. (fake)")
        return loss_of(s.m, x)
for lim in (16, 8, 5, 3, 1):
    @exp(f"split_limit_{lim}")
    def _(lim=lim):
        a, b = mlp(dtype=torch.float64), mlp(dtype=torch.float64); oa, ob = [O.SGD(m.parameters(), lr=.1) for m in (a, b)]; s = Step(ob); f = Mem(b, lim)
        for n in (16, 13, 7):
            x = X(n, 4, n).double(); oa.zero_grad(); loss_of(a, x).backward(); oa.step()
            with s: s.split(x, f)
            close(a, b, 1e-14); assert s.outcome.moved
        big = [c for c in f.calls if c > lim]; assert len(big) <= 6, f.calls
@exp("split_hopeless")
def _():
    m = mlp(); s = Step(O.SGD(m.parameters(), lr=.1)); sn = snap(m)
    def f():
        with s: s.split(X(4), Mem(m, 0))
    e = raises(torch.OutOfMemoryError, f); unmoved(m, sn); assert s.outcome.kind.value == "rolled_back"
    go = Mem(m, 4)
    with s: s.split(X(4), go)
    assert s.outcome.moved
@exp("split_oom_in_backward")
def _():
    a, b = mlp(dtype=torch.float64), mlp(dtype=torch.float64); s = Step(O.SGD(b.parameters(), lr=.1)); x = X(8).double(); n = [0]
    class Bk(torch.autograd.Function):
        @staticmethod
        def forward(c, x): c.n = x.shape[0]; return x.clone()
        @staticmethod
        def backward(c, g):
            if c.n > 4: raise torch.OutOfMemoryError("CUDA out of memory")
            return g
    def fn(x): return b[2](b[1](Bk.apply(b[0](x)))).square().mean()
    loss_of(a, x).backward(); O.SGD(a.parameters(), lr=.1).step()
    with s: s.split(x, fn)
    close(a, b, 1e-14)
@exp("split_in_micro_batches_weighted")
def _():
    a, b = mlp(dtype=torch.float64), mlp(dtype=torch.float64); s = Step(O.SGD(b.parameters(), lr=.1), clip=.05); xs = [X(n, 4, n).double() for n in (9, 4, 13)]
    loss_of(a, torch.cat(xs)).backward(); nn.utils.clip_grad_norm_(a.parameters(), .05); O.SGD(a.parameters(), lr=.1).step(); f = Mem(b, 5)
    with s:
        for x in s.micro_batches(xs, weight=len): s.split(x, f)
    close(a, b, 1e-14)
for form in ("tuple", "dict", "list_samples", "tuple_scalar"):
    @exp("split_" + form)
    def _(form=form):
        a, b = mlp(dtype=torch.float64), mlp(dtype=torch.float64); s = Step(O.SGD(b.parameters(), lr=.1)); x, y = X(7).double(), X(7, 2, 8).double()
        L = lambda m, x, y: (m(x) - y).square().mean()
        L(a, x, y).backward(); O.SGD(a.parameters(), lr=.1).step()
        def lim(n):
            if n > 3: raise torch.OutOfMemoryError("oom")
        if form == "tuple": bt = (x, y); fn = lambda t: (lim(len(t[0])), L(b, *t))[1]
        elif form == "dict": bt = dict(x=x, y=y, flag=True); fn = lambda t: (lim(len(t["x"])), L(b, t["x"], t["y"]))[1]
        elif form == "list_samples": bt = list(zip(x, y)); fn = lambda t: (lim(len(t)), L(b, torch.stack([q[0] for q in t]), torch.stack([q[1] for q in t])))[1]
        else: bt = (x, y, torch.tensor(2.)); fn = lambda t: (lim(len(t[0])), L(b, t[0], t[1]))[1]
        try:
            with s: s.split(bt, fn)
        except StepError as e:
            print("    refused:", str(e)[:120]); assert form in ("list_samples",); return
        close(a, b, 1e-14)
@exp("split_token_weight")
def _():
    torch.manual_seed(0); a = nn.Linear(4, 5).double(); b = copy.deepcopy(a); x = torch.randn(6, 3, 4).double(); y = torch.randint(5, (6, 3)); y[0, 1:] = -100; y[4] = -100; y[5] = -100
    L = lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1), y.flatten(), ignore_index=-100)
    L(a, x, y).backward(); O.SGD(a.parameters(), lr=.1).step(); s = Step(O.SGD(b.parameters(), lr=.1))
    def fn(t):
        if len(t[0]) > 2: raise torch.OutOfMemoryError("oom")
        return L(b, *t)
    with s: s.split((x, y), fn, weight=lambda t: int((t[1] >= 0).sum()))
    assert s.outcome.kind.value == "committed", s.outcome; close(a, b, 1e-14)
@exp("split_rng_restored_dropout_same")
def _():
    # rng restored: a retry begins with the random state of the first try
    m = mlp(); s = Step(O.SGD(m.parameters(), lr=.1)); draws = []
    def fn(x):
        draws.append(torch.rand(1).item())
        if len(x) > 4: raise torch.OutOfMemoryError("x")
        return loss_of(m, x)
    with s: s.split(X(8), fn)
    assert draws[0] == draws[1], draws
@exp("split_bn_buffers_with_model")
def _():
    torch.manual_seed(0); m = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)); s = Step(O.SGD(m.parameters(), lr=.1), model=m); n = [0]
    def fn(x):
        l = loss_of(m, x)
        if len(x) > 4: raise torch.OutOfMemoryError("x")
        n[0] += 1; return l
    with s: s.split(X(8), fn)
    assert m[1].num_batches_tracked.item() == n[0], (m[1].num_batches_tracked, n)
@exp("split_other_error_propagates")
def _():
    m = mlp(); s = Step(O.SGD(m.parameters(), lr=.1)); sn = snap(m); n = [0]
    def fn(x): n[0] += 1; raise RuntimeError("shape mismatch")
    def f():
        with s: s.split(X(8), fn)
    raises(RuntimeError, f, "shape"); assert n[0] == 1; unmoved(m, sn)
@exp("split_uncuttable")
def _():
    m = mlp(); s = Step(O.SGD(m.parameters(), lr=.1)); sn = snap(m)
    def fn(x): raise torch.OutOfMemoryError("x")
    for bad in (3, object(), None, torch.tensor(1.)):
        def f():
            with s: s.split(bad, fn)
        try: f(); raise AssertionError("no error")
        except StepError as e: assert "split" in str(e), e
        except torch.OutOfMemoryError as e: print("    OOM for", bad)
        unmoved(m, sn)
@exp("split_plain_twice_in_block")
def _():
    a, b = mlp(dtype=torch.float64), mlp(dtype=torch.float64); s = Step(O.SGD(b.parameters(), lr=.1)); x, y = X(6).double(), X(3, 4, 5).double()
    with s:
        try: s.split(x, Mem(b, 2)); s.split(y, Mem(b, 2))
        except StepError as e: print("    refused", str(e)[:100]); raise
    r1 = mlp(dtype=torch.float64); loss_of(r1, torch.cat([x, y])).backward(); O.SGD(r1.parameters(), lr=.1).step()
    r2 = mlp(dtype=torch.float64); (loss_of(r2, x) + loss_of(r2, y)).backward(); O.SGD(r2.parameters(), lr=.1).step()
    for n, r in (("weighted mean", r1), ("sum", r2)):
        try: close(b, r, 1e-13); print("    it is the", n); return
        except AssertionError: pass
    raise AssertionError("neither the mean nor the sum")
done()

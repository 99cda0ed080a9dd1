"""Part a: several optimizers, GANs, RL, meta learning, closures, optimizers of one's own."""
from harness import *
import copy, itertools, math, threading
from torch import nn
import torch.nn.functional as F

def net(i=4, o=1): return nn.Sequential(nn.Linear(i, 5), nn.Tanh(), nn.Linear(5, o))
def data(n=40, b=6): return [(torch.randn(b, 4), torch.randn(b, 1)) for _ in range(n)]

@correct
def gan_dcgan_style():
    G, D = net(2, 4), net(); og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters()); bce = nn.BCEWithLogitsLoss()
    for x, _ in data(30):
        D.zero_grad(); bce(D(x), torch.ones(6, 1)).backward(); fake = G(torch.randn(6, 2)); bce(D(fake.detach()), torch.zeros(6, 1)).backward(); od.step()
        G.zero_grad(); bce(D(fake), torch.ones(6, 1)).backward(); og.step()
    return G, D

@correct
def gan_wgan_gp_5_to_1():
    G, D = net(2, 4), net(); og, od = torch.optim.RMSprop(G.parameters()), torch.optim.RMSprop(D.parameters())
    for i, (x, _) in enumerate(data(40)):
        fake = G(torch.randn(6, 2)).detach(); e = torch.rand(6, 1); z = (e * x + (1 - e) * fake).requires_grad_()
        gp = (torch.autograd.grad(D(z).sum(), z, create_graph=True)[0].norm(dim=1) - 1).square().mean()
        od.zero_grad(); (D(fake).mean() - D(x).mean() + gp).backward(); od.step()
        if i % 5 == 4: og.zero_grad(); (-D(G(torch.randn(6, 2))).mean()).backward(); og.step()
    return G, D

@correct
def gan_generator_first_requires_grad_toggle():
    G, D = net(2, 4), net(); og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
    for x, _ in data(30):
        D.requires_grad_(False); og.zero_grad(); fake = G(torch.randn(6, 2)); (-D(fake)).mean().backward(); og.step(); D.requires_grad_(True)
        od.zero_grad(); (D(fake.detach()) - D(x)).mean().backward(); od.step()
    return G, D

@correct
def gan_lazy_r1_accumulated():
    G, D = net(2, 4), net(); og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
    for i, (x, _) in enumerate(data(32)):
        od.zero_grad(); F.softplus(-D(x)).mean().backward(); F.softplus(D(G(torch.randn(6, 2)).detach())).mean().backward()
        if i % 4 == 0:
            z = x.clone().requires_grad_(); g, = torch.autograd.grad(D(z).sum(), z, create_graph=True); (g.square().sum(1).mean() * 4).backward()
        od.step()
        og.zero_grad(); F.softplus(-D(G(torch.randn(6, 2)))).mean().backward(); og.step()
    return G, D

@correct
def cyclegan_chained_parameters():
    A, B, DA, DB = net(4, 4), net(4, 4), net(), net()
    og, od = torch.optim.Adam(itertools.chain(A.parameters(), B.parameters())), torch.optim.Adam(itertools.chain(DA.parameters(), DB.parameters()))
    for a, _ in data(20):
        b = torch.randn(6, 4) + 1
        for p in itertools.chain(DA.parameters(), DB.parameters()): p.requires_grad = False
        og.zero_grad(); fb, fa = A(a), B(b); ((DB(fb) - 1) ** 2 + (DA(fa) - 1) ** 2).mean().add(F.l1_loss(B(fb), a) + F.l1_loss(A(fa), b)).backward(); og.step()
        for p in itertools.chain(DA.parameters(), DB.parameters()): p.requires_grad = True
        od.zero_grad(); (((DA(a) - 1) ** 2 + DA(fa.detach()) ** 2).mean() * .5).backward(); (((DB(b) - 1) ** 2 + DB(fb.detach()) ** 2).mean() * .5).backward(); od.step()
    return A, B, DA, DB

@correct
def gradient_reversal_domain_adaptation():
    class R(torch.autograd.Function):
        @staticmethod
        def forward(c, x): return x.view_as(x)
        @staticmethod
        def backward(c, g): return -g
    f, h, d = net(4, 4), nn.Linear(4, 1), nn.Linear(4, 1); of, oh, od = (torch.optim.SGD(k.parameters(), .1) for k in (f, h, d))
    for x, y in data(30):
        for o in (of, oh, od): o.zero_grad()
        z = f(x); F.mse_loss(h(z), y).backward(retain_graph=True); F.binary_cross_entropy_with_logits(d(R.apply(z)), (y > 0).float()).backward()
        for o in (of, oh, od): o.step()
    return f, h, d

@correct
def shared_encoder_two_optimizers_alternating():
    e, a, b = net(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    oa, ob = torch.optim.SGD([*e.parameters(), *a.parameters()], .1), torch.optim.SGD([*e.parameters(), *b.parameters()], .1)
    for i, (x, y) in enumerate(data(40)):
        h, o = ((a, oa), (b, ob))[i % 2]
        o.zero_grad(); F.mse_loss(h(e(x)), y).backward(); o.step()
    return e, a, b

@correct
def optimizer_per_layer_one_backward():
    m = net(); os_ = [torch.optim.SGD(l.parameters(), .1) for l in m if list(l.parameters())]
    for x, y in data(40):
        m.zero_grad(); F.mse_loss(m(x), y).backward(); [o.step() for o in os_]
    return m

@correct
def different_frequencies_slow_and_fast():
    a, b = nn.Linear(4, 4), nn.Linear(4, 1); fast, slow = torch.optim.SGD(b.parameters(), .1), torch.optim.SGD(a.parameters(), .1)
    for i, (x, y) in enumerate(data(40)):
        (F.mse_loss(b(a(x).tanh()), y)).backward()
        fast.step(); fast.zero_grad()
        if i % 4 == 3:
            for p in a.parameters(): p.grad /= 4
            slow.step(); slow.zero_grad()
    return a, b

@correct
def experts_each_with_an_optimizer_all_stepped():
    es = [net() for _ in range(6)]; os_ = [torch.optim.SGD(e.parameters(), .1) for e in es]
    for i, (x, y) in enumerate(data(40)):
        for o in os_: o.zero_grad()
        k = (i * 7 + i // 6) % 6
        F.mse_loss(es[k](x), y).backward()
        for o in os_: o.step()          # without a gradient nothing moves: SGD skips None
    return es

@correct
def moe_top1_one_optimizer():
    es = nn.ModuleList([net() for _ in range(4)]); g = nn.Linear(4, 4); o = torch.optim.Adam([*es.parameters(), *g.parameters()])
    for x, y in data(40):
        p = g(x.mean(0)).softmax(0); k = int(p.argmax()); o.zero_grad(); F.mse_loss(es[k](x) * p[k], y).backward(); o.step()
    return es, g

@correct
def multi_head_only_one_active_phase():
    e, hs = net(4, 4), nn.ModuleList([nn.Linear(4, 1) for _ in range(3)]); o = torch.optim.AdamW([*e.parameters(), *hs.parameters()])
    for task in range(3):
        for x, y in data(12):
            o.zero_grad(); F.mse_loss(hs[task](e(x)), y).backward(); o.step()
    return e, hs

@correct
def sam_two_steps_by_hand():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(30):
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        with torch.no_grad():
            n = torch.stack([p.grad.norm() for p in m.parameters()]).norm(); es = [p.grad * (.05 / (n + 1e-9)) for p in m.parameters()]
            for p, e in zip(m.parameters(), es): p.add_(e)
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        with torch.no_grad():
            for p, e in zip(m.parameters(), es): p.sub_(e)
        o.step()
    return m

class SAM(torch.optim.Optimizer):
    def __init__(s, ps, base, rho=.05, **k):
        super().__init__(ps, dict(rho=rho, **k)); s.base = base(s.param_groups, **k); s.param_groups = s.base.param_groups
    @torch.no_grad()
    def first_step(s, zero_grad=False):
        n = torch.stack([p.grad.norm() for g in s.param_groups for p in g["params"]]).norm()
        for g in s.param_groups:
            for p in g["params"]: s.state[p]["old"] = p.data.clone(); p.add_(p.grad, alpha=g["rho"] / float(n + 1e-12))
        if zero_grad: s.zero_grad()
    @torch.no_grad()
    def second_step(s, zero_grad=False):
        for g in s.param_groups:
            for p in g["params"]: p.data = s.state[p]["old"]
        s.base.step()
        if zero_grad: s.zero_grad()
    @torch.no_grad()
    def step(s, closure=None):
        closure = torch.enable_grad()(closure); s.first_step(True); closure(); s.second_step()

@correct
def sam_class_two_calls():
    m = net(); o = SAM(m.parameters(), torch.optim.SGD, lr=.1)
    for x, y in data(30):
        F.mse_loss(m(x), y).backward(); o.first_step(True); F.mse_loss(m(x), y).backward(); o.second_step(True)
    return m

@correct
def sam_class_with_closure():
    m = net(); o = SAM(m.parameters(), torch.optim.SGD, lr=.1)
    for x, y in data(30):
        def closure(): l = F.mse_loss(m(x), y); l.backward(); return l
        F.mse_loss(m(x), y).backward(); o.step(closure); o.zero_grad()
    return m

@correct
def lbfgs_strong_wolfe():
    m = net(); o = torch.optim.LBFGS(m.parameters(), max_iter=5, line_search_fn="strong_wolfe")
    for x, y in data(8):
        def c(): o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); return l
        o.step(c)
    return m

@correct
def lbfgs_closure_accumulates_chunks():
    m = net(); o = torch.optim.LBFGS(m.parameters(), max_iter=4); d = data(4)
    def c():
        o.zero_grad(); t = 0.
        for x, y in d: l = F.mse_loss(m(x), y) / 4; l.backward(); t += l.item()
        return t
    for _ in range(6): o.step(c)
    return m

@correct
def lbfgs_closure_by_autograd_grad():
    m = net(); o = torch.optim.LBFGS(m.parameters(), max_iter=4); x, y = data(1)[0]
    def c():
        l = F.mse_loss(m(x), y)
        for p, g in zip(m.parameters(), torch.autograd.grad(l, m.parameters())): p.grad = g
        return l
    for _ in range(6): o.step(c)
    return m

@correct
def lbfgs_closure_without_grad_in_eval():
    m = net(); o = torch.optim.LBFGS(m.parameters(), max_iter=4); x, y = data(1)[0]
    def c():
        if torch.is_grad_enabled(): o.zero_grad()
        l = F.mse_loss(m(x), y)
        if l.requires_grad: l.backward()
        return l
    for _ in range(6): o.step(c)
    return m

@correct
def adam_closure_and_plain_mixed():
    m = net(); o = torch.optim.Adam(m.parameters())
    for i, (x, y) in enumerate(data(40)):
        def c(): o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); return l
        if i % 2: o.step(c)
        else: c(); o.step()
    return m

@correct
def adam_then_lbfgs_pinn():
    m = nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 1)); a, b = torch.optim.Adam(m.parameters()), torch.optim.LBFGS(m.parameters(), max_iter=3)
    def loss():
        t = torch.linspace(0, 1, 8)[:, None].requires_grad_(); u = m(t); du, = torch.autograd.grad(u.sum(), t, create_graph=True)
        return (du + u).square().mean() + (m(torch.zeros(1, 1)) - 1).square().mean()
    for _ in range(20): a.zero_grad(); loss().backward(); a.step()
    def c(): b.zero_grad(); l = loss(); l.backward(); return l
    for _ in range(5): b.step(c)
    return m

@correct
def svrg():
    m, s = net(), net(); o = torch.optim.SGD(m.parameters(), .05); d = data(10)
    for e in range(3):
        s.load_state_dict(m.state_dict()); s.zero_grad()
        for x, y in d: (F.mse_loss(s(x), y) / 10).backward()
        mu = [p.grad.clone() for p in s.parameters()]
        for x, y in d:
            o.zero_grad(); s.zero_grad(); F.mse_loss(m(x), y).backward(); F.mse_loss(s(x), y).backward()
            for p, q, u in zip(m.parameters(), s.parameters(), mu): p.grad += u - q.grad
            o.step()
    return m

@correct
def lookahead_wrapper():
    class LA:
        def __init__(s, o): s.o = o; s.k = 0; s.slow = [p.detach().clone() for g in o.param_groups for p in g["params"]]
        def zero_grad(s): s.o.zero_grad()
        def step(s):
            s.o.step(); s.k += 1
            if s.k % 5 == 0:
                with torch.no_grad():
                    for q, p in zip(s.slow, (p for g in s.o.param_groups for p in g["params"])): q.lerp_(p, .5); p.copy_(q)
    m = net(); o = LA(torch.optim.Adam(m.parameters()))
    for x, y in data(40): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def extragradient_own_optimizer():
    a, b = nn.Parameter(torch.tensor(1.)), nn.Parameter(torch.tensor(1.)); o = torch.optim.SGD([a, b], .1)
    for _ in range(30):
        old = a.item(), b.item()
        for half in (True, False):
            o.zero_grad(); (a * b).backward(); b.grad.neg_()
            if not half:
                with torch.no_grad(): a.fill_(old[0]); b.fill_(old[1])
            o.step()
    return a, b

class MySGD(torch.optim.Optimizer):
    def __init__(s, ps, lr=.1): super().__init__(ps, dict(lr=lr))
    @torch.no_grad()
    def step(s, closure=None):
        for g in s.param_groups:
            for p in g["params"]:
                if p.grad is not None: p.sub_(p.grad, alpha=g["lr"]); p.grad = None     # clears itself

@correct
def own_optimizer_clears_in_step():
    m = net(); o = MySGD(m.parameters())
    for x, y in data(40): F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def own_optimizer_wraps_in_super():
    class W(torch.optim.SGD):
        def step(s, closure=None): r = super().step(closure); s.zero_grad(); return r
    m = net(); o = W(m.parameters(), .1)
    for x, y in data(40): F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def optimizer_in_backward():
    m = net(); od = {p: torch.optim.SGD([p], .1) for p in m.parameters()}
    def h(p): od[p].step(); od[p].zero_grad()
    hs = [p.register_post_accumulate_grad_hook(h) for p in m.parameters()]
    for x, y in data(40): F.mse_loss(m(x), y).backward()
    [k.remove() for k in hs]
    return m

@correct
def maml_functional_second_order():
    m = net(); o = torch.optim.Adam(m.parameters())
    for _ in range(12):
        o.zero_grad()
        for t in range(3):
            (x, y), (qx, qy) = data(2); w = dict(m.named_parameters())
            for _ in range(2):
                g = torch.autograd.grad(F.mse_loss(torch.func.functional_call(m, w, x), y), list(w.values()), create_graph=True)
                w = {k: v - .1 * d for (k, v), d in zip(w.items(), g)}
            (F.mse_loss(torch.func.functional_call(m, w, qx), qy) / 3).backward()
        o.step()
    return m

@correct
def fomaml_clone_gradients_moved():
    m = net(); o = torch.optim.Adam(m.parameters())
    for _ in range(12):
        o.zero_grad(); (x, y), (qx, qy) = data(2)
        c = copy.deepcopy(m); oi = torch.optim.SGD(c.parameters(), .1)
        for _ in range(3): oi.zero_grad(); F.mse_loss(c(x), y).backward(); oi.step()
        c.zero_grad(); F.mse_loss(c(qx), qy).backward()
        for p, q in zip(m.parameters(), c.parameters()): p.grad = q.grad
        o.step()
    return m

@correct
def reptile_pseudo_gradient():
    m = net(); o = torch.optim.SGD(m.parameters(), 1.)
    for _ in range(12):
        c = copy.deepcopy(m); oi = torch.optim.Adam(c.parameters(), .01)
        for x, y in data(4): F.mse_loss(c(x), y).backward(); oi.step(); oi.zero_grad()
        with torch.no_grad():
            for p, q in zip(m.parameters(), c.parameters()): p.grad = p - q
        o.step()
    return m

@correct
def darts_bilevel():
    w, a = net(), nn.Parameter(torch.zeros(6, 1)); ow, oa = torch.optim.SGD(w.parameters(), .1), torch.optim.Adam([a])
    for x, y in data(30):
        oa.zero_grad(); (a.sigmoid() * (w(x) - y) ** 2).mean().backward(); oa.step()
        ow.zero_grad(); (a.sigmoid() * (w(x) - y) ** 2).mean().backward(); ow.step()
    return w, a

@correct
def hyper_gradient_learning_rate():
    m = net(); lr = nn.Parameter(torch.tensor(.1)); oh = torch.optim.Adam([lr], .01); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(20):
        g = torch.autograd.grad(F.mse_loss(m(x), y), m.parameters()); w = {k: p.detach() - lr * d for (k, p), d in zip(m.named_parameters(), g)}
        oh.zero_grad(); F.mse_loss(torch.func.functional_call(m, w, x), y).backward(); oh.step()
        o.param_groups[0]["lr"] = lr.item(); o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m, lr

@correct
def adversarial_pgd_then_clear():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(20):
        d = torch.zeros_like(x, requires_grad=True)
        for _ in range(3):
            F.mse_loss(m(x + d), y).backward(); d.data = (d + .1 * d.grad.sign()).clamp(-.3, .3); d.grad.zero_()
        o.zero_grad(); F.mse_loss(m(x + d.detach()), y).backward(); o.step()
    return m

@correct
def free_adversarial_training():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); d = torch.zeros(6, 4)
    for x, y in data(15):
        for _ in range(3):
            d.requires_grad_(); d.grad = None; o.zero_grad(); F.mse_loss(m(x + d), y).backward(); g = d.grad; o.step(); d = (d.detach() + .1 * g.sign()).clamp(-.3, .3)
    return m

@correct
def free_lb_accumulates_on_purpose():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); K = 3
    for x, y in data(15):
        o.zero_grad(); d = torch.zeros_like(x).requires_grad_()
        for _ in range(K):
            (F.mse_loss(m(x + d), y) / K).backward(); d = (d.detach() + .1 * d.grad.sign()).requires_grad_()
        o.step()
    return m

@correct
def fgm_embedding_attack_adds_gradients():
    e, h = nn.Embedding(9, 4), nn.Linear(4, 2); o = torch.optim.Adam([*e.parameters(), *h.parameters()])
    for _ in range(30):
        t = torch.randint(0, 9, (6,)); F.cross_entropy(h(e(t)), t % 2).backward()
        b = e.weight.data.clone(); e.weight.data.add_(e.weight.grad / (e.weight.grad.norm() + 1e-9)); F.cross_entropy(h(e(t)), t % 2).backward(); e.weight.data = b
        o.step(); o.zero_grad()
    return e, h

@correct
def dqn_target_network():
    q, t = net(4, 2), net(4, 2); t.load_state_dict(q.state_dict()); o = torch.optim.Adam(q.parameters()); s = torch.randn(4); buf = []
    for i in range(60):
        with torch.no_grad(): a = int(q(s).argmax())
        n = torch.randn(4); buf.append((s, a, 1., n)); s = n
        if len(buf) < 8: continue
        b = random.sample(buf, 4); S, A, R, N = (torch.stack([torch.as_tensor(k[j]) for k in b]) for j in range(4))
        with torch.no_grad(): y = R + .9 * t(N).max(1).values
        l = F.smooth_l1_loss(q(S).gather(1, A[:, None])[:, 0], y); o.zero_grad(); l.backward(); nn.utils.clip_grad_value_(q.parameters(), 1.); o.step()
        if i % 10 == 0: t.load_state_dict(q.state_dict())
    return q

@correct
def reinforce_episode():
    p = net(4, 2); o = torch.optim.Adam(p.parameters())
    for ep in range(15):
        lp, r = [], []
        for _ in range(6):
            d = torch.distributions.Categorical(logits=p(torch.randn(4))); a = d.sample(); lp.append(d.log_prob(a)); r.append(float(a))
        R = torch.tensor(r).flip(0).cumsum(0).flip(0); o.zero_grad(); (-(torch.stack(lp) * (R - R.mean()))).sum().backward(); o.step()
    return p

@correct
def actor_critic_online_shared_trunk():
    t, a, c = nn.Linear(4, 5), nn.Linear(5, 2), nn.Linear(5, 1); o = torch.optim.Adam([*t.parameters(), *a.parameters(), *c.parameters()])
    for _ in range(30):
        h = t(torch.randn(4)).tanh(); d = torch.distributions.Categorical(logits=a(h)); v = c(h); act = d.sample(); adv = float(act) - v
        o.zero_grad(); (-d.log_prob(act) * adv.detach() + adv.square() - .01 * d.entropy()).sum().backward(); o.step()
    return t, a, c

@correct
def ddpg_actor_through_critic():
    A, C = net(4, 2), net(6, 1); oa, oc = torch.optim.Adam(A.parameters()), torch.optim.Adam(C.parameters())
    for x, y in data(30):
        oc.zero_grad(); F.mse_loss(C(torch.cat([x, torch.randn(6, 2)], 1)), y).backward(); oc.step()
        oa.zero_grad(); (-C(torch.cat([x, A(x)], 1))).mean().backward(); oa.step()
    return A, C

@correct
def td3_delayed_twin():
    A, C1, C2 = net(4, 2), net(6, 1), net(6, 1); oa, oc = torch.optim.Adam(A.parameters()), torch.optim.Adam([*C1.parameters(), *C2.parameters()])
    for i, (x, y) in enumerate(data(40)):
        u = torch.cat([x, torch.randn(6, 2)], 1); l = F.mse_loss(C1(u), y) + F.mse_loss(C2(u), y); oc.zero_grad(); l.backward(); oc.step()
        if i % 2: oa.zero_grad(); (-C1(torch.cat([x, A(x)], 1))).mean().backward(); oa.step()
    return A, C1, C2

@correct
def sac_three_optimizers():
    A, C = net(4, 1), net(5, 1); la = nn.Parameter(torch.zeros(1)); oa, oc, ol = torch.optim.Adam(A.parameters()), torch.optim.Adam(C.parameters()), torch.optim.Adam([la])
    for x, y in data(30):
        oc.zero_grad(); F.mse_loss(C(torch.cat([x, y], 1)), y).backward(); oc.step()
        a = A(x); lp = -a.square(); oa.zero_grad(); (la.exp().detach() * lp - C(torch.cat([x, a], 1))).mean().backward(); oa.step()
        ol.zero_grad(); (-la * (lp.detach() - 1)).mean().backward(); ol.step()
    return A, C, la

@correct
def ppo_epochs_kl_stop_after_backward():
    p, v = net(4, 2), net(); op, ov = torch.optim.Adam(p.parameters(), .05), torch.optim.Adam(v.parameters())
    for it in range(8):
        x = torch.randn(24, 4)
        with torch.no_grad(): d = torch.distributions.Categorical(logits=p(x)); a = d.sample(); old = d.log_prob(a)
        R = a.float(); adv = R - v(x).detach()[:, 0]
        for ep in range(4):
            for ix in torch.randperm(24).split(8):
                lp = torch.distributions.Categorical(logits=p(x[ix])).log_prob(a[ix]); r = (lp - old[ix]).exp()
                op.zero_grad(); (-torch.min(r * adv[ix], r.clamp(.8, 1.2) * adv[ix])).mean().backward()
                if (old[ix] - lp).mean() > .02: break
                nn.utils.clip_grad_norm_(p.parameters(), .5); op.step()
            ov.zero_grad(); F.mse_loss(v(x)[:, 0], R).backward(); nn.utils.clip_grad_norm_(v.parameters(), .5); ov.step()
    return p, v

@correct
def tbptt_with_detached_state():
    r, h = nn.GRU(4, 5, batch_first=True), nn.Linear(5, 1); o = torch.optim.Adam([*r.parameters(), *h.parameters()])
    for _ in range(4):
        s = None
        for k in torch.randn(2, 30, 4).split(5, 1):
            out, s = r(k, s); s = s.detach(); o.zero_grad(); h(out).square().mean().backward(); nn.utils.clip_grad_norm_(r.parameters(), 1.); o.step()
    return r, h

@correct
def tbptt_k1_k2_retained():
    c, h = nn.RNNCell(4, 5), nn.Linear(5, 1); o = torch.optim.SGD([*c.parameters(), *h.parameters()], .01)
    s = torch.zeros(2, 5); loss = 0.
    for i in range(60):
        s = c(torch.randn(2, 4), s); loss = loss + h(s).square().mean() / 6
        if i % 6 == 5: o.zero_grad(); loss.backward(); o.step(); s = s.detach(); loss = 0.
    return c, h

@correct
def byol_ema_teacher():
    s, t, p = net(4, 4), net(4, 4), nn.Linear(4, 4); t.load_state_dict(s.state_dict()); t.requires_grad_(False); o = torch.optim.Adam([*s.parameters(), *p.parameters()])
    for x, _ in data(30):
        l = 2 - 2 * F.cosine_similarity(p(s(x)), t(x + .1)).mean(); o.zero_grad(); l.backward(); o.step()
        with torch.no_grad():
            for a, b in zip(t.parameters(), s.parameters()): a.lerp_(b, .1)
    return s, t, p

@correct
def part_of_model_stepped_by_hand():
    a, b = nn.Linear(4, 4), nn.Linear(4, 1); o = torch.optim.Adam(a.parameters())
    for x, y in data(40):
        F.mse_loss(b(a(x)), y).backward(); o.step(); o.zero_grad()
        with torch.no_grad():
            for p in b.parameters(): p -= .1 * p.grad; p.grad = None
    return a, b

@correct
def ewc_fisher_then_second_task():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(15): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    fi = [torch.zeros_like(p) for p in m.parameters()]; st = [p.detach().clone() for p in m.parameters()]
    for x, y in data(10):
        m.zero_grad(); F.mse_loss(m(x), y).backward()
        for f, p in zip(fi, m.parameters()): f += p.grad.square() / 10
    for x, y in data(20):
        o.zero_grad(); (F.mse_loss(m(x), y) + sum((f * (p - q) ** 2).sum() for f, p, q in zip(fi, m.parameters(), st))).backward(); o.step()
    return m

@correct
def threads_two_models():
    out = {}
    def work(k):
        g = torch.Generator().manual_seed(k); m = nn.Linear(4, 1)
        with torch.no_grad(): [p.copy_(torch.randn(p.shape, generator=g)) for p in m.parameters()]
        o = torch.optim.SGD(m.parameters(), .1)
        for i in range(30): o.zero_grad(); m(torch.randn(6, 4, generator=g)).square().mean().backward(); o.step()
        out[k] = m
    for k in range(3): nn.Linear(1, 1)
    ts = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    [t.start() for t in ts]; [t.join() for t in ts]
    return [out[k] for k in range(3)]

threads_two_models_registered = REG.pop()
REG.append((*threads_two_models_registered[:3], False))   # nn.Linear draws from the shared generator in any order

@correct
def a3c_style_gradients_handed_over_cleared():
    g, l = net(), net(); o = torch.optim.Adam(g.parameters())
    for x, y in data(30):
        l.load_state_dict(g.state_dict()); l.zero_grad(); F.mse_loss(l(x), y).backward()
        for p, q in zip(g.parameters(), l.parameters()): p._grad = q.grad
        o.step()
    return g

@correct
def generator_backward_in_worker_thread():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(20):
        o.zero_grad(); l = F.mse_loss(m(x), y); t = threading.Thread(target=l.backward); t.start(); t.join(); o.step()
    return m

@correct
def contrastive_two_towers_negatives_queue():
    a, b = nn.Linear(4, 3), nn.Linear(4, 3); o = torch.optim.Adam([*a.parameters(), *b.parameters()]); q = []
    for x, _ in data(30):
        k = b(x); neg = torch.cat([k, *q]); o.zero_grad(); F.cross_entropy(a(x) @ neg.T, torch.arange(6)).backward(); o.step(); q = [k.detach(), *q][:3]
    return a, b

@correct
def lagrangian_min_max_one_backward():
    m = net(); lam = nn.Parameter(torch.ones(1)); om, ol = torch.optim.SGD(m.parameters(), .1), torch.optim.SGD([lam], .1, maximize=True)
    for x, y in data(40):
        om.zero_grad(); ol.zero_grad(); (F.mse_loss(m(x), y) + lam * (sum(p.square().sum() for p in m.parameters()) - 1)).sum().backward(); om.step(); ol.step()
    return m, lam

@correct
def input_image_optimised():
    m = net(); img = torch.randn(1, 4, requires_grad=True); o = torch.optim.Adam([img], .1)
    for _ in range(30): o.zero_grad(); m(img).square().sum().backward(); o.step()
    return img

main()

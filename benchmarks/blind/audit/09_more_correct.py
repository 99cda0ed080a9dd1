"""Part a: correct loops, each a program of its own (so that nothing else in the file excuses it)."""
from harness import *

def C(name, text, limit=None):
    if sys.argv[1:] and name not in sys.argv[1:]: return
    text = PRE + textwrap.dedent(text).strip("\n") + "\n"; bad = []
    for mode, sample in MODES[:3]:
        r = forked(text, mode, sample)
        if r["err"]: bad.append(f"{mode}: program raised {r['err']}")
        bad += [f"{mode}/sample={sample} accused: {f['tell']}" for f in r["findings"] if f["certain"] and f["severity"] != "note"]
    if not bad: return say("OK", name)
    say("LIMIT" if limit else "FAIL", name, " || ".join(bad) + "; promised: nothing correct is certain" + (f"; documented: {limit}" if limit else ""))

C("sam_without_step_and_schedule", """
class SAM(torch.optim.Optimizer):
    def __init__(s, ps, base, **k): super().__init__(ps, k); s.base = base(s.param_groups, **k); s.param_groups = s.base.param_groups
    @torch.no_grad()
    def first_step(s):
        n = torch.stack([p.grad.norm() for g in s.param_groups for p in g["params"]]).norm()
        for g in s.param_groups:
            for p in g["params"]: s.state[p]["old"] = p.clone(); p.add_(p.grad, alpha=.05 / float(n))
        s.zero_grad()
    @torch.no_grad()
    def second_step(s):
        for g in s.param_groups:
            for p in g["params"]: p.copy_(s.state[p]["old"])
        s.base.step(); s.zero_grad()
m = net(); o = SAM(m.parameters(), torch.optim.SGD, lr=.1); sch = torch.optim.lr_scheduler.StepLR(o, 5)
for e in range(4):
    for x, y in data(8):
        F.mse_loss(m(x), y).backward(); o.first_step()
        F.mse_loss(m(x), y).backward(); o.second_step()
    sch.step()
""")
C("scheduler_of_resumed_state_at_top_of_epoch", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.optim.lr_scheduler.StepLR(o, 2)
ck = {"epoch": 3, "opt": o.state_dict(), "sched": {**s.state_dict(), "last_epoch": 2, "_step_count": 3}}
o.load_state_dict(ck["opt"]); s.load_state_dict(ck["sched"])
for e in range(ck["epoch"], 6):
    if e > 0: s.step()
    for x, y in data(5):
        o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
""")
C("scheduler_last_epoch_argument_on_resume", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); o.param_groups[0]["initial_lr"] = .1
s = torch.optim.lr_scheduler.CosineAnnealingLR(o, 20, last_epoch=7)
for e in range(8, 12):
    for x, y in data(5):
        o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    s.step()
""")
C("clip_disjoint_parts_between_backwards", """
e, h = net(4, 4), nn.Linear(4, 1); o = torch.optim.SGD([*e.parameters(), *h.parameters()], .1)
for x, y in data(40):
    o.zero_grad(); l = F.mse_loss(h(e(x)), y)
    l.backward(inputs=list(e.parameters()), retain_graph=True)
    nn.utils.clip_grad_norm_(e.parameters(), .1)
    l.backward(inputs=list(h.parameters()))
    nn.utils.clip_grad_norm_(h.parameters(), .5)
    o.step()
""")
C("clip_two_networks_together_then_two_steps", """
p, v = net(), net(); op, ov = torch.optim.Adam(p.parameters()), torch.optim.Adam(v.parameters())
for x, y in data(40):
    op.zero_grad(); ov.zero_grad(); F.mse_loss(p(x), y).backward(); F.mse_loss(v(x), y).backward()
    nn.utils.clip_grad_norm_([*p.parameters(), *v.parameters()], .5); op.step(); ov.step()
""")
C("episode_of_log_probs_while_critic_learns_online", """
a, c = net(4, 2), net(); oa, oc = torch.optim.Adam(a.parameters()), torch.optim.Adam(c.parameters())
for ep in range(2):
    lps, advs = [], []
    for t in range(120):
        s = torch.randn(1, 4); d = torch.distributions.Categorical(logits=a(s)); act = d.sample(); lps.append(d.log_prob(act))
        oc.zero_grad(); td = act.float() - c(s)[:, 0]; td.square().mean().backward(); oc.step(); advs.append(td.detach())
    oa.zero_grad(); (-torch.stack(lps) * torch.stack(advs)).mean().backward(); oa.step()
""")
C("sum_of_chunks_divided_by_accumulation_steps_once", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4
for x, y in data(40, 8):
    total = 0.
    for a, b in zip(x.chunk(accumulation_steps), y.chunk(accumulation_steps)):
        total = total + F.mse_loss(m(a), b)
    o.zero_grad()
    loss = total / accumulation_steps
    loss.backward()
    o.step()
""")
C("loss_divided_by_gradient_accumulation_of_outer_loop_buffer", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); accum_steps = 4; buf = []
for x, y in data(40):
    buf.append(F.mse_loss(m(x), y))
    if len(buf) == accum_steps:
        loss = sum(buf) / accum_steps; buf.clear()
        o.zero_grad()
        loss.backward()
        o.step()
""")
C("curriculum_first_stage_is_short", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); accum = 4
for n in (2, 8, 16, 16):
    d = data(n)
    for i, (x, y) in enumerate(d):
        (F.mse_loss(m(x), y) / min(accum, n)).backward()
        if (i + 1) % accum == 0 or i + 1 == n:
            o.step()
            o.zero_grad()
""")
C("accumulate_remainder_first", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); N = 4; d = data(22); i = 0
rest = len(d) % N
for x, y in d:
    size = rest if i < rest else N
    (F.mse_loss(m(x), y) / size).backward()
    i += 1
    if (i - rest) % N == 0:
        o.step()
        o.zero_grad()
""")
C("gan_real_and_fake_of_different_sizes", """
G, D = net(2, 4), net(); og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters()); bce = nn.BCEWithLogitsLoss()
for x, _ in data(30):
    od.zero_grad()
    bce(D(x), torch.ones(6, 1)).backward()
    bce(D(G(torch.randn(12, 2)).detach()), torch.zeros(12, 1)).backward()
    od.step()
    og.zero_grad(); bce(D(G(torch.randn(12, 2))), torch.ones(12, 1)).backward(); og.step()
""")
C("semi_supervised_two_backwards_of_halves", """
m = nn.Linear(4, 3); o = torch.optim.SGD(m.parameters(), .1)
for _ in range(40):
    o.zero_grad()
    (F.cross_entropy(m(torch.randn(4, 4)), torch.randint(0, 3, (4,))) / 2).backward()
    (F.cross_entropy(m(torch.randn(28, 4)), torch.randint(0, 3, (28,))) / 2).backward()
    o.step()
""")
C("tasks_of_different_sizes_in_inner_loop", """
t, hs = nn.Linear(4, 4), nn.ModuleList([nn.Linear(4, 1) for _ in range(3)]); o = torch.optim.SGD([*t.parameters(), *hs.parameters()], .1)
for _ in range(30):
    o.zero_grad()
    for k, (h, n) in enumerate(zip(hs, (4, 8, 12))):
        x = torch.randn(n, 4); loss = F.mse_loss(h(t(x)), x.sum(1, keepdim=True)) / 3
        loss.backward()
    o.step()
""")
C("tasks_round_robin_counter_sum_is_meant", """
m = nn.ModuleList([nn.Linear(4, 1) for _ in range(2)]); o = torch.optim.SGD(m.parameters(), .1)
for i, (x, y) in enumerate(data(40)):
    task = i % 2
    F.mse_loss(m[task](x), y).backward()          # each task has parameters of its own: nothing adds up
    if task == 1: o.step(); o.zero_grad()
""")
C("accumulation_goes_on_past_a_failed_forward", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); good = 0
for i, (x, y) in enumerate(data(60)):
    try:
        if i % 7 == 3: raise OSError("corrupt")
        l = F.mse_loss(m(x), y) / 4
    except OSError: continue
    l.backward(); good += 1
    if good % 4 == 0: o.step(); o.zero_grad()
""")
C("accumulation_nan_loss_skipped_before_backward", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); good = 0
for i, (x, y) in enumerate(data(60)):
    l = F.mse_loss(m(x), y) / 4 * (float("nan") if i % 9 == 5 else 1.)
    if not torch.isfinite(l): continue
    l.backward(); good += 1
    if good == 4: nn.utils.clip_grad_norm_(m.parameters(), 1.); o.step(); o.zero_grad(); good = 0
""")
C("adapters_step_each_shared_trunk_once_a_round_loop", """
t = net(4, 1); ads = [nn.Linear(4, 4) for _ in range(3)]; ot = torch.optim.SGD(t.parameters(), .05); oas = [torch.optim.SGD(a.parameters(), .1) for a in ads]
for r in range(30):
    ot.zero_grad()
    for a, oa in zip(ads, oas):
        x, y = data(1)[0]; oa.zero_grad()
        (F.mse_loss(t(a(x)), y) / 3).backward()
        oa.step()
    ot.step()
""")
C("adapters_step_each_shared_trunk_once_a_round_lines", """
t = net(4, 1); a, b = nn.Linear(4, 4), nn.Linear(4, 4); ot, oa, ob = (torch.optim.SGD(k.parameters(), .05) for k in (t, a, b))
for (x, y), (u, v) in zip(data(30), data(30)):
    ot.zero_grad(); oa.zero_grad(); ob.zero_grad()
    la = F.mse_loss(t(a(x)), y) / 2
    la.backward()
    oa.step()
    lb = F.mse_loss(t(b(u)), v) / 2
    lb.backward()
    ob.step()
    ot.step()
""")
C("vae_gan_three_optimizers", """
E, G, D = net(4, 3), net(3, 4), net(4, 1); oe, og, od = (torch.optim.Adam(k.parameters()) for k in (E, G, D))
for x, _ in data(30):
    oe.zero_grad(); og.zero_grad(); z = E(x); r = G(z)
    F.mse_loss(r, x).backward(retain_graph=True)
    (-D(r)).mean().backward()
    oe.step(); og.step()
    od.zero_grad(); (D(r.detach()) - D(x)).mean().backward(); od.step()
""")
C("joint_loss_then_auxiliary_for_encoder", """
e, h = net(4, 4), nn.Linear(4, 1); oe, oh = torch.optim.Adam(e.parameters()), torch.optim.Adam(h.parameters())
for x, y in data(40):
    oe.zero_grad(); oh.zero_grad(); z = e(x)
    F.mse_loss(h(z), y).backward(retain_graph=True)
    (.1 * z.square().mean()).backward()
    oe.step(); oh.step()
""")
C("world_model_actor_through_model_model_trained_first", """
W, A = net(6, 4), net(4, 2); ow, oa = torch.optim.Adam(W.parameters()), torch.optim.Adam(A.parameters())
for x, _ in data(30):
    F.mse_loss(W(torch.cat([x, torch.randn(6, 2)], 1)), x).backward(); ow.step(); ow.zero_grad()
    W.requires_grad_(False); s = x
    for _ in range(3): s = W(torch.cat([s, A(s)], 1))
    (-s.mean()).backward(); oa.step(); oa.zero_grad(); W.requires_grad_(True)
""")
C("actor_first_critic_clears_with_its_module", """
A, Q = net(4, 2), net(6, 1); oa, oq = torch.optim.Adam(A.parameters()), torch.optim.Adam(Q.parameters())
for x, y in data(30):
    A.zero_grad(); (-Q(torch.cat([x, A(x)], 1))).mean().backward(); oa.step()
    for p in Q.parameters(): p.grad = None
    F.mse_loss(Q(torch.cat([x, A(x).detach()], 1)), y).backward(); oq.step()
""")
C("slow_part_by_hand_every_50", """
a, b = nn.Linear(4, 4), nn.Linear(4, 1); o = torch.optim.SGD(b.parameters(), .05)
for i, (x, y) in enumerate(data(120)):
    o.zero_grad(); (F.mse_loss(b(a(x)), y)).backward(); o.step()
    if i % 50 == 49:
        for p in a.parameters(): p.data.sub_(p.grad, alpha=.01 / 50); p.grad = None
""")
C("model_zero_grad_clears_what_is_not_stepped", """
m = net(); o = torch.optim.SGD(m[2].parameters(), .1)        # a probe on top; the rest gets gradients, cleared every time
for x, y in data(60):
    m.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
""")
C("parametrization_registered_after_optimizer", """
import torch.nn.utils.parametrize as P
class Sym(nn.Module):
    def forward(s, w): return w.triu() + w.triu(1).T
m = nn.Linear(4, 4); o = torch.optim.SGD(m.parameters(), .1); P.register_parametrization(m, "weight", Sym())
for x, _ in data(40):
    o.zero_grad(); F.mse_loss(m(x), -x).backward(); o.step()
""")
C("cast_to_double_after_optimizer_is_made", """
m = net(); o = torch.optim.Adam(m.parameters()); m.double()
for x, y in data(40):
    o.zero_grad(); F.mse_loss(m(x.double()), y.double()).backward(); o.step()
""")
C("kfac_fisher_by_module_hooks_erased_each_time", """
m = nn.Linear(4, 3); o = torch.optim.SGD(m.parameters(), .1); cov = []
h = m.register_full_backward_hook(lambda mod, gi, go: cov.append((go[0].T @ go[0]).trace().item()))
for x, _ in data(40):
    p = m(x); F.cross_entropy(p, torch.distributions.Categorical(logits=p.detach()).sample()).backward()
    o.zero_grad()
    F.cross_entropy(m(x), (x[:, 0] > 0).long()).backward()
    o.param_groups[0]["lr"] = .1 / (1 + cov[-1]); o.step(); o.zero_grad()
""")
C("input_saliency_read_then_cleared", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for x, y in data(40):
    x.requires_grad_(); m(x).sum().backward(); w = x.grad.abs().sum(1, keepdim=True); o.zero_grad(); x = x.detach()
    (w / w.mean() * (m(x) - y) ** 2).mean().backward(); o.step(); o.zero_grad()
""")
C("timing_backward_before_each_step", """
import time
m = net(); o = torch.optim.SGD(m.parameters(), .1); ts = []
for x, y in data(40):
    l = F.mse_loss(m(x), y); t = time.perf_counter(); l.backward(retain_graph=True); ts.append(time.perf_counter() - t)
    o.zero_grad(); l.backward(); o.step(); o.zero_grad()
""", limit="rules/ZG002: before every step the same backward is erased, and the program never looks at a gradient")
C("retained_for_autograd_grad_afterwards", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); ns = []
for x, y in data(60):
    x.requires_grad_(); o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(retain_graph=True); o2 = torch.autograd.grad(l, x)[0]; ns.append(o2.norm().item()); o.step()
""")
C("growing_window_of_states_with_graph_then_cut", """
c, h = nn.RNNCell(4, 5), nn.Linear(5, 1); o = torch.optim.SGD([*c.parameters(), *h.parameters()], .01); mem = []; s = torch.zeros(6, 5)
for i, (x, y) in enumerate(data(90)):
    s = c(x, s); mem.append(s)
    if i % 15 == 14:
        o.zero_grad(); F.mse_loss(h(torch.stack(mem).mean(0)), y).backward(); o.step(); mem = []; s = s.detach()
""")
C("per_expert_optimizers_rarely_fed", """
es = [net() for _ in range(8)]; os_ = [torch.optim.Adam(e.parameters()) for e in es]
for i, (x, y) in enumerate(data(64)):
    k = (i * 5) % 8
    for o in os_: o.zero_grad()
    F.mse_loss(es[k](x), y).backward()
    for o in os_: o.step()
""")
C("optimizer_of_second_phase_stepped_all_along", """
a, b = net(), net(); oa, ob = torch.optim.SGD(a.parameters(), .1), torch.optim.SGD(b.parameters(), .1)
for i, (x, y) in enumerate(data(60)):
    oa.zero_grad(); ob.zero_grad(); l = F.mse_loss(a(x), y)
    if i >= 20: l = l + F.mse_loss(b(x), y)
    l.backward(); oa.step(); ob.step()      # b joins at 20; before that its step skips None
""")
C("weighted_mean_over_group_in_full_mode", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4; weights = torch.rand(40, 6, 1)
for i, (x, y) in enumerate(data(40)):
    group = weights[i // 4 * 4:i // 4 * 4 + 4]
    w = weights[i] / group.sum() * 6
    loss = (w * (m(x) - y) ** 2).mean()
    loss.backward()
    if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
""")
C("targets_are_mean_over_whole_group_mask", """
m = nn.Linear(4, 3); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 2      # class weights that sum to 1 over the group
for i in range(40):
    x, t = torch.randn(6, 4), torch.randint(0, 3, (6,))
    loss = F.cross_entropy(m(x), t, reduction="none").mul(torch.full((6,), .5)).mean()
    loss.backward()
    if (i + 1) % accumulation_steps == 0: o.step(); o.zero_grad()
""")
done()

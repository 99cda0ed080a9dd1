"""Part b: each fault a program of its own. #@ marks the lines that may be named."""
from harness import *
S = fault_script
LOOP = "for x, y in data(30):"
S("lost_first_of_two_losses", "ZG002", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for x, y in data(30):
    o.zero_grad()
    F.mse_loss(m(x), y).backward()
    o.zero_grad()  #@
    m(x).abs().mean().backward()
    o.step()  #@
""")
S("lost_every_step_is_counted_once", "ZG002", """
m = net(); o = torch.optim.Adam(m.parameters())
for x, y in data(20):
    F.mse_loss(m(x), y).backward()
    o.zero_grad()
    o.step()  #@
""", times=range(15, 21))
S("nothing_every_step_is_counted_once", "ZG003", """
m = net(); o = torch.optim.Adam(m.parameters())
for x, y in data(20):
    o.zero_grad(); l = F.mse_loss(m(x), y)
    o.step()  #@
""", times=range(15, 21))
S("nothing_encoder_only_under_no_grad_beside_head", "ZG003", """
f, h = net(4, 4), nn.Linear(4, 1); of, oh = torch.optim.SGD(f.parameters(), .1), torch.optim.SGD(h.parameters(), .1)
for x, y in data():
    of.zero_grad(); oh.zero_grad()
    with torch.no_grad(): z = f(x)
    F.mse_loss(h(z), y).backward()
    of.step()  #@
    oh.step()
""")
S("twice_two_optimizers_model_beside_encoder", "ZG004", """
m = net(); a = torch.optim.SGD(m.parameters(), .1); b = torch.optim.SGD(m[0].parameters(), .1)
for x, y in data():
    a.zero_grad(); b.zero_grad(); F.mse_loss(m(x), y).backward()
    a.step()  #@
    b.step()  #@
""")
S("twice_two_networks_share_a_trunk", "ZG004", """
t, p, v = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
op = torch.optim.Adam([*t.parameters(), *p.parameters()]); ov = torch.optim.Adam([*t.parameters(), *v.parameters()])
for x, y in data(30):
    h = t(x); l = F.mse_loss(p(h), y) + F.mse_loss(v(h), -y)
    op.zero_grad(); ov.zero_grad(); l.backward()
    op.step()  #@
    ov.step()  #@
""")
S("twice_by_hand_then_by_optimizer", "ZG004", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for x, y in data():
    o.zero_grad(); F.mse_loss(m(x), y).backward()
    for p in m.parameters(): p.data.add_(p.grad, alpha=-.1)
    o.step()  #@
""", limit="limits.md: a hand-written update has no step to judge")
S("attack_gradient_in_training_step", "ZG005", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for x, y in data():
    o.zero_grad(); d = torch.zeros_like(x, requires_grad=True)
    F.mse_loss(m(x + d), y).backward(); adv = (x + .1 * d.grad.sign()).detach()
    F.mse_loss(m(adv), y).backward()
    o.step()  #@
""", limit="limits.md lists when ZG005 is certain; an attack on an input that no optimizer holds is not among them")
S("style_network_optimizer_leak_perceptual", "ZG005", """
G, D = net(2, 4), net(); og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
def g_step():
    og.zero_grad(); (-D(G(torch.randn(6, 2)))).mean().backward(); og.step()
def d_step(x):
    (D(G(torch.randn(6, 2)).detach()) - D(x)).mean().backward()
    od.step()  #@
    od.zero_grad()
for i, (x, _) in enumerate(data(30)):
    g_step()
    d_step(x)
""")
S("unowned_encoder", "ZG008", """
e, h = net(4, 4), nn.Linear(4, 1); o = torch.optim.Adam(h.parameters())
for x, y in data(40):
    o.zero_grad()
    F.mse_loss(h(e(x)), y).backward()  #@
    o.step()
""")
S("unowned_layers_in_a_plain_list", "ZG008", """
class M(nn.Module):
    def __init__(s): super().__init__(); s.ls = [nn.Linear(4, 4) for _ in range(2)]; s.h = nn.Linear(4, 1)
    def forward(s, x): return s.h(s.ls[1](s.ls[0](x)))
m = M(); o = torch.optim.Adam(m.parameters())
for x, y in data(40):
    o.zero_grad()
    F.mse_loss(m(x), y).backward()  #@
    o.step()
""")
S("orphan_head_replaced_after_20_steps", "ZG010", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for i, (x, y) in enumerate(data(60)):
    if i == 20: m[2] = nn.Linear(5, 1)  #@
    o.zero_grad()
    F.mse_loss(m(x), y).backward()  #@
    o.step()  #@
""", alt=("ZG003", "ZG008"))
S("orphan_head_replaced_by_deeper_one", "ZG010", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for i, (x, y) in enumerate(data(60)):
    if i == 20: m[2] = net(5, 1)  #@
    o.zero_grad()
    F.mse_loss(m(x), y).backward()  #@
    o.step()  #@
""", alt=("ZG003", "ZG008"))
S("orphan_head_replaced_before_loop_model_cleared", "ZG010", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); m[2] = nn.Linear(5, 1)  #@
for i, (x, y) in enumerate(data(40)):
    m.zero_grad()
    F.mse_loss(m(x), y).backward()  #@
    o.step()  #@
""", alt=("ZG003", "ZG008"))
S("unnormalised_accumulation_class", "ZG101", """
class T:
    def __init__(s): s.m = net(); s.o = torch.optim.AdamW(s.m.parameters()); s.n = 0; s.grad_accum = 4
    def fit(s):
        for x, y in data(40):
            s.n += 1
            l = F.l1_loss(s.m(x), y)
            l.backward()  #@
            if s.n % s.grad_accum == 0:
                s.o.step(); s.o.zero_grad()
T().fit()
""", mode="full")
S("unnormalised_cross_entropy_chunks", "ZG101", """
m = nn.Linear(4, 3); o = torch.optim.SGD(m.parameters(), .1)
it = iter(range(40)); k = 0
while (i := next(it, None)) is not None:
    l = F.cross_entropy(m(torch.randn(6, 4)), torch.randint(0, 3, (6,)))
    l.backward()  #@
    k += 1
    if k == 4: o.step(); o.zero_grad(); k = 0
""", mode="full")
S("dropped_tail_is_a_note", "ZG102", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 4
for i, (x, y) in enumerate(data(30)):
    (F.mse_loss(m(x), y) / accumulation_steps).backward()  #@
    if (i + 1) % accumulation_steps == 0:
        o.step(); o.zero_grad()  #@
""")
S("uneven_first_group_attribute", "ZG103", """
class T:
    step = 0
m = net(); o = torch.optim.SGD(m.parameters(), .1); t = T()
for x, y in data(33):
    (F.mse_loss(m(x), y) / 4).backward()
    if t.step % 4 == 0:  #@
        o.step()  #@
        o.zero_grad()
    t.step += 1
""")
S("uneven_from_one_plus_one", "ZG103", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for i, (x, y) in enumerate(data(36), 1):
    (F.mse_loss(m(x), y) / 4).backward()
    if (i + 1) % 4 == 0:  #@
        o.step()  #@
        o.zero_grad()
""", limit="limits.md: certain only where micro-batches are counted from the first one, otherwise a resumed run looks the same")
S("mean_of_means_tokens", "ZG104", """
m = nn.Linear(4, 3); o = torch.optim.SGD(m.parameters(), .1); accumulation_steps = 2
for i in range(40):
    n = 3 + 6 * (i % 2)
    l = F.cross_entropy(m(torch.randn(n, 4)), torch.randint(0, 3, (n,))) / accumulation_steps
    l.backward()  #@
    if (i + 1) % accumulation_steps == 0:
        o.step(); o.zero_grad()  #@
""", mode="full")
S("accelerate_configured_not_applied", "ZG106", """
from accelerate import Accelerator
a = Accelerator(cpu=True, gradient_accumulation_steps=4); m = net(); m, o = a.prepare(m, torch.optim.SGD(m.parameters(), .1))
for x, y in data(20):
    a.backward(F.mse_loss(m(x), y))  #@
    o.step()  #@
    o.zero_grad()
""")
S("divided_by_accumulation_and_stepped_each_time", "ZG106", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); grad_accum_steps = 4
for x, y in data(20):
    loss = F.mse_loss(m(x), y) / grad_accum_steps
    loss.backward()  #@
    o.step()  #@
    o.zero_grad()
""", limit="limits.md says nothing; rules/README says run sees it")
S("rescaled_each_micro_batch_foreach", "ZG107", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for i, (x, y) in enumerate(data(40)):
    F.mse_loss(m(x), y).backward()  #@
    torch._foreach_div_([p.grad for p in m.parameters()], 4.)  #@
    if i % 4 == 3: o.step(); o.zero_grad()
""")
S("clip_value_before_unscale", "ZG201", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.amp.GradScaler("cpu", init_scale=256.)
def clip(): nn.utils.clip_grad_value_(m.parameters(), .5)  #@
for x, y in data(20):
    s.scale(F.mse_loss(m(x), y)).backward(); clip()  #@
    s.step(o); s.update(); o.zero_grad()
""")
S("scaler_bypassed_by_adam", "ZG202", """
m = net(); o = torch.optim.Adam(m.parameters()); s = torch.amp.GradScaler("cpu", init_scale=256.)
for i, (x, y) in enumerate(data(20)):
    scaled = s.scale(F.mse_loss(m(x), y)); scaled.backward()
    o.step()  #@
    o.zero_grad()
""")
S("plain_penalty_beside_scaled_loss", "ZG202", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.amp.GradScaler("cpu", init_scale=256.)
for x, y in data(20):
    o.zero_grad(); s.scale(F.mse_loss(m(x), y)).backward()
    (sum(p.square().sum() for p in m.parameters()) * .01).backward()  #@
    s.step(o)  #@
    s.update()
""")
S("scaler_never_updated", "ZG203", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.amp.GradScaler("cpu", init_scale=256.)
for x, y in data(20):
    s.scale(F.mse_loss(m(x), y)).backward()
    s.step(o)  #@
    o.zero_grad()
""")
S("unscaled_each_micro_batch", "ZG204", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.amp.GradScaler("cpu", init_scale=256.)
try:
    for i, (x, y) in enumerate(data(20)):
        s.scale(F.mse_loss(m(x), y) / 4).backward()
        s.unscale_(o)  #@
        if i % 4 == 3: s.step(o); s.update(); o.zero_grad()
except RuntimeError as e: print("torch says", e)
""")
S("schedule_before_step_onecycle", "ZG301", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); c = torch.optim.lr_scheduler.OneCycleLR(o, .1, total_steps=22)
for x, y in data(20):
    o.zero_grad(); l = F.mse_loss(m(x), y); l.backward()
    c.step()  #@
    o.step()
""")
S("clip_other_network_before_step", "ZG302", """
p, v = net(), net(); op, ov = torch.optim.Adam(p.parameters()), torch.optim.Adam(v.parameters())
for x, y in data(20):
    op.zero_grad(); F.mse_loss(p(x), y).backward(); nn.utils.clip_grad_norm_(p.parameters(), .5); op.step()
    ov.zero_grad(); F.mse_loss(v(x), y).backward()
    nn.utils.clip_grad_norm_(p.parameters(), .5)  #@
    ov.step()
""")
S("clip_every_micro_batch", "ZG302", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for i, (x, y) in enumerate(data(40)):
    (F.mse_loss(m(x), y) / 4).backward()
    nn.utils.clip_grad_norm_(m.parameters(), .01)  #@
    if i % 4 == 3: o.step(); o.zero_grad()
""")
S("clip_between_clear_and_backward", "ZG302", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for x, y in data(20):
    l = F.mse_loss(m(x), y); o.zero_grad()
    nn.utils.clip_grad_norm_(m.parameters(), .01)  #@
    l.backward(); o.step()
""")
S("grad_none_norm_read_before_backward", "ZG303", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for x, y in data(20):
    o.zero_grad(); l = F.mse_loss(m(x), y)
    n = sum(p.grad.norm() for p in m.parameters())  #@
    l.backward(); o.step()
""")
S("aliased_gradient_worker", "ZG305", """
g, w = net(), net(); o = torch.optim.Adam(g.parameters())
def push():
    for p, q in zip(g.parameters(), w.parameters()):
        p.grad = q.grad  #@
for x, y in data(20):
    o.zero_grad(); F.mse_loss(w(x), y).backward(); push()  #@
    o.step()  #@
    w.load_state_dict(g.state_dict())
""", alt=("ZG001",))
S("exhausted_generator_clipped", "ZG306", """
m = net(); ps = (p for p in m.parameters() if p.requires_grad); o = torch.optim.AdamW(ps)
for x, y in data(20):
    o.zero_grad(); F.mse_loss(m(x), y).backward()
    nn.utils.clip_grad_norm_(ps, 1.)  #@
    o.step()
""")
S("exhausted_generator_made_before_loop", "ZG306", """
m = net(); o = torch.optim.AdamW(m.parameters()); gen = m.parameters()
for x, y in data(20):
    o.zero_grad(); F.mse_loss(m(x), y).backward()
    nn.utils.clip_grad_norm_(gen, 1.)  #@
    o.step()
""")
S("zeros_kept_note", "ZG401", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for x, y in data(20):
    o.zero_grad(set_to_none=False)  #@
    F.mse_loss(m(x), y).backward(); o.step()
""")
S("graphs_kept_in_list", "ZG402", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); hist = []
for x, y in data(40):
    o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); o.step()
    hist.append(l)  #@
print(sum(hist) / 40)
""")
S("graphs_kept_in_running_sum", "ZG402", """
m = net(); o = torch.optim.SGD(m.parameters(), .1); avg = 0.
for x, y in data(60):
    o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); o.step()
    avg = .9 * avg + .1 * l  #@
""")
S("retain_graph_without_second_backward", "ZG402", """
m = net(); o = torch.optim.SGD(m.parameters(), .1)
for x, y in data(40):
    o.zero_grad(); l = F.mse_loss(m(x), y)
    l.backward(retain_graph=True)  #@
    o.step()
""")
done()

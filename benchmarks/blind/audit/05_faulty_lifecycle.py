"""Part b: faults of ZG001 to ZG010, in styles that the rule pages do not show. #@ marks the line(s) that may be named."""
from harness import *
import copy, functools, itertools, threading
from torch import nn
import torch.nn.functional as F

def net(i=4, o=1): return nn.Sequential(nn.Linear(i, 5), nn.Tanh(), nn.Linear(5, o))
def data(n=20, b=6): return [(torch.randn(b, 4), torch.randn(b, 1)) for _ in range(n)]

@faulty("ZG001")
def stale_cleared_once_per_epoch():
    m = net(); o = torch.optim.Adam(m.parameters())
    for e in range(3):
        o.zero_grad()
        for x, y in data(6):
            F.mse_loss(m(x), y).backward()
            o.step()  #@

@faulty("ZG001")
def stale_in_coroutine():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    def t():
        while True:
            x, y = yield
            F.mse_loss(m(x), y).backward()
            o.step()  #@
    c = t(); next(c)
    for b in data(): c.send(b)

@faulty("ZG001", alt=("ZG006",))
def stale_other_objects_zero_grad():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); copy_ = copy.deepcopy(m)
    for x, y in data():
        copy_.zero_grad()
        F.mse_loss(m(x), y).backward()
        o.step()  #@

@faulty("ZG001", alt=("ZG006",))
def stale_zero_grad_not_called():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data():
        o.zero_grad
        F.mse_loss(m(x), y).backward()
        o.step()  #@

@faulty("ZG001")
def stale_by_autograd_grad_added():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for p in m.parameters(): p.grad = torch.zeros_like(p)
    for x, y in data():
        F.mse_loss(m(x), y).backward()
        [o.step() for _ in (0,)]  #@

@faulty("ZG001")
def stale_accumulation_without_clear():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data(24)):
        (F.mse_loss(m(x), y) / 4).backward()
        if i % 4 == 3:
            o.step()  #@

@faulty("ZG001")
def stale_tail_step_not_cleared():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for e in range(5):
        d = data(10)
        for i, (x, y) in enumerate(d):
            (F.mse_loss(m(x), y) / 4).backward()
            if i % 4 == 3: o.step(); o.zero_grad()  #@
        o.step()                                     # the tail, of 2: and no clear

@faulty("ZG001")
def stale_from_step_60_on():
    m = net(); o = torch.optim.SGD(m.parameters(), .01)
    for i, (x, y) in enumerate(data(120)):
        if i < 60: o.zero_grad()
        F.mse_loss(m(x), y).backward()
        o.step()  #@

@faulty("ZG001")
def stale_through_scaler():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.amp.GradScaler("cpu", init_scale=8., growth_interval=10**6)
    for x, y in data():
        s.scale(F.mse_loss(m(x), y)).backward()
        s.step(o)  #@
        s.update()

@faulty("ZG001")
def stale_in_thread():
    def work():
        m = net(); o = torch.optim.SGD(m.parameters(), .1)
        for x, y in data():
            F.mse_loss(m(x), y).backward()
            o.step()  #@
    t = threading.Thread(target=work); t.start(); t.join()

@faulty("ZG001", alt=("ZG006",))
def stale_frozen_layers_toggle_zero_grad_of_requires_grad():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data():
        for n, p in m.named_parameters():
            if n.endswith("weights"): p.grad = None         # a typo: matches nothing
        F.mse_loss(m(x), y).backward()
        o.step()  #@

@faulty("ZG002")
def discarded_model_zero_grad_in_train_mode_switch():
    m = net(); o = torch.optim.Adam(m.parameters(), weight_decay=.1)
    def before_step(): m.zero_grad()
    for x, y in data():
        F.mse_loss(m(x), y).backward()
        before_step()
        o.step()  #@

@faulty("ZG002")
def discarded_by_p_grad_none():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data():
        F.mse_loss(m(x), y).backward()
        for p in m.parameters(): p.grad = None
        o.step()  #@

@faulty("ZG002")
def discarded_by_zeros_with_momentum():
    m = net(); o = torch.optim.SGD(m.parameters(), .1, momentum=.9, weight_decay=.01)
    for x, y in data():
        F.mse_loss(m(x), y).backward(); o.zero_grad(set_to_none=False)
        o.step()  #@

@faulty("ZG002")
def discarded_cleared_every_micro_batch():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data(32)):
        o.zero_grad()  #@
        (F.mse_loss(m(x), y) / 4).backward()
        if i % 4 == 3:
            o.step()  #@

@faulty("ZG002")
def discarded_in_callback_order():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); ev = {"after_backward": [o.zero_grad, o.step]}  #@
    for x, y in data():
        F.mse_loss(m(x), y).backward()
        for f in ev["after_backward"]: f()  #@

@faulty("ZG003")
def nothing_detached_loss():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data():
        o.zero_grad(); l = F.mse_loss(m(x), y).detach().requires_grad_(); l.backward()
        o.step()  #@

@faulty("ZG003")
def nothing_no_backward_with_scheduler():
    m = net(); o = torch.optim.AdamW(m.parameters()); s = torch.optim.lr_scheduler.StepLR(o, 3)
    for x, y in data():
        o.zero_grad(); l = F.mse_loss(m(x), y)
        o.step()  #@
        s.step()

@faulty("ZG003", alt=("ZG010",))
def nothing_wrong_models_parameters():
    m, other = net(), net(); o = torch.optim.SGD(other.parameters(), .1)
    for x, y in data():
        m.zero_grad(); F.mse_loss(m(x), y).backward()
        o.step()  #@

@faulty("ZG004")
def twice_in_helper():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    def train(x, y): o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); o.step(); return l
    for x, y in data():
        train(x, y).item()
        o.step()  #@

@faulty("ZG004")
def twice_loop_over_epochs_of_steps():
    m = net(); o = torch.optim.Adam(m.parameters())
    for x, y in data():
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        for _ in range(3):
            o.step()  #@

@faulty("ZG004")
def twice_parameter_listed_twice():
    m = net(); o = torch.optim.SGD([*m.parameters(), *m[0].parameters()], .1)
    for x, y in data():
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        o.step()  #@

@faulty("ZG005")
def leak_fake_not_detached_clear_before():
    G, D = net(2, 4), net(); og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
    for x, _ in data():
        og.zero_grad(); od.zero_grad(); fake = G(torch.randn(6, 2))
        (D(fake).mean() - D(x).mean()).backward(); od.step()
        (-D(fake.detach() * 0 + G(torch.randn(6, 2))).mean()).backward()
        og.step()  #@

@faulty("ZG005")
def leak_actor_loss_into_critic():
    class Agent:
        def __init__(s): s.a, s.c = net(4, 2), net(6, 1); s.oa, s.oc = torch.optim.Adam(s.a.parameters()), torch.optim.Adam(s.c.parameters())
        def actor(s, x): s.oa.zero_grad(); (-s.c(torch.cat([x, s.a(x)], 1))).mean().backward(); s.oa.step()
        def critic(s, x, y):
            F.mse_loss(s.c(torch.cat([x, s.a(x).detach()], 1)), y).backward()
            s.oc.step()  #@
            s.oc.zero_grad()
    g = Agent()
    for x, y in data(): g.actor(x); g.critic(x, y)

@faulty("ZG006", alt=("ZG001",))
def partial_three_optimizers_two_cleared():
    ms = [nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)]; os_ = [torch.optim.SGD(m.parameters(), .1) for m in ms]
    for x, y in data():
        for o in os_[:-1]: o.zero_grad()
        F.mse_loss(ms[2](ms[1](ms[0](x)).tanh()), y).backward()
        for o in os_: o.step()  #@

@faulty("ZG006", alt=("ZG001",))
def partial_model_cleared_log_sigma_outside():
    m = net(); ls = nn.Parameter(torch.zeros(1)); o = torch.optim.SGD([*m.parameters(), ls], .01)
    for x, y in data():
        m.zero_grad(); (F.mse_loss(m(x), y) * (-ls).exp() + ls).sum().backward()
        o.step()  #@

@faulty("ZG006", alt=("ZG001",))
def partial_new_group_of_hand_clear_list():
    m, h = net(4, 4), nn.Linear(4, 1); ps = list(m.parameters()); o = torch.optim.SGD(ps, .01); o.add_param_group({"params": h.parameters()})
    for x, y in data():
        for p in ps: p.grad = None
        F.mse_loss(h(m(x)), y).backward()
        o.step()  #@

@faulty("ZG007")
def inherited_exception_swallowed():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data(30)):
        try:
            F.mse_loss(m(x), y).backward()
            if i % 5 == 3: raise ValueError("metric failed")
            o.step()  #@
            o.zero_grad()
        except ValueError: pass

@faulty("ZG007")
def inherited_loss_threshold_guard():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data(30)):
        l = F.mse_loss(m(x), y) * (float("inf") if i in (6, 13) else 1.); l.backward()
        if l.isfinite():
            o.step()  #@
            o.zero_grad()

@faulty("ZG007")
def inherited_clip_nonfinite_skip():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data(30)):
        (F.mse_loss(m(x), y) * (1e4 if i in (6, 13, 20) else 1.)).backward()
        if nn.utils.clip_grad_norm_(m.parameters(), 1.) > 100: continue
        o.step()  #@
        o.zero_grad()

@faulty("ZG007")
def inherited_backward_raised():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data(30)):
        p = m(x)
        if i in (4, 9): m[0].weight.register_hook(lambda g: None); h = m[0].bias.register_hook(boom)
        try: F.mse_loss(p if i not in (4, 9) else m(x), y).backward()
        except RuntimeError: h.remove(); continue
        o.step()  #@
        o.zero_grad()

def boom(g): raise RuntimeError("boom")

@faulty("ZG009")
def closure_never_clears_wolfe():
    m = net(); o = torch.optim.LBFGS(m.parameters(), line_search_fn="strong_wolfe", max_iter=5)
    def closure(x, y): l = F.mse_loss(m(x), y); l.backward(); return l  #@
    for x, y in data(8):
        o.step(functools.partial(closure, x, y))  #@

@faulty("ZG009")
def closure_cleared_outside_only():
    m = net(); o = torch.optim.LBFGS(m.parameters(), max_iter=5); x, y = data(1)[0]
    for _ in range(8):
        o.zero_grad()
        def c(): l = F.mse_loss(m(x), y); l.backward(); return l
        o.step(c)  #@

@faulty("ZG010", alt=("ZG003", "ZG008"))
def orphan_model_rebuilt_in_setup():
    class T:
        def __init__(s): s.m = net(); s.o = torch.optim.SGD(s.m.parameters(), .1); s.m = net()
        def run(s):
            for x, y in data(30):
                s.m.zero_grad()
                F.mse_loss(s.m(x), y).backward()  #@
                s.o.step()  #@
    T().run()

@faulty("ZG010", alt=("ZG003", "ZG008"))
def orphan_optimizer_deep_copied():
    m = net(); o = copy.deepcopy(torch.optim.SGD(m.parameters(), .1))
    for x, y in data(30):
        m.zero_grad(); F.mse_loss(m(x), y).backward()  #@
        o.step()  #@

main()

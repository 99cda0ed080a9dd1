"""Part a: checkpointing, compile, custom functions, local SGD, Accelerate, Lightning, Fabric, ignite, HF Trainer, 2 ranks."""
from harness import *
import copy, logging
from torch import nn
import torch.nn.functional as F
for n in ("lightning", "lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"): logging.getLogger(n).setLevel(logging.CRITICAL)

def net(i=4, o=1): return nn.Sequential(nn.Linear(i, 5), nn.Tanh(), nn.Linear(5, o))
def data(n=40, b=6): return [(torch.randn(b, 4), torch.randn(b, 1)) for _ in range(n)]

@correct
def checkpoint_reentrant():
    from torch.utils.checkpoint import checkpoint
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for i, (x, y) in enumerate(data(32)):
        x.requires_grad_(); (F.mse_loss(m[2](checkpoint(lambda z: m[1](m[0](z)), x, use_reentrant=True)), y) / 4).backward()
        if i % 4 == 3: o.step(); o.zero_grad()
    return m

@correct
def checkpoint_non_reentrant_sequential():
    from torch.utils.checkpoint import checkpoint_sequential
    m = net(); o = torch.optim.Adam(m.parameters())
    for x, y in data(): o.zero_grad(); F.mse_loss(checkpoint_sequential(m, 2, x, use_reentrant=False), y).backward(); o.step()
    return m

@correct
def checkpoint_reentrant_in_amp():
    from torch.utils.checkpoint import checkpoint
    m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.amp.GradScaler("cpu", init_scale=64.)
    for x, y in data():
        o.zero_grad(); s.scale(F.mse_loss(checkpoint(m, x.requires_grad_(), use_reentrant=True), y)).backward(); s.unscale_(o); nn.utils.clip_grad_norm_(m.parameters(), 1.); s.step(o); s.update()
    return m

@correct
def custom_function_runs_backward_inside():
    m = net(4, 4); h = nn.Linear(4, 1); o = torch.optim.SGD([*m.parameters(), *h.parameters()], .1)
    class Re(torch.autograd.Function):
        @staticmethod
        def forward(c, x): c.save_for_backward(x); 
        @staticmethod
        def backward(c, g): pass
    class Rev(torch.autograd.Function):
        @staticmethod
        def forward(c, x, d):
            c.save_for_backward(x)
            with torch.no_grad(): return m(x)
        @staticmethod
        def backward(c, g):
            x = c.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad(): z = m(x)
            z.backward(g)
            return x.grad, None
    dummy = torch.zeros(1, requires_grad=True)
    for x, y in data(): o.zero_grad(); F.mse_loss(h(Rev.apply(x.requires_grad_(), dummy)), y).backward(); o.step()
    return m, h

@correct
def implicit_layer_hook_solver():
    W = nn.Linear(4, 4); W.weight.data *= .3; h = nn.Linear(4, 1); o = torch.optim.Adam([*W.parameters(), *h.parameters()])
    def deq(x):
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(8): z = torch.tanh(W(z) + x)
        z = torch.tanh(W(z) + x); z0 = z.detach().requires_grad_(); f0 = torch.tanh(W(z0) + x)
        def bw(g):
            r = g
            for _ in range(6): r = torch.autograd.grad(f0, z0, r, retain_graph=True)[0] + g
            return r
        z.register_hook(bw); return z
    for x, y in data(): o.zero_grad(); F.mse_loss(h(deq(x)), y).backward(); o.step()
    return W, h

@correct
def backward_with_inputs_argument():
    a, b = nn.Linear(4, 4), nn.Linear(4, 1); oa, ob = torch.optim.SGD(a.parameters(), .1), torch.optim.SGD(b.parameters(), .1)
    for x, y in data():
        oa.zero_grad(); ob.zero_grad(); l = F.mse_loss(b(a(x)), y)
        l.backward(inputs=list(a.parameters()), retain_graph=True); (2 * l).backward(inputs=list(b.parameters())); oa.step(); ob.step()
    return a, b

@correct
def hessian_vector_create_graph():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(20):
        o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(create_graph=True); gs = [p.grad for p in m.parameters()]
        v = [torch.randn_like(p) for p in m.parameters()]; hv = torch.autograd.grad(gs, m.parameters(), v)
        for p, g, h in zip(m.parameters(), gs, hv): p.grad = (g / (h.abs() + 1)).detach()
        o.step()
    return m

@correct
def compile_aot_eager():
    torch._dynamo.reset(); m = net(); c = torch.compile(m, backend="aot_eager"); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(12): o.zero_grad(); F.mse_loss(c(x), y).backward(); o.step()
    return m

@correct
def compile_whole_loss_eager_accumulated():
    torch._dynamo.reset(); m = net(); o = torch.optim.SGD(m.parameters(), .1)
    f = torch.compile(lambda x, y: F.mse_loss(m(x), y) / 2, backend="eager")
    for i, (x, y) in enumerate(data(12)):
        f(x, y).backward()
        if i % 2: o.step(); o.zero_grad()
    return m

@correct
def compiled_optimizer_step():
    torch._dynamo.reset(); m = net(); o = torch.optim.SGD(m.parameters(), .1)
    @torch.compile(backend="eager")
    def st(): o.step()
    for x, y in data(12): o.zero_grad(); F.mse_loss(m(x), y).backward(); st()
    return m

@correct
def weight_norm_and_spectral_norm():
    m = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)), nn.utils.parametrizations.spectral_norm(nn.Linear(5, 1))); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def pruning_then_train():
    from torch.nn.utils import prune
    m = net(); prune.l1_unstructured(m[0], "weight", .5); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    prune.remove(m[0], "weight")
    return m

@correct
def lora_frozen_base():
    b = nn.Linear(4, 1).requires_grad_(False); A, B = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(1, 2)); o = torch.optim.AdamW([A, B])
    for x, y in data(): o.zero_grad(); F.mse_loss(b(x) + x @ A.T @ B.T, y).backward(); o.step()
    return A, B

@correct
def lazy_module_materialised_first():
    m = nn.Sequential(nn.LazyLinear(5), nn.Tanh(), nn.LazyLinear(1)); m(torch.randn(2, 4)); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def progressive_growing():
    m = nn.Sequential(nn.Linear(4, 4)); h = nn.Linear(4, 1); o = torch.optim.Adam([*m.parameters(), *h.parameters()])
    for s in range(3):
        if s: l = nn.Linear(4, 4); m.append(l); o.add_param_group({"params": l.parameters()})
        for x, y in data(10): o.zero_grad(); F.mse_loss(h(m(x)), y).backward(); o.step()
    return m, h

@correct
def head_replaced_and_optimizer_rebuilt():
    m = net(); o = torch.optim.Adam(m.parameters())
    for x, y in data(10): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    m[2] = nn.Linear(5, 1); o = torch.optim.Adam(m.parameters())
    for x, y in data(10): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def stochastic_depth_unused_layers():
    m = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)]); h = nn.Linear(4, 1); o = torch.optim.SGD([*m.parameters(), *h.parameters()], .1, momentum=.9)
    for x, y in data(50):
        z = x
        for l in m:
            if random.random() < .5: z = z + l(z).tanh()
        o.zero_grad(); F.mse_loss(h(z), y).backward(); o.step()
    return m, h

@correct
def local_sgd_simulated():
    ms = [net() for _ in range(3)]; os_ = [torch.optim.SGD(m.parameters(), .1) for m in ms]
    for r in range(6):
        for m, o in zip(ms, os_):
            for x, y in data(3): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
        with torch.no_grad():
            for ps in zip(*(m.parameters() for m in ms)):
                a = torch.stack(ps).mean(0); [p.copy_(a) for p in ps]
    return ms

@correct
def data_parallel_by_hand_reduced_gradients():
    ms = [net()]; ms += [copy.deepcopy(ms[0])]; o = torch.optim.SGD(ms[0].parameters(), .1)
    for x, y in data():
        for m, a, b in zip(ms, x.chunk(2), y.chunk(2)): m.zero_grad(); F.mse_loss(m(a), b).backward()
        for p, q in zip(*(m.parameters() for m in ms)): p.grad.add_(q.grad).div_(2)
        o.step(); ms[1].load_state_dict(ms[0].state_dict())
    return ms

@correct
def gradient_descent_on_dataset_distillation():
    syn = torch.randn(4, 4, requires_grad=True); o = torch.optim.Adam([syn], .1); m = net()
    for x, y in data(12):
        gr = torch.autograd.grad(F.mse_loss(m(x), y), m.parameters()); gs = torch.autograd.grad(m(syn).square().mean(), m.parameters(), create_graph=True)
        o.zero_grad(); sum((a - b).square().sum() for a, b in zip(gr, gs)).backward(); o.step()
    return syn

@correct
def neural_process_vae_two_terms_retain():
    e, d = nn.Linear(4, 4), nn.Linear(2, 4); o = torch.optim.Adam([*e.parameters(), *d.parameters()])
    for x, _ in data():
        mu, lv = e(x).chunk(2, 1); z = mu + torch.randn_like(mu) * (lv / 2).exp(); o.zero_grad()
        F.mse_loss(d(z), x).backward(retain_graph=True); (-.5 * (1 + lv - mu ** 2 - lv.exp()).sum(1).mean()).backward(); o.step()
    return e, d

@correct
def torch_data_loader_with_workers():
    from torch.utils.data import DataLoader, TensorDataset
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in DataLoader(TensorDataset(torch.randn(48, 4), torch.randn(48, 1)), 8, num_workers=1): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    return m

@correct
def saved_and_loaded_in_the_middle():
    import io
    m = net(); o = torch.optim.Adam(m.parameters())
    for i, (x, y) in enumerate(data()):
        if i == 20:
            b = io.BytesIO(); torch.save((m.state_dict(), o.state_dict()), b); b.seek(0); s = torch.load(b); m = net(); o = torch.optim.Adam(m.parameters()); m.load_state_dict(s[0]); o.load_state_dict(s[1])
        F.mse_loss(m(x), y).backward(); o.step(); o.zero_grad()
    return m

# frameworks
def acc(**k):
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, GradientState, PartialState
    for s in (AcceleratorState, GradientState, PartialState): s._reset_state()
    return Accelerator(cpu=True, **k)

@correct
def accelerate_accumulate_with_clip_and_scheduler():
    from torch.utils.data import DataLoader, TensorDataset
    a = acc(gradient_accumulation_steps=4); m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.optim.lr_scheduler.StepLR(o, 3)
    m, o, dl, s = a.prepare(m, o, DataLoader(TensorDataset(torch.randn(66, 4), torch.randn(66, 1)), 6), s)
    for e in range(2):
        for x, y in dl:
            with a.accumulate(m):
                a.backward(F.mse_loss(m(x), y))
                if a.sync_gradients: a.clip_grad_norm_(m.parameters(), 1.)
                o.step(); s.step(); o.zero_grad()
    return m

@correct
def accelerate_two_models_accumulate():
    a = acc(gradient_accumulation_steps=2); g, d = net(4, 4), net(); og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters()); g, d, og, od = a.prepare(g, d, og, od)
    for x, y in data(24):
        with a.accumulate(g, d):
            a.backward(F.mse_loss(d(g(x)), y)); og.step(); od.step(); og.zero_grad(); od.zero_grad()
    return g, d

@correct
def lightning_automatic():
    import lightning as L
    class M(L.LightningModule):
        def __init__(s): super().__init__(); s.n = net()
        def training_step(s, b, i): return F.mse_loss(s.n(b[0]), b[1])
        def configure_optimizers(s): o = torch.optim.Adam(s.parameters()); return [o], [torch.optim.lr_scheduler.StepLR(o, 1)]
    m = M(); quiet(L, max_epochs=2, accumulate_grad_batches=3, gradient_clip_val=.5).fit(m, loader(10)); return m

def loader(n): return torch.utils.data.DataLoader(data(n), batch_size=None)

def quiet(L, **k): return L.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, **k)

@correct
def lightning_manual_gan():
    import lightning as L
    class M(L.LightningModule):
        def __init__(s): super().__init__(); s.G, s.D = net(2, 4), net(); s.automatic_optimization = False
        def training_step(s, b, i):
            og, od = s.optimizers(); fake = s.G(torch.randn(6, 2))
            s.toggle_optimizer(og); s.manual_backward(-s.D(fake).mean()); og.step(); og.zero_grad(); s.untoggle_optimizer(og)
            s.toggle_optimizer(od); s.manual_backward(s.D(fake.detach()).mean() - s.D(b[0]).mean()); s.clip_gradients(od, .5, "norm"); od.step(); od.zero_grad(); s.untoggle_optimizer(od)
        def configure_optimizers(s): return torch.optim.Adam(s.G.parameters()), torch.optim.Adam(s.D.parameters())
    m = M(); quiet(L, max_epochs=2).fit(m, loader(14)); return m

@correct
def lightning_manual_accumulation():
    import lightning as L
    class M(L.LightningModule):
        def __init__(s): super().__init__(); s.n = net(); s.automatic_optimization = False
        def training_step(s, b, i):
            o = s.optimizers(); s.manual_backward(F.mse_loss(s.n(b[0]), b[1]) / 3)
            if (i + 1) % 3 == 0: o.step(); o.zero_grad()
        def configure_optimizers(s): return torch.optim.Adam(s.parameters())
    m = M(); quiet(L, max_epochs=2).fit(m, loader(12)); return m

@correct
def fabric_loop_accumulated():
    import lightning as L
    f = L.Fabric(accelerator="cpu"); m = net(); m, o = f.setup(m, torch.optim.SGD(m.parameters(), .1))
    for i, (x, y) in enumerate(data(30)):
        with f.no_backward_sync(m, enabled=i % 3 != 2): f.backward(F.mse_loss(m(x), y) / 3)
        if i % 3 == 2: f.clip_gradients(m, o, max_norm=1.); o.step(); o.zero_grad()
    return m

@correct
def ignite_supervised_trainer_accumulated():
    from ignite.engine import create_supervised_trainer
    m = net(); create_supervised_trainer(m, torch.optim.SGD(m.parameters(), .1), F.mse_loss, gradient_accumulation_steps=4).run(data(32), 2); return m

@correct
def ignite_update_function_early_terminate():
    from ignite.engine import Engine, Events
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    def upd(e, b): o.zero_grad(); l = F.mse_loss(m(b[0]), b[1]); l.backward(); o.step(); return l.item()
    e = Engine(upd); e.add_event_handler(Events.ITERATION_COMPLETED(once=15), lambda en: en.terminate_epoch()); e.run(data(20), 3); return m

@correct
def hf_trainer_accumulated_tail_and_clip():
    import transformers as T
    T.logging.set_verbosity_error()
    class M(nn.Module):
        def __init__(s): super().__init__(); s.n = net()
        def forward(s, x, labels=None): p = s.n(x); return {"loss": F.mse_loss(p, labels), "logits": p}
    m = M(); ds = [dict(x=torch.randn(4), labels=torch.randn(1)) for _ in range(44)]
    with tempfile.TemporaryDirectory() as t:
        T.Trainer(m, T.TrainingArguments(t, per_device_train_batch_size=4, gradient_accumulation_steps=3, num_train_epochs=2, report_to=[], save_strategy="no", logging_strategy="no", use_cpu=True, disable_tqdm=True), train_dataset=ds).train()
    return m

@correct
def hf_scheduler_in_own_loop():
    import transformers as T
    m = net(); o = torch.optim.AdamW(m.parameters()); s = T.get_linear_schedule_with_warmup(o, 3, 20)
    for x, y in data(20): F.mse_loss(m(x), y).backward(); nn.utils.clip_grad_norm_(m.parameters(), 1.); o.step(); s.step(); o.zero_grad()
    return m

# two ranks, as scripts under `zerograd run --strict`
DDP = """
import os, sys, torch, torch.distributed as dist, torch.nn as nn, torch.nn.functional as F, torch.multiprocessing as mp
from contextlib import nullcontext
from torch.nn.parallel import DistributedDataParallel as DDP
def net(): return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2"); torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2); torch.manual_seed(0); m = net(); torch.manual_seed(rank)
    d = [(torch.randn(6, 4), torch.randn(6, 1)) for _ in range(26)]
BODY
    dist.barrier(); dist.destroy_process_group()
if __name__ == "__main__": 
    import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); p = s.getsockname()[1]; s.close()
    mp.spawn(work, (p,), 2)
"""
BODIES = {
"ddp_plain": """
w = DDP(m); o = torch.optim.SGD(m.parameters(), .1)
for x, y in d: o.zero_grad(); F.mse_loss(w(x), y).backward(); o.step()
""",
"ddp_no_sync_accumulation_tail_clip": """
w = DDP(m); o = torch.optim.SGD(w.parameters(), .1)
for i, (x, y) in enumerate(d):
    last = i % 4 == 3 or i == 25
    with nullcontext() if last else w.no_sync(): (F.mse_loss(w(x), y) / (4 if i < 24 else 2)).backward()
    if last: nn.utils.clip_grad_norm_(w.parameters(), 1.); o.step(); o.zero_grad()
""",
"ddp_two_wrappers_gan": """
D = DDP(m); torch.manual_seed(1); G = DDP(nn.Linear(2, 4)); og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for x, _ in d:
    fake = G(torch.randn(6, 2)); od.zero_grad(); (D(torch.cat([fake.detach(), x])) * torch.tensor([1.] * 6 + [-1.] * 6)[:, None]).mean().backward(); od.step()
    D.requires_grad_(False); og.zero_grad(); (-D.module(fake)).mean().backward(); og.step(); D.requires_grad_(True)
""",
"hand_all_reduce": """
o = torch.optim.SGD(m.parameters(), .1)
for x, y in d:
    o.zero_grad(); F.mse_loss(m(x), y).backward()
    for p in m.parameters(): dist.all_reduce(p.grad); p.grad /= 2
    o.step()
""",
"local_sgd_averages_every_5": """
o = torch.optim.SGD(m.parameters(), .1)
for i, (x, y) in enumerate(d):
    o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
    if i % 5 == 4:
        for p in m.parameters(): dist.all_reduce(p.data); p.data /= 2
""",
"local_sgd_within_ddp_no_sync_then_average": """
w = DDP(m); o = torch.optim.SGD(m.parameters(), .1)
for i, (x, y) in enumerate(d):
    with w.no_sync(): o.zero_grad(); F.mse_loss(w(x), y).backward()
    for p in m.parameters(): dist.all_reduce(p.grad); p.grad /= 2
    o.step()
""",
"ddp_unused_parameters_and_join": """
w = DDP(m, find_unused_parameters=True); o = torch.optim.SGD(m.parameters(), .1)
from torch.distributed.algorithms.join import Join
with Join([w]):
    for x, y in d[:20 + 3 * rank]: o.zero_grad(); F.mse_loss(w(x), y).backward(); o.step()
""",
"zero_redundancy_optimizer": """
from torch.distributed.optim import ZeroRedundancyOptimizer as Z
w = DDP(m); o = Z(w.parameters(), torch.optim.Adam, lr=.01)
for x, y in d: o.zero_grad(); F.mse_loss(w(x), y).backward(); o.step()
""",
}

def ddp(name):
    text = DDP.replace("BODY", textwrap.indent(BODIES[name], "    "))
    for cli in (["--strict"], ["--strict", "--mode", "full", "--sample", "4"]):
        p = script(text, cli=cli)
        if p.returncode:
            return say("FAIL", name, f"exit {p.returncode} under zerograd run {' '.join(cli)}: {p.stderr[-700:]!r}; promised audit.md: no accusation, exit status of the script")
    say("OK", name)

if __name__ == "__main__":
    for name in BODIES:
        if not sys.argv[1:] or name in sys.argv[1:]: ddp(name)
    main()

"""Part d: headline, coverage, --require-all, --strict, several processes, pytest."""
from harness import *
from concurrent.futures import ThreadPoolExecutor
from torch import nn
import torch.nn.functional as F

def net(i=4, o=1): return nn.Sequential(nn.Linear(i, 5), nn.Tanh(), nn.Linear(5, o))
def data(n=20, b=6): return [(torch.randn(b, 4), torch.randn(b, 1)) for _ in range(n)]

def cover(name, fn, steps, missed, backwards=None, complete=None, reason="", text="", **kw):
    seed()
    with zerograd.audit(on_finding="collect", **kw) as a: fn()
    got = dict(steps=a.steps, missed=a.missed, sum_unaudited=sum(a.unaudited.values()), cov_steps=a.coverage.steps, backwards=a.backwards, complete=a.complete)
    want = dict(steps=steps, missed=missed, sum_unaudited=missed, cov_steps=steps, backwards=a.backwards if backwards is None else backwards, complete=missed == 0 if complete is None else complete)
    last = a.summary().splitlines()[-1]
    bad = {k: (got[k], want[k]) for k in got if got[k] != want[k]}
    if missed and f"{steps - missed} of {steps} steps audited" not in last: bad["headline"] = last
    if reason and reason not in " ".join(a.unaudited): bad["reason"] = dict(a.unaudited)
    if text and text not in last: bad["text"] = last
    say("FAIL" if bad else "OK", name, f"(got, want) {bad}; unaudited {dict(a.unaudited)}; {last!r}; promised audit.md#what-was-not-audited" if bad else last)

def loop(n=20):
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(n): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()
def lbfgs(n=6):
    m = net(); o = torch.optim.LBFGS(m.parameters(), max_iter=3); x, y = data(1)[0]
    def c(): o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); return l
    for _ in range(n): o.step(c)
def mixed(): loop(7); lbfgs(5)
def closure_sgd():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(9):
        def c(): o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); return l
        o.step(c)
def closure_that_only_evaluates():
    m = net(); o = torch.optim.SGD(m.parameters(), .1)
    for x, y in data(9):
        o.zero_grad(); l = F.mse_loss(m(x), y); l.backward(); o.step(lambda: l)
def in_backward():
    m = net(); d = {p: torch.optim.SGD([p], .1) for p in m.parameters()}
    def h(p): d[p].step(); d[p].zero_grad()
    for p in m.parameters(): p.register_post_accumulate_grad_hook(h)
    for x, y in data(10): F.mse_loss(m(x), y).backward()
def by_hand():
    m = net()
    for x, y in data(10):
        m.zero_grad(); F.mse_loss(m(x), y).backward()
        with torch.no_grad(): [p.sub_(p.grad, alpha=.1) for p in m.parameters()]
def scaler_skips():
    m = net(); o = torch.optim.SGD(m.parameters(), .1); s = torch.amp.GradScaler("cpu", init_scale=4.)
    for i, (x, y) in enumerate(data(12)):
        o.zero_grad(); s.scale(F.mse_loss(m(x), y) * (float("inf") if i % 4 == 1 else 1.)).backward(); s.step(o); s.update()
def two_optimizers():
    a, b = net(), net(); oa, ob = torch.optim.SGD(a.parameters(), .1), torch.optim.SGD(b.parameters(), .1)
    for i, (x, y) in enumerate(data(12)):
        oa.zero_grad(); F.mse_loss(a(x), y).backward(); oa.step()
        if i % 3 == 0: ob.zero_grad(); F.mse_loss(b(x), y).backward(); ob.step()
def nothing(): net()(torch.ones(1, 4)).sum().backward() if False else None
def lightning_auto():
    import lightning as L, logging
    for n in ("lightning.pytorch", "lightning.pytorch.utilities.rank_zero"): logging.getLogger(n).setLevel(logging.CRITICAL)
    class M(L.LightningModule):
        def __init__(s): super().__init__(); s.n = net()
        def training_step(s, b, i): return F.mse_loss(s.n(b[0]), b[1])
        def configure_optimizers(s): return torch.optim.Adam(s.parameters())
    L.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, max_epochs=1).fit(M(), torch.utils.data.DataLoader(data(11), batch_size=None))
def sam_inner():
    class W(torch.optim.Optimizer):
        def __init__(s, ps): super().__init__(ps, {}); s.base = torch.optim.SGD(s.param_groups, .1)
        def step(s, closure=None): s.base.step()
    m = net(); o = W(m.parameters())
    for x, y in data(10): o.zero_grad(); F.mse_loss(m(x), y).backward(); o.step()

BAD = "import torch\nw = torch.nn.Parameter(torch.ones(3)); o = torch.optim.SGD([w], .1)\nfor i in range(6):\n    w.sum().backward()\n    o.step()\n"
GOOD = BAD.replace("    w.sum", "    o.zero_grad(); w.sum")
CLOSURE = "import torch\nw = torch.nn.Parameter(torch.ones(3)); o = torch.optim.LBFGS([w])\ndef c():\n    o.zero_grad(); l = w.square().sum(); l.backward(); return l\nfor i in range(6):\n    o.step(c)\n"
HAND = "import torch\nw = torch.nn.Parameter(torch.ones(3))\nfor i in range(6):\n    w.grad = None; w.square().sum().backward()\n    with torch.no_grad(): w -= .1 * w.grad\n"
NOTE = GOOD.replace("zero_grad()", "zero_grad(set_to_none=False)")
FORK = "import os, sys\n" + BAD.replace("for i in range(6)", "pid = os.fork()\nfor i in range(6 if not pid else 0)") + "if not pid: os._exit(0)\nos.waitpid(pid, 0)\nprint('parent done')\n"
SPAWN = "import torch, torch.multiprocessing as mp\ndef f(r):\n    w = torch.nn.Parameter(torch.ones(3)); o = torch.optim.SGD([w], .1)\n    for i in range(6):\n        if r == 0: o.zero_grad()\n        w.sum().backward()\n        o.step()\nif __name__ == '__main__': mp.spawn(f, (), 2)\n"
SPAWNC = SPAWN.replace("if r == 0: o.zero_grad()", "o.zero_grad()").replace("        w.sum().backward()\n        o.step()", "        w.sum().backward()\n        o.step((lambda: (o.zero_grad(), w.sum().backward())) if r else None)")
CASES = [  # name, text, options, exit status, must be in stderr, must not
    ("strict_fault_exits_1", BAD, ["--strict"], 1, "ZG001", None), ("no_strict_fault_exits_0", BAD, [], 0, "ZG001", None), ("strict_correct_exits_0", GOOD, ["--strict", "--require-all"], 0, "every gradient accounted for", "ZG0"),
    ("strict_fault_and_script_exits_5", BAD + "import sys; sys.exit(5)", ["--strict"], 5, "ZG001", None), ("strict_os_exit_0_counts", BAD + "import os; os._exit(0)", ["--strict"], 1, None, None),
    ("require_all_closure_exits_1", CLOSURE, ["--require-all"], 1, "0 of 6 steps audited", "every gradient accounted for"), ("strict_alone_closure_exits_0", CLOSURE, ["--strict"], 0, "closure", "every gradient accounted for"),
    ("require_all_by_hand_exits_1", HAND, ["--require-all"], 1, None, "every gradient accounted for"), ("require_all_sampled_exits_1", GOOD.replace("range(6)", "range(40)"), ["--require-all", "--sample", "10"], 1, "of 40 steps audited", None),
    ("require_all_script_fails_with_4", CLOSURE + "import sys; sys.exit(4)", ["--require-all"], 4, None, None), ("require_all_os_exit_0_counts", CLOSURE + "import os; os._exit(0)", ["--require-all"], 1, None, None),
    ("strict_note_exits_0", NOTE, ["--strict", "--notes"], 0, "ZG401", None), ("strict_allowed_by_comment_exits_0", BAD.replace("o.step()", "o.step()  # zerograd: ignore[ZG001]"), ["--strict"], 0, None, "ZG001"),
    ("strict_fault_in_forked_child", FORK, ["--strict"], 1, None, None), ("strict_fault_in_one_spawned_rank", SPAWN, ["--strict"], 1, "ZG001", None), ("require_all_closure_in_one_spawned_rank", SPAWNC, ["--require-all"], 1, None, None),
    ("require_all_script_without_training_exits_0", "print('hi')\n", ["--require-all", "--strict"], 0, None, "ZG"),
    ("strict_fault_before_traceback", BAD + "raise ValueError('mine')", ["--strict"], 1, "ValueError: mine", None),
]
def case(c):
    name, text, cli, rc, has, hasnt = c; p = script(text, cli=cli); bad = []
    if p.returncode != rc: bad.append(f"exit {p.returncode}, promised {rc}")
    if has and has not in p.stderr: bad.append(f"{has!r} is not said")
    if hasnt and hasnt in p.stderr: bad.append(f"{hasnt!r} is said")
    if "before_traceback" in name and not p.stderr.index("ZG001") < p.stderr.index("Traceback"): bad.append("summary behind traceback")
    return name, f"{'; '.join(bad)} ({' '.join(cli)}); stderr {p.stderr[-400:]!r}; promised audit.md" if bad else ""

TESTS = '''
import torch, pytest
def go(clear=True, n=4):
    w = torch.nn.Parameter(torch.ones(3)); o = torch.optim.SGD([w], .1)
    for i in range(n):
        if clear: o.zero_grad()
        w.square().sum().backward()
        o.step()
def test_good(): go()
def test_bad(): go(False)
@pytest.mark.zerograd_allow("stale-accumulation")
def test_allowed(): go(False)
@pytest.mark.zerograd_allow("ZG002")
def test_wrong_allowance(): go(False)
@pytest.fixture
def fix(): go(False); yield
def test_fixture(fix): pass
@pytest.fixture
def teardown(): yield; go(False)
def test_teardown(teardown): pass
def test_one_step_twice():
    w = torch.nn.Parameter(torch.ones(3)); o = torch.optim.SGD([w], .1); w.sum().backward(); o.step(); o.step()
def test_own_audit():
    import zerograd
    with zerograd.audit(on_finding="collect") as a: go(False)
    assert [f.code for f in a.findings] == ["ZG001"]
def test_closure():
    w = torch.nn.Parameter(torch.ones(3)); o = torch.optim.LBFGS([w])
    def c(): o.zero_grad(); l = w.square().sum(); l.backward(); return l
    o.step(c)
@pytest.mark.parametrize("k", [1, 2])
def test_parametrized(k): go(k == 1)
class TestC:
    def test_method(self): go(False)
'''
def run_pytest(*opts):
    f = tempfile.mkdtemp(prefix="zgp"); open(os.path.join(f, "test_x.py"), "w").write(TESTS)
    p = subprocess.run([PY, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *opts], capture_output=True, text=True, cwd=f, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"})
    import re as r
    return {k[1].split("::", 1)[1].split(" ")[0]: k[0] for k in r.findall(r"^(PASSED|FAILED|ERROR) (\S+)", p.stdout, r.M)}, p
def pytests():
    good = {"test_good", "test_allowed", "test_own_audit", "test_closure", "test_parametrized[1]"}
    bad = {"test_bad", "test_wrong_allowance", "test_fixture", "test_teardown", "test_one_step_twice", "test_parametrized[2]", "TestC::test_method"}
    r, p = run_pytest("--zerograd")
    for t in sorted(good): say("OK" if r.get(t) == "PASSED" else "FAIL", "pytest_" + t, "" if r.get(t) == "PASSED" else f"{r.get(t)}, promised PASSED; {p.stdout[-600:]!r}")
    for t in sorted(bad): say("OK" if r.get(t) in ("FAILED", "ERROR") else "FAIL", "pytest_" + t, "" if r.get(t) in ("FAILED", "ERROR") else f"{r.get(t)}, promised failure with the site (audit.md#tests); {p.stdout[-400:]!r}")
    tail = p.stdout + p.stderr; ok = "steps audited" in tail
    say("OK" if ok else "FAIL", "pytest_tells_coverage", "" if ok else f"no 'steps audited' in {tail[-700:]!r}")
    r2, p2 = run_pytest("--zerograd", "--zerograd-require-all")
    ok = r2.get("test_closure") in ("FAILED", "ERROR") and r2.get("test_good") == "PASSED"
    say("OK" if ok else "FAIL", "pytest_require_all", "" if ok else f"{r2}")
    r3, p3 = run_pytest(); ok = set(r3.values()) == {"PASSED"}
    say("OK" if ok else "FAIL", "pytest_without_option_nothing_fails", "" if ok else f"{r3}")

if not sys.argv[1:]:
    cover("plain_20_complete", loop, 20, 0, 20, text="every gradient accounted for")
    cover("lbfgs_not_audited", lbfgs, 6, 6, reason="closure"); cover("mixed_7_of_12", mixed, 12, 5, reason="closure"); cover("sgd_closure_not_audited", closure_sgd, 9, 9, 9, reason="closure")
    cover("closure_without_backward_is_judged", closure_that_only_evaluates, 9, 0, 9); cover("optimizer_in_backward_not_audited", in_backward, 40, 40, 10, reason="backward")
    cover("by_hand_is_not_complete", by_hand, 0, 0, 10, complete=False); cover("two_optimizers_16_steps", two_optimizers, 16, 0, 16); cover("lightning_auto_11", lightning_auto, 11, 11, 11, reason="closure")
    cover("sample_10_of_40", lambda: loop(40), 40, 32, 40, sample=10); cover("sample_5_of_40_full", lambda: loop(40), 40, 24, 40, sample=5, mode="full")
    cover("wrapper_and_inner_optimizer_are_two_optimizers", sam_inner, 20, 0, 10)   # no page says which; both are torch Optimizers
    seed()
    with zerograd.audit(on_finding="collect") as a: scaler_skips()
    say("OK" if a.complete and a.steps in (9, 12) else "FAIL", "scaler_skips_are_no_unaudited_steps", f"{a.steps} {dict(a.unaudited)} {a.summary()}")
    with zerograd.audit(on_finding="collect", mode="full") as a: loop(20)
    first = a.summary(); a2 = zerograd.audit(on_finding="collect"); a2.start(); loop(3); a2.stop()
    say("OK" if a2.steps == 3 and a.summary() == first else "FAIL", "second_audit_counts_its_own", f"{a2.steps}, {a.summary()!r}")
with ThreadPoolExecutor(2) as ex:
    for name, r in ex.map(case, [c for c in CASES if not sys.argv[1:] or c[0] in sys.argv[1:]]): say("FAIL" if r else "OK", name, r)
if not sys.argv[1:] or "pytests" in sys.argv[1:]: pytests()
done()

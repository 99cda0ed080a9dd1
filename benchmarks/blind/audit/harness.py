"""Shared by all programs: registers experiments, runs them, prints one line each."""
import inspect, os, random, re, subprocess, sys, tempfile, textwrap, time, traceback, warnings
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")
import torch
torch.set_num_threads(1)
import zerograd

HERE = os.path.dirname(os.path.abspath(__file__))
PY = sys.executable
REG = []
MODES = [("lean", 1), ("full", 1), ("lean", 5), ("full", 3)]
RESULTS = {"OK": 0, "FAIL": 0, "LIMIT": 0}


def say(kind, name, text=""):
    RESULTS[kind] += 1
    print(f"{kind} {name}" + (f": {text}" if text else ""), flush=True)


def correct(fn=None, *, limit=None, same=True):
    def deco(fn):
        REG.append(("correct", fn, limit, same))
        return fn
    return deco(fn) if fn else deco


def faulty(code, *, mode="lean", limit=None, raises=(), alt=()):
    """limit: what limits.md says if the rule is only possible or not told; alt: other rules that say the same."""
    def deco(fn):
        REG.append(("faulty", fn, code, mode, limit, raises, alt))
        return fn
    return deco


def seed(n=0):
    torch.manual_seed(n)
    random.seed(n)
    try:
        import numpy
        numpy.random.seed(n)
    except ImportError:
        pass


def tensors(out):
    if out is None:
        return []
    if isinstance(out, torch.nn.Module):
        return [t.detach().clone() for t in out.state_dict().values()]
    if isinstance(out, torch.Tensor):
        return [out.detach().clone()]
    return [t for o in out for t in tensors(o)]


def same(a, b):
    return len(a) == len(b) and all(x.shape == y.shape and x.dtype == y.dtype and
        torch.equal(torch.nan_to_num(x.float(), nan=123.), torch.nan_to_num(y.float(), nan=123.)) for x, y in zip(a, b))


def certain(f):
    return f.certainty.name == "CERTAIN" and f.severity.value in ("error", "warning")


def tell(f):
    return f"{f.code} line {f.site.line} [{f.certainty.name.lower()} {f.severity.value} x{f.times}] {f.message}"


def run_correct(fn, limit, compare):
    seed()
    before = tensors(fn())
    rng = torch.get_rng_state()
    bad = []
    for mode, sample in MODES:
        seed()
        with zerograd.audit(on_finding="collect", mode=mode, sample=sample) as a:
            out = fn()
        after = tensors(out)
        for f in a.findings:
            if certain(f):
                bad.append(f"{mode}/sample={sample} accused: {tell(f)}")
        if compare and not same(before, after):
            bad.append(f"{mode}/sample={sample}: final weights differ from the run without audit")
        if compare and not torch.equal(rng, torch.get_rng_state()):
            bad.append(f"{mode}/sample={sample}: random state differs")
    if not bad:
        say("OK", fn.__name__)
    elif limit and not any("differ" in b for b in bad):
        say("LIMIT", fn.__name__, f"{bad[0]}; documented: {limit}")
    else:
        say("FAIL", fn.__name__, " || ".join(bad) + "; promised: nothing correct is certain, nothing changes (audit.md)")


def marks(fn, code):
    lines, first = inspect.getsourcelines(fn)
    return {first + i for i, l in enumerate(lines) if re.search(r"#@\s*" + code, l) or re.search(r"#@\s*$", l)}


def run_faulty(fn, code, mode, limit, raises, alt):
    seed()
    a = zerograd.audit(on_finding="collect", mode=mode)
    try:
        with a:
            fn()
    except raises:
        pass
    want = set().union(*(marks(fn, c) for c in (code, *alt)))
    hits = [f for f in a.findings if f.code in (code, *alt)]
    sure = [f for f in hits if f.certainty.name == "CERTAIN"]
    right = [f for f in sure if f.site.line in want]
    others = [f for f in a.findings if certain(f) and f.code not in (code, *alt)]
    if right and not others:
        say("OK", fn.__name__, f"{right[0].code} x{right[0].times}")
    elif right:
        say("OK", fn.__name__, f"{right[0].code}; also: " + " | ".join(tell(f) for f in others))
    else:
        got = " | ".join(tell(f) for f in a.findings) or "nothing"
        what = ("other line than " + str(sorted(want))) if sure else "only possible" if hits else "not reported"
        say("LIMIT" if limit else "FAIL", fn.__name__, f"{code} {what}; got: {got}; promised: rules/{code}.md" + (f"; documented: {limit}" if limit else ""))


def main():
    only = sys.argv[1:]
    for kind, fn, *rest in REG:
        if only and fn.__name__ not in only:
            continue
        try:
            (run_correct if kind == "correct" else run_faulty)(fn, *rest)
        except BaseException as e:
            traceback.print_exc()
            say("FAIL", fn.__name__, f"raised {type(e).__name__}: {e}")
    done()


def done():
    print(f"# {RESULTS['OK']} OK, {RESULTS['FAIL']} FAIL, {RESULTS['LIMIT']} LIMIT")
    sys.stdout.flush()
    sys.exit(1 if RESULTS["FAIL"] else 0)


def script(text, *args, cli=(), audit=True, timeout=120, name="train.py", env=None, folder=None):
    """Runs text as a script, under `zerograd run` or bare. Returns the CompletedProcess and the folder."""
    folder = folder or tempfile.mkdtemp(prefix="zgt")
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(textwrap.dedent(text))
    cmd = [PY, "-m", "zerograd", "run", *cli, path, *args] if audit else [PY, path, *args]
    p = subprocess.run(cmd, capture_output=True, text=True, timeout=timeout, cwd=folder,
                       env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})})
    return p


def forked(text, mode="lean", sample=1, name="train.py"):
    """Runs text as a program of its own (a fork, __main__, in a fresh folder) inside an audit. Returns findings and coverage."""
    import json, runpy
    folder = tempfile.mkdtemp(prefix="zgf"); path = os.path.join(folder, name); out = os.path.join(folder, "out.json")
    with open(path, "w") as f:
        f.write(textwrap.dedent(text))
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        code = 0
        try:
            REG.clear(); seed(); a = zerograd.audit(on_finding="collect", mode=mode, sample=sample); err = ""
            try:
                with a:
                    sys.argv = [path]; runpy.run_path(path, run_name="__main__")
            except BaseException as e:
                err = f"{type(e).__name__}: {e}"
            a.conclude() if not a.findings else None
            with open(out, "w") as f:
                json.dump(dict(err=err, summary=a.summary(), steps=a.steps, unaudited=dict(a.unaudited), complete=a.complete, findings=[
                    dict(code=x.code, line=x.site.line, certain=x.certainty.name == "CERTAIN", severity=x.severity.value, times=x.times,
                         message=x.message, tell=tell(x)) for x in a.findings]), f)
        except BaseException:
            traceback.print_exc(); code = 1
        finally:
            os._exit(code)
    os.waitpid(pid, 0)
    with open(out) as f:
        return json.load(f)


PRE = """import copy, math, torch
from torch import nn
import torch.nn.functional as F
def net(i=4, o=1): return nn.Sequential(nn.Linear(i, 5), nn.Tanh(), nn.Linear(5, o))
def data(n=20, b=6): return [(torch.randn(b, 4), torch.randn(b, 1)) for _ in range(n)]
"""


def fault_script(name, code, text, mode="lean", limit=None, alt=(), times=None):
    text = PRE + textwrap.dedent(text).strip("\n") + "\n"
    want = {i for i, l in enumerate(text.splitlines(), 1) if "#@" in l}
    r = forked(text, mode)
    hits = [f for f in r["findings"] if f["code"] in (code, *alt)]
    sure = [f for f in hits if f["certain"]]
    right = [f for f in sure if f["line"] in want]
    got = " | ".join(f["tell"] for f in r["findings"]) or "nothing"
    if right and times is not None and right[0]["times"] not in times:
        return say("FAIL", name, f"{code} counted {right[0]['times']} times, expected {times}; promised audit.md: counted (times)")
    if right:
        extra = [f["tell"] for f in r["findings"] if f not in right and f["certain"] and f["severity"] != "note"]
        return say("OK", name, f"{right[0]['code']} x{right[0]['times']}" + (f"; also {extra}" if extra else ""))
    what = f"other line than {sorted(want)}" if sure else "only possible" if hits else "not reported"
    say("LIMIT" if limit else "FAIL", name, f"{code} {what}; got: {got}; err {r['err']!r}; {r['summary'].splitlines()[-1]}; promised: rules/{code}.md" + (f"; documented: {limit}" if limit else ""))

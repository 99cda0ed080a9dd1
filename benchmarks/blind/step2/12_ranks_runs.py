# runs of 2 processes: SIGTERM on one rank, saved by 2 and resumed by 1 (and the other way), a rank killed in the middle
import os, sys, subprocess, socket, time, signal, tempfile, shutil, json
HERE = os.path.dirname(os.path.abspath(__file__))
WORK = '''
import sys; ARGS = sys.argv[1:]; sys.argv = ["x"]
from common import *
import json, signal, datetime
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset, DistributedSampler
W = int(os.environ.get("WORLD_SIZE", "1")); R = int(os.environ.get("RANK", "0"))
folder, mode, stop, seed, log, shuffle = ARGS[0], ARGS[1], int(ARGS[2]), int(ARGS[3]), ARGS[4], ARGS[5] == "1"
if W > 1: dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
torch.manual_seed(seed); m = nn.Sequential(nn.Linear(1, 3), nn.Tanh(), nn.Linear(3, 1)).double(); w = nn.parallel.DistributedDataParallel(m) if W > 1 else m
o = torch.optim.AdamW(m.parameters(), lr=.02); s = Step(o, clip=.3)
d = TensorDataset(torch.arange(48.).double().view(48, 1) / 48)
c = Cursor(DataLoader(d, batch_size=2, sampler=DistributedSampler(d, W, R, shuffle=shuffle, seed=3)))
ck = Checkpoints(folder, s, model=w, loader=c, every=1000); went = ck.resume(); seen = []; n = 0
f = open(log + str(R), "w")
while c.epoch < 2:
    for g in groups(c, 2, begun=s.in_flight):
        with s:
            for (x,) in s.micro_batches(g, weight=lambda b: len(b[0])):
                s.backward(w(x).square().mean())
        n += 1; f.write(json.dumps([round(v * 48) for b in g for v in b[0].flatten().tolist()]) + "\\n"); f.flush()
        if n == stop:
            if mode == "term" and R == 1: os.kill(os.getpid(), signal.SIGTERM)
            if mode == "term1": os.kill(os.getpid(), signal.SIGTERM)
            if mode == "save": ck.save(); os._exit(0)
            if mode == "kill":
                ck.save()
                if R == 1: os.kill(os.getpid(), 9)
        try: ck.keep_up()
        except SystemExit as e: f.close(); raise
torch.save([p.detach() for p in m.parameters()], log + "w" + str(R)); print("end", went, s.committed)
'''
TMP = tempfile.mkdtemp(dir=HERE, prefix="tmp_run_"); open(TMP + "/work.py", "w").write(WORK)
def launch(world, folder, mode, stop, seed, log, shuffle=1, limit=60):
    s = socket.socket(); s.bind(("127.0.0.1", 0)); port = s.getsockname()[1]; s.close()
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1", PYTHONPATH=HERE)
    ps = [subprocess.Popen([sys.executable, TMP + "/work.py", folder, mode, str(stop), str(seed), log, str(shuffle)], env=dict(env, RANK=str(r), WORLD_SIZE=str(world)) if world > 1 else env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for r in range(world)]
    out = []
    for p in ps:
        try: out.append((*p.communicate(timeout=limit), p.returncode))
        except subprocess.TimeoutExpired: p.kill(); out.append((*p.communicate(), "hang"))
    return out
def lines(log, world): return [[json.loads(l) for l in open(log + str(r))] for r in range(world)]
def flat(ls): return [v for l in ls for b in l for v in b]
bad = 0; count = 0
def exp(name, f):
    global bad, count; count += 1
    try: f(); print("OK", name, flush=True)
    except BaseException as e: bad += 1; print("FAIL", f"{name}: {type(e).__name__} {str(e)[:500]}".replace("\n", " | "), flush=True)
import torch
def term():
    o = launch(2, TMP + "/a", "none", 0, 0, TMP + "/full"); assert all(x[2] == 0 for x in o), o; full = lines(TMP + "/full", 2)
    o = launch(2, TMP + "/b", "term", 4, 0, TMP + "/t"); assert [x[2] for x in o] == [75, 75], [(x[2], x[1][-300:]) for x in o]; a = lines(TMP + "/t", 2)
    o = launch(2, TMP + "/b", "none", 0, 5, TMP + "/u"); assert all(x[2] == 0 for x in o), o; b = lines(TMP + "/u", 2)
    for r in (0, 1): assert a[r] + b[r] == full[r], (r, a[r], b[r], full[r])
    for p, q in zip(torch.load(TMP + "/fullw0"), torch.load(TMP + "/uw0")): assert torch.equal(p, q), "weights differ after SIGTERM and resume"
exp("sigterm_one_rank_both_leave_75_resume_exact", term)
def elastic(frm, to, shuffle):
    def f():
        d = f"{TMP}/e{frm}{to}{shuffle}"; o = launch(frm, d, "save", 3, 0, d + "x", shuffle); a = lines(d + "x", frm); o = launch(to, d, "none", 0, 9, d + "y", shuffle); assert all(x[2] == 0 for x in o), o; b = lines(d + "y", to)
        got = sorted(flat(a) + flat(b)); want = sorted(list(range(48)) * 2); miss = [v for v in set(want) if got.count(v) != 2]
        assert got == want, f"{len(got)} items instead of {len(want)}; wrong counts of {miss[:10]}"
    return f
exp("saved_by_2_resumed_by_1_data_once", elastic(2, 1, 1)); exp("saved_by_1_resumed_by_2_data_once", elastic(1, 2, 1)); exp("saved_by_2_resumed_by_1_unshuffled", elastic(2, 1, 0))
def kill():
    o = launch(2, TMP + "/k", "kill", 4, 0, TMP + "/k_"); t = time.time(); assert o[1][2] == -9 and o[0][2] == 1 and "PeerFailed" in o[0][1], (o[0][2], o[0][1][-300:])
    o = launch(2, TMP + "/k", "none", 0, 5, TMP + "/kk"); assert all(x[2] == 0 for x in o), o
    for p, q in zip(torch.load(TMP + "/fullw0"), torch.load(TMP + "/kkw0")): assert torch.equal(p, q), "weights differ after a kill and resume"
exp("rank_killed_peerfailed_then_resume_exact", kill)
def term1():
    o = launch(1, TMP + "/f1", "none", 0, 0, TMP + "/f1_"); o = launch(1, TMP + "/g1", "term1", 5, 0, TMP + "/g1_"); assert o[0][2] == 75, o; o = launch(1, TMP + "/g1", "none", 0, 8, TMP + "/h1_")
    assert lines(TMP + "/g1_", 1)[0] + lines(TMP + "/h1_", 1)[0] == lines(TMP + "/f1_", 1)[0]
    for p, q in zip(torch.load(TMP + "/f1_w0"), torch.load(TMP + "/h1_w0")): assert torch.equal(p, q)
exp("sigterm_single_resume_exact", term1)
shutil.rmtree(TMP, ignore_errors=True); print(f"# {count} experiments, {bad} failures"); sys.exit(1 if bad else 0)

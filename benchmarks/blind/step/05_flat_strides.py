from common import *
x=torch.randn(5,3,4,4,generator=torch.Generator().manual_seed(0))
def conv():
    torch.manual_seed(0); return nn.Sequential(nn.Conv2d(3,4,3),nn.Flatten(),nn.Linear(16,2)).to(memory_format=torch.channels_last)
def trans():
    torch.manual_seed(0); m=nn.Sequential(nn.Conv2d(3,4,3),nn.Flatten(),nn.Linear(16,2)); m[2].weight=nn.Parameter(torch.randn(16,2).t()); return m
def plain():
    torch.manual_seed(0); return nn.Sequential(nn.Conv2d(3,4,3),nn.Flatten(),nn.Linear(16,2))
def clconverted(): # converted to channels_last after the Step was made
    return plain()
O={"adamfused":lambda p:torch.optim.Adam(p,lr=.1,fused=True),"adam":lambda p:torch.optim.Adam(p,lr=.1),"sgdfused":lambda p:torch.optim.SGD(p,lr=.1,momentum=.9,fused=True),"sgd":lambda p:torch.optim.SGD(p,lr=.1,momentum=.9),"adagradfused":lambda p:torch.optim.Adagrad(p,lr=.1,fused=True),"adamforeach":lambda p:torch.optim.Adam(p,lr=.1,foreach=True)}
for mn,mk in (("channels_last",conv),("transposed",trans),("late",clconverted)):
  for on in O:
    for gr in ("flat","none"):
      for mode in ("bare","micro"):
        if mode=="micro" and gr=="none" and mn!="late": continue
        @exp(f"{mn} {on} grads={gr} {mode}")
        def _():
            m,m2=mk(),mk(); o=O[on](m.parameters()); st=Step(O[on](m2.parameters()),clip=.5,grads=gr,model=m2)
            if mn=="late": 
                with st: st.backward(m2(x).square().mean())
                o.zero_grad(); m(x).square().mean().backward(); nn.utils.clip_grad_norm_(m.parameters(),.5); o.step(); o.zero_grad()
                m.to(memory_format=torch.channels_last); m2.to(memory_format=torch.channels_last)
            for _ in range(3):
                o.zero_grad(); m(x).square().mean().backward(); nn.utils.clip_grad_norm_(m.parameters(),.5); o.step()
                with st:
                    if mode=="bare": st.backward(m2(x).square().mean())
                    else:
                        for b in st.micro_batches([x,x]): st.backward(m2(b).square().mean())
            return diff(m.parameters(),m2.parameters(),1e-5)
done()

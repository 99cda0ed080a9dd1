import torch
from torch import nn
from accelerate import Accelerator

N = 4
accelerator = Accelerator(gradient_accumulation_steps=N)
model = nn.Linear(8, 3)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(128, 8), torch.randint(0, 3, (128,))), batch_size=4)
model, opt, data = accelerator.prepare(model, opt, data)
for x, y in data:
    with accelerator.accumulate(model):
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        loss = loss / N
        accelerator.backward(loss)  # FAULT: ZG105
        opt.step()
        opt.zero_grad()

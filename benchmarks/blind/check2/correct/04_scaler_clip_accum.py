import torch
from torch import nn
from torch.amp import GradScaler, autocast


def train(model, batches, accum=4, clip=1.0, device="cuda"):
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = GradScaler(device)
    opt.zero_grad(set_to_none=True)
    for i, (x, y) in enumerate(batches, start=1):
        with autocast(device):
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        scaler.scale(loss / accum).backward()
        if i % accum == 0 or i == len(batches):
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad(set_to_none=True)


if __name__ == "__main__":
    train(nn.Linear(4, 2), [(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(18)])

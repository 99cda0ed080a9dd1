import argparse

import deepspeed
import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser = deepspeed.add_config_arguments(parser)
    args = parser.parse_args()
    net = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
    engine, optimizer, _, _ = deepspeed.initialize(
        args=args, model=net, model_parameters=net.parameters(),
        config={"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 4,
                "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}, "gradient_clipping": 1.0},
    )
    for step in range(400):
        x = torch.randn(8, 64, device=engine.device)
        loss = (engine(x) - x).pow(2).mean()
        engine.backward(loss)
        engine.step()
        if step % 100 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()

import argparse
import math

import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, default_data_collator, get_scheduler


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="gpt2")
    p.add_argument("--gradient_accumulation_steps", type=int, default=1)
    p.add_argument("--num_train_epochs", type=int, default=3)
    p.add_argument("--max_train_steps", type=int, default=None)
    args = p.parse_args()
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained(args.model)
    data = [{"input_ids": torch.randint(0, 50000, (64,)), "labels": torch.randint(0, 50000, (64,))} for _ in range(64)]
    loader = torch.utils.data.DataLoader(data, batch_size=2, collate_fn=default_data_collator)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    per_epoch = math.ceil(len(loader) / args.gradient_accumulation_steps)
    args.max_train_steps = args.max_train_steps or args.num_train_epochs * per_epoch
    lr_scheduler = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=args.max_train_steps)
    model, optimizer, loader, lr_scheduler = accelerator.prepare(model, optimizer, loader, lr_scheduler)
    completed_steps = 0
    for epoch in range(args.num_train_epochs):
        model.train()
        for step, batch in enumerate(loader):
            outputs = model(**batch)
            loss = outputs.loss
            loss = loss / args.gradient_accumulation_steps
            accelerator.backward(loss)
            if (step + 1) % args.gradient_accumulation_steps == 0 or step == len(loader) - 1:
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()
                completed_steps += 1
            if completed_steps >= args.max_train_steps:
                break


if __name__ == "__main__":
    main()

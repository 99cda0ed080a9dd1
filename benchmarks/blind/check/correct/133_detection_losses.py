import sys

import torch
from torchvision.models.detection import fasterrcnn_resnet50_fpn


def warmup(optimizer, iters, factor):
    return torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=factor, total_iters=iters)


def train_one_epoch(model, optimizer, data_loader, epoch):
    model.train()
    lr_scheduler = warmup(optimizer, min(1000, len(data_loader) - 1), 1e-3) if epoch == 0 else None
    for images, targets in data_loader:
        loss_dict = model(images, targets)
        losses = sum(loss for loss in loss_dict.values())
        value = losses.item()
        if not torch.isfinite(losses):
            print("Loss is", value, "stopping training", {k: v.item() for k, v in loss_dict.items()})
            sys.exit(1)
        optimizer.zero_grad()
        losses.backward()
        optimizer.step()
        if lr_scheduler is not None:
            lr_scheduler.step()


model = fasterrcnn_resnet50_fpn(num_classes=2)
params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(params, lr=0.005, momentum=0.9, weight_decay=0.0005)
main_sched = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.1)
batch = ([torch.rand(3, 64, 64)], [{"boxes": torch.tensor([[4.0, 4.0, 20.0, 20.0]]), "labels": torch.tensor([1])}])
for epoch in range(4):
    train_one_epoch(model, optimizer, [batch] * 5, epoch)
    main_sched.step()

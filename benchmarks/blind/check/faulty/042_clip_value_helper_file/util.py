import torch


def scaled_backward(scaler, loss):
    scaler.scale(loss).backward()


def clip(model, limit):
    torch.nn.utils.clip_grad_value_(model.parameters(), limit)  # FAULT: ZG201

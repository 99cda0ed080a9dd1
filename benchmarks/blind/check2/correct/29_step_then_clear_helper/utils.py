import torch


def finish(optimizers, parameters=None, max_norm=None):
    """clip, step and clear in one go"""
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    for optimizer in optimizers:
        optimizer.step()
    for optimizer in optimizers:
        optimizer.zero_grad(set_to_none=True)

import torch


def update(net, opt, x, y, max_norm=None):
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    if max_norm:
        torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    opt.step()  # FAULT: ZG001
    return loss.detach()

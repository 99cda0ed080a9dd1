import torch


class Hook:
    def before_batch(self, trainer):
        pass

    def after_backward(self, trainer):
        pass

    def after_epoch(self, trainer):
        pass


class ClearHook(Hook):
    def before_batch(self, trainer):
        trainer.optimizer.zero_grad(set_to_none=True)


class ClipHook(Hook):
    def __init__(self, limit):
        self.limit = limit

    def after_backward(self, trainer):
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), self.limit)


class LrHook(Hook):
    def __init__(self, scheduler):
        self.scheduler = scheduler

    def after_epoch(self, trainer):
        self.scheduler.step()


def run_hooks(trainer, name):
    for hook in trainer.hooks:
        getattr(hook, name)(trainer)

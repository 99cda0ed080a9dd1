import torch


class Hook:
    def before(self, trainer):
        pass

    def after(self, trainer):
        pass


class Clip(Hook):
    def after(self, trainer):
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 2.0)


class Print(Hook):
    def after(self, trainer):
        print(trainer.loss.item())

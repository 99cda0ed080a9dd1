"""The Hugging Face Trainer with `gradient_accumulation_steps=4`. One optimizer; it saves at steps only."""

import tempfile

import torch
import transformers
from onehot import ONE_BROKEN, ONE_NAN, TEN, UNEQUAL, Broken, Probe, Recorder, loss_of
from torch import nn

NAME = "HF Trainer"
transformers.logging.set_verbosity_error()
KINDS = ["fine", "broken", "nan"]


class Net(nn.Module):
    """Takes num_items_in_batch and uses it, as the models of the library do."""

    def __init__(self, dtype=torch.float64):
        super().__init__()
        self.probe = Probe(dtype)

    def forward(self, x, labels, kind, num_items_in_batch=None, **_):
        loss = loss_of(self.probe, {"x": x, "kind": KINDS[kind]})
        if num_items_in_batch is not None:
            loss = loss * len(x) / num_items_in_batch
        return {"loss": loss, "logits": x}


class Trainer(transformers.Trainer):
    def _get_train_sampler(self, *_):
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def training_step(self, *args, **options):
        try:
            return super().training_step(*args, **options)
        except Broken:
            return torch.zeros((), dtype=torch.float64)


def _train(batches, *, epochs=1, dtype=torch.float64):
    net = Net(dtype)
    optimizer = Recorder(net.parameters())
    moves = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    data = [
        {"x": batch["x"], "labels": torch.ones(batch["rows"], dtype=torch.long), "kind": KINDS.index(batch["kind"])}
        for batch in batches
    ]
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=4,
            num_train_epochs=epochs,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            max_grad_norm=0,
            save_strategy="no",
            logging_strategy="no",
            remove_unused_columns=False,
        )
        trainer = Trainer(
            model=net,
            args=arguments,
            train_dataset=data,
            data_collator=lambda batch: batch[0],
            optimizers=(optimizer, moves),
        )
        trainer.train()
    return net, optimizer


def unequal():
    return _train(UNEQUAL)[1].log


def tail():
    return _train(TEN, epochs=2)[1].log


def failure():
    return _train(ONE_BROKEN)[1].log


def not_finite():
    net, optimizer = _train(ONE_NAN, dtype=torch.float32)
    return bool(torch.isfinite(net.probe.w).all()), optimizer.param_groups[0]["lr"]

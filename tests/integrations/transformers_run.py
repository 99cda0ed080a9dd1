"""The Hugging Face Trainer with the callback and TensorBoard: right, and clearing behind its backward."""

import sys

import torch
import transformers

from zerograd.integrations.transformers import ZerogradCallback

transformers.utils.logging.set_verbosity_error()


class Data(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int):
        words = torch.randint(0, 32, (8,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": words, "labels": words}


class Clearing(transformers.Trainer):
    def training_step(self, model, *args, **kwargs):
        loss = super().training_step(model, *args, **kwargs)
        model.zero_grad()
        return loss


def train(kind: type[transformers.Trainer], folder: str) -> None:
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=32, n_positions=8)
    arguments = transformers.TrainingArguments(
        output_dir=folder,
        use_cpu=True,
        report_to="tensorboard",
        save_strategy="no",
        disable_tqdm=True,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        num_train_epochs=2,
        logging_steps=2,
    )
    trainer = kind(model=transformers.GPT2LMHeadModel(config), args=arguments, train_dataset=Data())
    trainer.add_callback(ZerogradCallback(trainer))
    trainer.train()


if __name__ == "__main__":
    train(transformers.Trainer, f"{sys.argv[1]}/right")
    train(Clearing, f"{sys.argv[1]}/wrong")

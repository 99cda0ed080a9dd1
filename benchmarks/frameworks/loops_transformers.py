"""The Hugging Face Trainer: windows with a tail, checkpointing, other optimizers, workers. Nothing here is wrong."""

import tempfile

import torch
import transformers

transformers.utils.logging.set_verbosity_error()


class Data(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 28

    def __getitem__(self, index: int):
        words = torch.randint(0, 32, (8,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": words, "labels": words}


def train(**options) -> None:
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=32, n_positions=8)
    with tempfile.TemporaryDirectory() as folder:
        usual = {"num_train_epochs": 2, "per_device_train_batch_size": 2, "save_strategy": "no", "report_to": []}
        quiet = {"logging_strategy": "no", "disable_tqdm": True, "use_cpu": True}
        arguments = transformers.TrainingArguments(output_dir=folder, **usual, **quiet, **options)
        transformers.Trainer(transformers.GPT2LMHeadModel(config), arguments, train_dataset=Data()).train()


if __name__ == "__main__":
    train()
    train(gradient_accumulation_steps=3)
    train(gradient_accumulation_steps=2, bf16=True, gradient_checkpointing=True)
    train(optim="adafactor")
    train(optim="sgd", max_grad_norm=0.0)
    train(auto_find_batch_size=True)
    train(max_steps=5, gradient_accumulation_steps=4, dataloader_num_workers=1)

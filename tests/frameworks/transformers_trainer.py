"""The Hugging Face Trainer: accumulation, clipping, bfloat16, evaluation. The last one clears before its step."""

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


class Clearing(transformers.Trainer):
    def training_step(self, model, *args, **kwargs):
        loss = super().training_step(model, *args, **kwargs)
        model.zero_grad()  # "so that gradients do not pile up": they never reach the step
        return loss


def train(kind, **options) -> None:
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=32, n_positions=8)
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            num_train_epochs=2,
            per_device_train_batch_size=4,
            logging_strategy="no",
            **options,
        )
        model = transformers.GPT2LMHeadModel(config)
        trainer = kind(model=model, args=arguments, train_dataset=Data(), eval_dataset=Data())
        trainer.train()  # error: [ZG002]


if __name__ == "__main__":
    train(transformers.Trainer)
    train(transformers.Trainer, gradient_accumulation_steps=3, max_grad_norm=1.0, eval_strategy="epoch")
    train(transformers.Trainer, gradient_accumulation_steps=3, bf16=True, optim="adamw_torch_fused")
    train(Clearing)

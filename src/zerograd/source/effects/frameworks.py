"""Accelerate, Fabric, Lightning, apex, DeepSpeed, timm: by qualified name, and by the kind of their objects."""

from zerograd.source.effects.rows import Act, Row, Trait
from zerograd.source.effects.torch import _each

ACCUMULATION = "gradient_accumulation_steps"  # the keyword that tells an accelerator what its backward() divides by

FUNCTIONS: dict[str, Row] = {
    "accelerate.Accelerator": Row(Act.ACCELERATOR, divides=ACCUMULATION),
    "accelerate.accelerator.Accelerator": Row(Act.ACCELERATOR, divides=ACCUMULATION),
    "lightning.Fabric": Row(Act.ACCELERATOR),
    "lightning.fabric.Fabric": Row(Act.ACCELERATOR),
    "lightning_fabric.Fabric": Row(Act.ACCELERATOR),
    "pytorch_lightning.lite.LightningLite": Row(Act.ACCELERATOR),
    "apex.amp.scale_loss": Row(Act.SCALE_LOSS),
    "apex.amp.initialize": Row(Act.PREPARES),
    "apex.amp.master_params": Row(Act.PARAMETERS),
    "apex.parallel.DistributedDataParallel": Row(Act.REPLICATES),
    "apex.parallel.convert_syncbn_model": Row(Act.COPY),  # with normalisation layers of its own
    "timm.utils.NativeScaler": Row(Act.CALLABLE_SCALER),
    "timm.utils.dispatch_clip_grad": Row(Act.CLIPS),
    "timm.scheduler.create_scheduler": Row(Act.NOTHING),
    "transformers.AdamW": Row(Act.OPTIMIZER),
    "transformers.Adafactor": Row(Act.OPTIMIZER),
    "transformers.optimization.AdamW": Row(Act.OPTIMIZER),
    "bitsandbytes.optim.AdamW8bit": Row(Act.OPTIMIZER),
    "bitsandbytes.optim.Adam8bit": Row(Act.OPTIMIZER),
    "apex.optimizers.FusedAdam": Row(Act.OPTIMIZER),
    "apex.optimizers.FusedSGD": Row(Act.OPTIMIZER),
    "apex.optimizers.FusedLAMB": Row(Act.OPTIMIZER),
    "fairscale.nn.data_parallel.ShardedDataParallel": Row(Act.WRAPPER),
    "fairscale.nn.data_parallel.FullyShardedDataParallel": Row(Act.WRAPPER),
    "fairscale.optim.grad_scaler.ShardedGradScaler": Row(Act.SCALER),
    "higher.innerloop_ctx": Row(Act.COPIES_WEIGHTS, keyword="model"),
    "zerograd.lab.language.nats": Row(Act.NUMBER),
    "peft.get_peft_model": Row(Act.WRAPPER),
    "peft.prepare_model_for_kbit_training": Row(Act.WRAPPER),
}
PREFIXES: dict[str, Row] = {
    "transformers.optimization": Row(Act.SCHEDULER),
    "bitsandbytes.optim": Row(Act.OPTIMIZER),
    "bitsandbytes.optim.GlobalOptimManager": Row(Act.NOTHING),
    "apex.optimizers": Row(Act.OPTIMIZER),
    "torchmetrics": Row(Act.NOTHING),
}
_SCHEDULES = (
    "get_scheduler get_linear_schedule_with_warmup get_cosine_schedule_with_warmup get_constant_schedule_with_warmup "
    "get_constant_schedule get_polynomial_decay_schedule_with_warmup get_cosine_with_hard_restarts_schedule_with_warmup"
)
FUNCTIONS |= _each(Act.SCHEDULER, _SCHEDULES, before="transformers.")
# What transformers was called before, which many have as a folder of that name.
for _old in ("pytorch_transformers.", "transformers.pytorch_transformers."):
    FUNCTIONS |= _each(
        Act.SCHEDULER,
        "ConstantLRSchedule WarmupConstantSchedule WarmupLinearSchedule WarmupCosineSchedule "
        "WarmupCosineWithHardRestartsSchedule",
        before=_old,
    )
    FUNCTIONS |= {f"{_old}AdamW": Row(Act.OPTIMIZER), f"{_old}optimization.AdamW": Row(Act.OPTIMIZER)}
FUNCTIONS |= _each(Act.SCHEDULER, _SCHEDULES, before="diffusers.optimization.")

ACCELERATOR: dict[str, Row] = {
    "backward": Row(Act.DEPOSITS, keyword="loss"),
    **_each(
        Act.PREPARES,
        "prepare setup prepare_model prepare_optimizer prepare_data_loader prepare_scheduler setup_module "
        "setup_dataloaders setup_optimizers",
    ),
    "accumulate": Row(Act.ACCUMULATES),
    "autocast": Row(Act.CONTEXT),
    "no_sync": Row(Act.QUIETS),
    "no_backward_sync": Row(Act.QUIETS),
    "unwrap_model": Row(Act.UNWRAPS),
    "clip_grad_norm_": Row(Act.CLIPS, scaled=True),
    "clip_grad_value_": Row(Act.CLIPS, scaled=True),
    "clip_gradients": Row(Act.CLIPS_ALL, scaled=True),
    "unscale_gradients": Row(Act.UNSCALES),
    **_each(Act.CUTS, "gather gather_for_metrics reduce pad_across_processes all_gather all_reduce"),
}
# DeepSpeed's engine, and whatever else goes backward and steps itself.
ENGINE: dict[str, Row] = {
    "backward": Row(Act.DEPOSITS, keyword="loss"),
    "step": Row(Act.STEPS_ALL),
    "zero_grad": Row(Act.CLEARS),
}
# Packages that decide when gradients are cleared, or whose optimizers clear otherwise than torch's.
MANAGING = frozenset(
    [
        *("accelerate", "apex", "bagua", "colossalai", "deepspeed", "fairscale", "horovod", "ignite"),
        *("lightning", "pytorch_lightning", "torchft"),
    ]
)
LIGHTNING_PACKAGES, LIGHTNING_MODULE = ("lightning", "pytorch_lightning"), "LightningModule"
# A LightningModule's own methods, beside a module's.
LIGHTNING: dict[str, Row] = {
    "manual_backward": Row(Act.MANUAL),
    "optimizers": Row(Act.OPTIMIZERS),
    "clip_gradients": Row(Act.CLIPS_ALL),
    "toggle_optimizer": Row(Act.TOGGLES),
    "untoggle_optimizer": Row(Act.NOTHING),
}
ATTRIBUTES: dict[str, dict[str, Trait]] = {
    "accelerator": {
        "sync_gradients": Trait.SYNCED,
        ACCUMULATION: Trait.TOLD,
        **dict.fromkeys(("is_main_process", "is_local_main_process", "device", "num_processes"), Trait.NUMBER),
    },
}

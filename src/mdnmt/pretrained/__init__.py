"""mBART-50, trained by others and loaded through Hugging Face transformers: zero-shot, or fine-tuned like any run."""

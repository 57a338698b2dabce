"""Cross-validation: splits, fold models, out-of-fold scores and leave-one-out."""

"""Copies of models by pickle and joblib."""

import io
import pickle

import joblib


def through_pickle(model):
    """Return a copy of a model by pickle."""
    return pickle.loads(pickle.dumps(model))


def through_joblib(model):
    """Return a copy of a model by joblib."""
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)

"""The device of these tests: a GPU; without one, host memory, where Triton's interpreter runs the kernels."""

import importlib.util
import os

import pytest

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
    HAS_GPU = False
else:
    import torch

    HAS_GPU = torch.cuda.is_available()
    if not HAS_GPU:
        os.environ["TRITON_INTERPRET"] = "1"  # before Triton compiles anything


def pytest_report_header():
    return f"tests of tensors: on {'a GPU' if HAS_GPU else 'host memory'}"


@pytest.fixture
def device(monkeypatch):
    """The name of the device; small tensors stay on it, and those in host memory are handled as if on a device."""
    from deciban.engines import gpu as engine
    from deciban.gpu import tensors

    monkeypatch.setattr(engine, "is_for_host", lambda x: False)
    monkeypatch.setattr(tensors, "_is_dispatching", lambda: True)
    return "cuda" if HAS_GPU else "cpu"


@pytest.fixture(params=["definition", "kernel"])
def way(request, monkeypatch, device):
    """How sums and scores are computed: by the definitions in torch alone, or by kernels where there are some."""
    from deciban.gpu import launch

    if request.param == "definition":
        monkeypatch.setattr(launch, "can_launch", lambda tensor: False)
    elif not HAS_GPU and not _interpreter_works():
        pytest.skip("this Triton's interpreter does not work with this NumPy")
    return device


def _interpreter_works():
    from deciban.gpu import launch

    try:
        return launch.count_labels(torch.arange(3)) is not None
    except (
        Exception
    ):  # of the interpreter: NumPy 2.4 converts no array of one number to an int, and Triton 3.6 asks for it
        return False

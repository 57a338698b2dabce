"""The device of these tests: a GPU; without one, host memory, where Triton's interpreter runs the kernels.

The conftest of the repository chooses the interpreter.
"""

import importlib.util
from collections import defaultdict
from hashlib import sha256
from pathlib import Path

import pytest


def _mend_interpreter():
    """Let Triton 3.6 interpret loops with NumPy 2.4, which converts no array of one number to an int."""
    from triton.runtime import interpreter

    patch = interpreter._patch_lang_tensor

    def patch_and_mend(tensor, scope):
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patch_and_mend


if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
    HAS_GPU = False
else:
    import torch

    HAS_GPU = torch.cuda.is_available()
    if not HAS_GPU and importlib.util.find_spec("triton") is not None:
        _mend_interpreter()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave most cases to `make thorough` without a GPU: of each test one runs, or as many as `interpreted` says."""
    own = defaultdict(list)
    for item in items if not HAS_GPU else ():
        if item.path.parent == Path(__file__).parent and hasattr(item, "callspec"):
            own[item.nodeid.partition("[")[0]].append(item)
    for cases in own.values():
        limit = next((marker.args[0] for marker in cases[0].iter_markers("interpreted")), 1)
        cases.sort(key=lambda item: sha256(item.nodeid.encode()).digest())
        for item in cases[len(cases) if limit is None else limit :]:
            item.add_marker(pytest.mark.thorough(reason="Triton's interpreter takes seconds for each case"))


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
    from deciban.gpu import launch, matrix_launch

    if request.param == "definition":
        monkeypatch.setattr(launch, "can_launch", lambda tensor: False)
        monkeypatch.setattr(matrix_launch, "can_launch", lambda tensor: False)
    elif not launch.has_triton():
        pytest.skip("Triton is not installed")
    return device

"""An interrupt while a library is initialised waits until that is done."""

import signal
import threading

import pytest

from deciban.sources.database import hold_interrupts


@pytest.fixture
def _interrupts():
    """Deliver interrupts, also where the shell started the tests with them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interrupts")
def test_an_interrupt_is_delivered_after_the_block():
    done = []

    def run_interrupted():
        with hold_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_interrupted()
    assert done == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_are_left_alone():
    handlers = []

    def look():
        with hold_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]

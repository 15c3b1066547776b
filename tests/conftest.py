"""For all tests: a property is right or wrong, and no slower for the machine being busy; a tier is counted."""

import signal

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

pytest_plugins = ("tiers",)

settings.register_profile("leaselog", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("leaselog")

# Who runs the tests in the background has Ctrl-C ignored, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: A time-out raises in the middle of whatever runs. Hypothesis takes that for a failure of the example, plays it again
#: to make it smaller, comes to another end, and reports that the test draws differently each time; nobody would look
#: for the clock. So properties have so much time that only one that hangs runs out of it.
PROPERTY_S, DEEP_PROPERTY_S = 1_200, 6 * 3_600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        has_own = item.get_closest_marker("timeout") is not None
        if not has_own and is_hypothesis_test(getattr(item, "obj", None)):
            is_deep = item.get_closest_marker("deep") is not None
            item.add_marker(pytest.mark.timeout(DEEP_PROPERTY_S if is_deep else PROPERTY_S))

"""What all tests and doctests share: they are the same in every run."""

import pytest
from hypothesis import settings

from privet.audit import statistical
from tests import streams
from tests.compiling_time import stopwatch

# The same examples in every run, and no time limit: a busy machine is no mistake.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

SLOW_SECONDS = 5
COMPILING = "seconds of compilation"


def pytest_configure():
    streams.install()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    with streams.stream(f"import of {collector.nodeid}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    with streams.stream(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with stopwatch() as compiling:
        try:
            return (yield)
        finally:
            item.user_properties.append((COMPILING, compiling.seconds))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Fixtures that several tests share draw the same whichever of these tests comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with streams.stream(f"{request.node.nodeid}, fixture {fixturedef.argname} {request.param_index}"):
        return (yield)


@pytest.fixture(autouse=True)
def audits_in_chunks_of_one_size(monkeypatch):
    """Let the speed of the machine not decide which noise goes to which side of an audit.

    An audit fits its chunks of trainings to their speed, and a chunk of another size moves all draws that follow.
    """
    monkeypatch.setattr(statistical._Schedule, "learn", lambda schedule, result: None)


def pytest_terminal_summary(terminalreporter):
    """Name the tests that belong among the slow ones, compilation not counted; on a busy machine there are more."""
    times = [
        (report.duration - dict(report.user_properties).get(COMPILING, 0.0), report.nodeid)
        for report in terminalreporter.getreports("passed")
        if report.when == "call" and "slow" not in report.keywords
    ]
    slow = [f"{seconds:.1f} s  {name}" for seconds, name in sorted(times, reverse=True) if seconds > SLOW_SECONDS]
    if slow:
        terminalreporter.section(f"over {SLOW_SECONDS} s and not marked slow")
        terminalreporter.write_line("\n".join(slow))

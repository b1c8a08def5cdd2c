"""What all tests share: noise that is fresh in every fit, but the same in every run of the tests."""

import zlib

import pytest

from privet import release
from privet.randomness import SeededSource


@pytest.fixture(autouse=True)
def the_same_noise_in_every_run(request, monkeypatch):
    """Give each test one stream of noise of its own, in place of the operating system's.

    A test that fails by chance once in a thousand runs teaches people to run it again. The stream goes on from fit to
    fit, so fits differ as they do in production, and the ledger is not told: what it claims is tested as it stands.
    The samplers on the system's own entropy, and other processes, are not touched.
    """
    stream = SeededSource(zlib.crc32(request.node.nodeid.encode()))
    monkeypatch.setattr(release, "_source", lambda: stream, raising=True)

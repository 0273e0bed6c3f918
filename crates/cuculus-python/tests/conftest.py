"""What all tests share: every random test is the same in every run."""

from hypothesis import settings

settings.register_profile("cuculus", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("cuculus")

"""For all tests: a property is right or wrong, and no slower for the machine being busy."""

from hypothesis import settings

settings.register_profile("leaselog", deadline=None)
settings.load_profile("leaselog")

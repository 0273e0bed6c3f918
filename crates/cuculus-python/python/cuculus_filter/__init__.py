"""Sets in a few bits per key that grow, shrink, delete and take arrays."""

from ._cuculus import DecodeError, Filter, FixedFilter, FullError, Maplet, __version__

__all__ = ["DecodeError", "Filter", "FixedFilter", "FullError", "Maplet", "__version__"]

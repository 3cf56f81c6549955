"""Wilson: the 95 % confidence interval of a share.

E. B. Wilson, “Probable inference, the law of succession, and statistical inference”, Journal of the
American Statistical Association 22 (1927). Unlike the plain ± it is right for small shares too.
"""

from __future__ import annotations

from math import sqrt

Z = 1.959964  # 95 %


def interval(count: int, of: int) -> tuple[float, float]:
    """The lower and upper bound of count / of, from 0 to 1. Of nobody, any share may be true."""
    if of <= 0:
        return 0.0, 1.0
    share = min(count, of) / of
    middle = share + Z * Z / (2 * of)
    spread = Z * sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    whole = 1 + Z * Z / of
    low = 0.0 if count <= 0 else (middle - spread) / whole
    high = 1.0 if count >= of else (middle + spread) / whole
    return low, high

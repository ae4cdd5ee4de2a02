"""One function per claim: CHECKS (exact, by id) and EMPIRICAL (judged from metrics frames, by id).

Every module of this package that defines CHECKS or EMPIRICAL takes part; an id may be defined once.
"""

from __future__ import annotations

import importlib
import pkgutil

from attention_priors.checks.evidence import Check, CheckError, EmpiricalCheck

CHECKS: dict[str, Check] = {}
EMPIRICAL: dict[str, EmpiricalCheck] = {}

for _name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    _module = importlib.import_module(f"{__name__}.{_name}")
    for _table, _all in (("CHECKS", CHECKS), ("EMPIRICAL", EMPIRICAL)):
        for _id, _check in getattr(_module, _table, {}).items():
            if _id in CHECKS or _id in EMPIRICAL:
                raise CheckError(f"{_id} is checked twice, the second time in checks/{_name}.py; keep one")
            _all[_id] = _check

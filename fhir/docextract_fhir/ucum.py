"""UCUM codes of units."""
import re
from typing import Optional

# Code: spellings, after any micro sign was replaced with "u".
SPELLINGS = {
    'g/dL': 'g/dL g/dl G/DL gm/dL gm/dl',
    'g/L': 'g/L g/l',
    'mmol/L': 'mmol/L mmol/l',
    '10*3/uL': '10*3/uL x10*3/uL 10^3/uL 10^3/ul x10^3/uL x10^3/ul 10³/uL '
               'x10³/uL ×10³/uL 10E3/uL 10e3/uL x10E3/uL K/uL K/ul k/uL k/ul',
    '10*9/L': '10*9/L x10*9/L 10^9/L 10^9/l x10^9/L x10^9/l 10⁹/L x10⁹/L '
              '×10⁹/L 10E9/L 10e9/L x10E9/L',
    '/uL': '/uL /ul cells/uL cells/ul',
}
CODES = {spelling: code for code, spellings in SPELLINGS.items()
         for spelling in spellings.split()}


def ucum(unit: Optional[str]) -> Optional[str]:
    """The code of a unit; None if its spelling is unknown."""
    return CODES.get(re.sub('[µμ]', 'u', unit.strip())) if unit else None

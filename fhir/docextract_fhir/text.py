"""Characters that receivers accept."""
from typing import Optional

SHORT_MAX_CHARS = 256  # of a name, a unit, an id

# What no receiver should get: half characters, characters that are none, and
# those that reverse the order of the text around them on a screen.
UNSAFE = [*range(0xD800, 0xE000), *range(0x202A, 0x202F),
          *range(0x2066, 0x206A), 0xFFFE, 0xFFFF]
CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]

TO_FHIR = dict.fromkeys(UNSAFE + CONTROLS, '\ufffd')
TO_FHIR.update({c: chr(0x2400 + c) for c in range(0x20)})
# Besides, a line break could begin what looks like another field.
TO_LINE = TO_FHIR | {0x2028: '\ufffd', 0x2029: '\ufffd'}
for char in '\t\r\n':
    del TO_FHIR[ord(char)]

TO_HL7 = dict.fromkeys(UNSAFE, '\ufffd')
TO_HL7.update({c: f'\\X{chr(c).encode().hex().upper()}\\' for c in CONTROLS})
TO_HL7.update(zip(map(ord, '|^&~\\'), ('\\F\\', '\\S\\', '\\T\\', '\\R\\',
                                       '\\E\\')))


def short(value: object) -> Optional[str]:
    """The value if it is a text that fits in a field, otherwise None."""
    return value if isinstance(value, str) and value.strip() and \
        len(value) <= SHORT_MAX_CHARS else None


def fhir_text(value: Optional[str]) -> Optional[str]:
    return value and value.translate(TO_FHIR)


def fhir_line(value: str) -> str:
    return value.translate(TO_LINE)


def hl7_text(value: str) -> str:
    # The text "" in a field means: delete the value.
    return '\\X22\\\\X22\\' if value == '""' else value.translate(TO_HL7)

"""docextract-fhir: converts results to FHIR R4 and HL7 v2; see
docextract-fhir(1). Everything in a result is untrusted: a value that does not
have the documented type and form is kept as text.

Each module uses only those in the lines above it:

    failure    what the user is told about a manifest that is not converted
    values     JSON, without the loss of a digit
    text       characters that receivers accept
    ucum       codes of units
    files      reading and writing files
    manifest   manifests: cases, and the documents that were sent
    document   a document of a case: its patient, measurements, and the rest
    fhir, hl7  the two formats
    cli        the program
"""

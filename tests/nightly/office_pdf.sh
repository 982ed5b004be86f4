#!/usr/bin/env bash
#
# office_pdf.sh - PDFs that LibreOffice exports: each is sent with its pages, look
# and text unchanged. Those of other programs are in tests/filter/corpus.sh.
. "$(dirname "$0")/../filter/lib.sh"

printf 'Patient: Jane Roe\fMRN: 815\n' > "$dir/note.txt"
if command -v soffice > /dev/null; then
  archive=':writer_pdf_Export:{"SelectPdfVersion":{"type":"long","value":"2"}}'
  for o in '' "$archive"; do
    HOME=$dir limited 120 "$dir/office.out" soffice --headless \
      "-env:UserInstallation=file://$dir/profile" \
      --convert-to "pdf$o" --outdir "$dir" "$dir/note.txt"
    is "LibreOffice$o: pages, look and text are the same" \
      "$(changes "$dir/note.pdf")" ''
  done
  mistreat LibreOffice "$dir/note.pdf"
else
  leave_out 'PDFs of LibreOffice' 'apt-get install libreoffice-writer'
fi
finish

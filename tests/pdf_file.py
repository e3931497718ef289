"""A PDF written by hand."""

from __future__ import annotations


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text on each page."""
    kids = " ".join(f"{3 + 2 * at} 0 R" for at in range(len(pages)))
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    for at, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * at} 0 R "
            f"/Resources << /Font << /F1 {font} >> >> >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    return made_of(objects)


def made_of(objects: list[str]) -> bytes:
    """A PDF with these objects."""
    body = "%PDF-1.4\n"
    table = "0000000000 65535 f \n"
    for number, written in enumerate(objects, 1):
        table += f"{len(body):010} 00000 n \n"
        body += f"{number} 0 obj\n{written}\nendobj\n"
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {size}\n{table}{trailer}".encode()

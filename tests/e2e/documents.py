"""PDF files for tests: pages drawn with the fonts and words that the bundled model was trained on."""
import io
import random
import sys

from conftest import ROOT
from PIL import Image

sys.path.insert(0, str(ROOT / "tools" / "demo_model"))
import scenes  # noqa: E402


def drawn(kind, seed, size=(160, 128)):
    """(picture at four times its size, questions with true answers)."""
    canvas = scenes.Canvas(random.Random(seed), size, scale=4)
    getattr(scenes, "draw_" + kind)(canvas.rng, canvas)
    return canvas.image, canvas.ask(random.Random(seed))


def pdf_of(pictures):
    """One page per picture, at four pixels a point."""
    buffer = io.BytesIO()
    pictures[0].save(buffer, "PDF", save_all=True, append_images=pictures[1:], resolution=288, quality=95)
    return buffer.getvalue()


def tiff_of(pictures):
    buffer = io.BytesIO()
    pictures[0].save(buffer, "TIFF", save_all=True, append_images=pictures[1:], compression="tiff_lzw")
    return buffer.getvalue()


def report(pages=20, special=13):
    """A PDF of pages with shapes and one with a word; (bytes, the word)."""
    pictures = [drawn("shapes", 100 + page)[0] for page in range(1, pages + 1)]
    picture, asked = drawn("word", 7)
    pictures[special - 1] = picture
    return pdf_of(pictures), next(question.answer for question in asked if question.question.isascii())


def small_pdf(pages, media_box="0 0 100 100", content=b"", more=b""):
    """Hand-written: `pages` pages that share one content stream."""
    kids = " ".join(f"{4 + i} 0 R" for i in range(pages))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
               b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), more, content)]
    page = f"<< /Type /Page /Parent 2 0 R /MediaBox [{media_box}] /Contents 3 0 R /Resources << >> >>".encode()
    objects += [page] * pages
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(b"%010d 00000 n \n" % p for p in places)
    return out + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
